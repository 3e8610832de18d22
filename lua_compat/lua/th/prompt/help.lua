-- Help on a name: for torch and nn its arguments and a sentence, otherwise what the code itself says.
local pretty = require 'th.pretty'

-- general: the text for ? without a name
local help = {}

-- The names of a function's parameters from the first-th on, in parentheses.
local function parameters_of(f, first)
   local info, names = debug.getinfo(f, 'u'), {}
   for place = first, info.nparams do names[#names + 1] = debug.getlocal(f, place) end
   if info.isvararg then names[#names + 1] = '...' end
   return ('(%s)'):format(table.concat(names, ', '))
end

-- The comment above a function in its source, and the names of its parameters.
local function about_function(f)
   local info = debug.getinfo(f, 'S')
   if info.what == 'C' then return 'a built-in function' end
   local lines = { 'function' .. parameters_of(f, 1) }
   local path = info.source:match('^@(.*)')
   local file = path and io.open(path)
   if file then
      local above, number = {}, 0
      for line in file:lines() do
         number = number + 1
         if number >= info.linedefined then break end
         local comment = line:match('^%s*%-%-%s?(.*)')
         if comment then above[#above + 1] = comment else above = {} end
      end
      file:close()
      for _, line in ipairs(above) do lines[#lines + 1] = '  ' .. line end
      lines[#lines + 1] = ('  defined in %s:%d'):format(path:match('[^/]*/[^/]*$') or path, info.linedefined)
   end
   return table.concat(lines, '\n')
end

-- The value of a dotted name; nil if it does not exist.
function help.resolve(name)
   local value = _G
   for part in name:gmatch('[^.:]+') do
      local ok, inner = pcall(function() return value[part] end)
      if not ok then return nil end
      value = inner
   end
   return value
end

-- The entry for a name in a file of th/help: its arguments ('' if they are read from the code), and a sentence.
local function entry(file, name)
   for line in require('th.help.' .. file):gmatch('[^\n]+') do
      local word, rest = line:match('^(%S+) (.*)')
      if word == name then
         local arguments, sentence = rest:match('^(%b()) (.*)')
         return arguments or '', sentence or rest
      end
   end
end

-- A class's name in th/help: Tensor for torch.FloatTensor.
local function short_name(class)
   local own = class:match('[%w_]+$')
   return own:match('^%u%l+(Tensor)$') or own:match('^%u%l+(Storage)$') or own
end

-- The entry in th/help for a function or class of torch or nn, or for a method of one of their classes or objects.
local function described(name)
   local owner, own = name:match('^(.+)[.:]([%w_]+)$')
   if not owner then return end
   if owner == 'torch' or owner == 'nn' then return entry(owner, owner == 'torch' and short_name(own) or own) end
   local holder = help.resolve(owner)
   local class = torch.typename(holder)
   local metatable = class and torch.getmetatable(class) or type(holder) == 'table' and getmetatable(holder)
   while metatable do
      local typename = rawget(metatable, '__typename')
      if typename and typename:match('^torch%.') or typename and typename:match('^nn%.') then
         local arguments, sentence = entry('methods', short_name(typename) .. '.' .. own)
         if not sentence and typename:match('Tensor$') then arguments, sentence = entry('torch', own) end
         if sentence then return arguments, sentence end
      end
      metatable = getmetatable(metatable)
   end
end

-- A class's arguments, as named by its constructor.
local function arguments_of(class)
   local init = class.__init
   return type(init) == 'function' and parameters_of(init, 2) or '()'
end

local function methods_of(metatable)
   local names = {}
   while metatable do
      for name, value in pairs(metatable) do
         if type(name) == 'string' and type(value) == 'function' and not name:match('^__') then names[name] = true end
      end
      metatable = debug.getmetatable(metatable)
   end
   local sorted = {}
   for name in pairs(names) do sorted[#sorted + 1] = name end
   table.sort(sorted)
   return sorted
end

local function about(name, value)
   local class_name = type(value) == 'table' and torch.typename(value) == nil and getmetatable(value)
      and rawget(getmetatable(value), '__typename')
   local arguments, sentence = described(name)
   if class_name then
      if not arguments or arguments == '' then arguments = arguments_of(getmetatable(value)) end
      return table.concat({ pretty.paint(('%s%s: a class'):format(class_name, arguments), 'heading') .. '\n',
         sentence and '  ' .. sentence .. '\n' or '',
         '  methods: ', table.concat(methods_of(getmetatable(value)), ' ') })
   elseif type(value) == 'function' and sentence then
      if arguments == '' then arguments = parameters_of(value, name:match(':') and 2 or 1):gsub('^%(self,? ?', '(') end
      return ('%s\n  %s'):format(pretty.paint(name .. ' ' .. arguments, 'heading'), sentence)
   elseif type(value) == 'function' then
      return pretty.paint(name, 'heading') .. ': ' .. about_function(value)
   elseif type(value) == 'table' and not torch.typename(value) then
      local names = {}
      for key in pairs(value) do names[#names + 1] = tostring(key) end
      table.sort(names)
      return ('%s\n  %s'):format(pretty.paint(('%s: a table of %d'):format(name, #names), 'heading'),
         table.concat(names, ' '))
   end
   return pretty.paint(('%s: %s'):format(name, torch.typename(value) or type(value)), 'heading')
end

-- The help on a name, as text. If it is in nn, nn is loaded.
function help.text(name)
   if name == '' then return help.general end
   local value, note = help.resolve(name), ''
   if value == nil and name:match('^nn%f[%W]') and rawget(_G, 'nn') == nil then
      require 'nn'
      note = "nn is loaded now (require 'nn')\n"
      value = help.resolve(name)
   end
   if value == nil then return ('%sno help: there is nothing called %s'):format(note, name) end
   return note .. about(name, value)
end

return help
