-- Generates the code of a checking function: an if for each node of the graph, nested like the nodes. The chunk is
-- called with istype, the constants (checks, default values, functions) and usage(...).

local function has_default(rule) return rule.default or rule.defaulta or rule.defaultf end

local function place_of(rules, name)
   for place, rule in ipairs(rules) do
      if rule.name == name then return place end
   end
   error(('invalid defaulta name <%s>'):format(name))
end

-- A writer collects the lines and the constants.
local Writer = {}
Writer.__index = Writer

function Writer:line(depth, text, ...)
   self.lines[#self.lines + 1] = ('  '):rep(depth) .. (select('#', ...) > 0 and text:format(...) or text)
end

function Writer:constant(value)
   table.insert(self.constants, value)
   return ('constants[%d]'):format(#self.constants)
end

local function rules_after_self(node)
   local rules = {}
   for key, value in pairs(node.rules) do rules[key] = value end
   table.remove(rules, 1)
   return rules, node.rulesmask:sub(2)
end

-- Assigns values to the arguments: those passed, then the defaults, then defaults that refer to another argument.
function Writer:values(depth, rules, mask, kind)
   local passed, later = 0, {}
   for place, rule in ipairs(rules) do
      local state = mask:sub(place, place)
      if state == '1' or state == '3' and kind == 'O' then
         passed = passed + 1
         self:line(depth, 'local arg%d = %s', place, kind == 'O' and ('select(%d, ...)'):format(passed)
            or 'args.' .. rule.name)
      end
   end
   for place, rule in ipairs(rules) do
      local state = mask:sub(place, place)
      if state == '2' or state == '3' and has_default(rule) then
         if rule.default ~= nil then self:line(depth, 'local arg%d = %s', place, self:constant(rule.default))
         elseif rule.defaultf then self:line(depth, 'local arg%d = %s()', place, self:constant(rule.defaultf))
         elseif rule.opt then self:line(depth, 'local arg%d', place)
         else later[#later + 1] = { place, place_of(rules, rule.defaulta) }
         end
      end
   end
   for _, pair in ipairs(later) do self:line(depth, 'local arg%d = arg%d', pair[1], pair[2]) end
end

function Writer:results(rules, kind)
   local list = {}
   for place, rule in ipairs(rules) do
      list[place] = (rules.pack and rule.name .. '=' or '') .. 'arg' .. place
   end
   if rules.pack then list = { '{' .. table.concat(list, ', ') .. '}' } end
   if kind == 'M' then table.insert(list, 1, 'self') end
   if rules.quiet then table.insert(list, 1, rules.call and self:constant(rules.call) or 'true') end
   local text = table.concat(list, ', ')
   if rules.call and not rules.quiet then text = ('%s(%s)'):format(self:constant(rules.call), text) end
   return text
end

function Writer:node(node, kind, depth)
   if not node:hasruletype(kind) then return end
   local argument = kind == 'O' and ('select(%d, ...)'):format(depth) or 'args.' .. tostring(node.name)
   local counted = kind == 'O' or node.type ~= 'nil'
   if depth > 0 then
      self:line(depth, 'if %sistype(%s, "%s")%s then', counted and 'narg > 0 and ' or '', argument, node.type,
         node.check and (' and %s(%s)'):format(self:constant(node.check), argument) or '')
      if counted then self:line(depth, '  narg = narg - 1') end
   end
   if node.rules and node.rulestype == kind then
      local rules, mask = node.rules, node.rulesmask
      if kind == 'M' then rules, mask = rules_after_self(node) end
      self:line(depth + 1, 'if narg == 0 then')
      self:values(depth + 2, rules, mask, kind)
      self:line(depth + 2, 'return %s', self:results(rules, kind))
      self:line(depth + 1, 'end')
   end
   for _, child in ipairs(node.next) do self:node(child, kind, depth + 1) end
   if depth > 0 then
      if counted then self:line(depth, '  narg = narg + 1') end
      self:line(depth, 'end')
   end
end

-- Tries the arguments given in a table.
function Writer:named(condition, setup, node, kind)
   self:line(1, 'if %s then', condition)
   self:line(2, setup)
   self:line(2, 'local narg = 0')
   self:line(2, 'for _ in pairs(args) do narg = narg + 1 end')
   self:node(node, kind, 0)
   self:line(1, 'end')
end

return function(root)
   local writer = setmetatable({ lines = {}, constants = {} }, Writer)
   writer:line(0, 'local istype, constants, usage = ...')
   writer:line(0, 'return function(...)')
   writer:line(1, 'local narg = select("#", ...)')
   writer:node(root, 'O', 0)
   if root:hasruletype('N') then
      writer:named('select("#", ...) == 1 and istype(select(1, ...), "table")', 'local args = ...',
         root:child{ type = 'table' }, 'N')
   end
   for _, head in ipairs(root.next) do
      if head.isself then
         writer:named(('select("#", ...) == 2 and istype(select(2, ...), "table") and istype(select(1, ...), "%s")%s')
            :format(head.type, head.check and (' and %s((...))'):format(writer:constant(head.check)) or ''),
            'local self, args = ...', head:child{ type = 'table' }, 'M')
      end
   end
   local quiet = true
   root:apply(function(node) quiet = quiet and (not node.rules or node.rules.quiet) end)
   if quiet then
      writer:line(1, 'return false, usage(...)')
   else
      writer:line(1, 'error(usage(...) .. "\\ninvalid arguments!")')
   end
   writer:line(0, 'end')
   return table.concat(writer.lines, '\n'), writer.constants
end
