-- A tree of the argument lists that a function accepts: from the root, a node for each argument in turn, with its type,
-- its check and, for arguments by name, its name. Where a list ends, the node has its rules, the mask of the rules in
-- use, and the kind of call: O in order, N by name, M by name after self.
local usage = require 'argcheck.usage'

local Node = {}
Node.__index = Node

function Node.new(typename, name, check)
   return setmetatable({ type = assert(typename), name = name, check = check, next = {} }, Node)
end

-- The arguments of a call, according to its mask.
local function steps_of(rules, mask, kind)
   local steps = {}
   for place = 1, #mask do
      local rule, state = rules[place], mask:sub(place, place)
      local named = kind == 'N' or kind == 'M' and place > 1
      if state == '1' then
         steps[#steps + 1] = { type = rule.type, check = rule.check, name = named and rule.name or nil }
      elseif state == '3' and kind == 'O' then
         steps[#steps + 1] = { type = 'nil' }
      end
   end
   if kind ~= 'O' then table.insert(steps, kind == 'N' and 1 or 2, { type = 'table' }) end
   return steps
end

function Node:child(step)
   for _, child in ipairs(self.next) do
      if child.type == step.type and child.check == step.check and child.name == step.name then return child end
   end
end

function Node:match(steps)
   local node = self
   for place, step in ipairs(steps) do
      local child = node:child(step)
      if not child then return node, place - 1 end
      node = child
   end
   return node, #steps
end

function Node:addpath(rules, mask, kind)
   local steps = steps_of(rules, mask, kind)
   local node, matched = self:match(steps)
   if matched == #steps and node.rules and node.rules ~= rules and not rules.force then
      error('argcheck rules led to ambiguous situations')
   end
   for place = matched + 1, #steps do
      local step = steps[place]
      local child = Node.new(step.type, step.name, step.check)
      table.insert(node.next, child)
      node = child
   end
   node.rules, node.rulesmask, node.rulestype = rules, mask, kind
   if kind == 'M' then self:child(steps[1]).isself = true end
end

function Node:apply(f)
   f(self)
   for _, child in ipairs(self.next) do child:apply(f) end
end

function Node:hasruletype(kind)
   if self.rulestype == kind then return true end
   for _, child in ipairs(self.next) do
      if child:hasruletype(kind) then return true end
   end
   return false
end

-- How the function can be called, in all its ways, and how it was called.
function Node:usage(...)
   local ways, seen = {}, {}
   self:apply(function(node)
      if node.rules and not seen[node.rules] then
         seen[node.rules] = true
         ways[#ways + 1] = usage.usage(true, node.rules)
      end
   end)
   return ('%s\n%s\n'):format(table.concat(ways, '\n\nor\n\n'), usage.usage(false, self, ...))
end

function Node:id() return tostring(self):match('0x(%x+)') end

-- The tree in the language of Graphviz's dot.
function Node:print()
   local lines = { 'digraph ACN {' }
   local function add(node)
      lines[#lines + 1] = 'edge [penwidth=.3 arrowsize=0.8];'
      lines[#lines + 1] = ('id%s [label="%s%s%s%s" penwidth=.1 fontsize=10 style=filled fillcolor="%s"];'):format(
         node:id(), node.type, node.isself and '*' or '', node.check and ' <check>' or '',
         node.name and (' (%s)'):format(node.name) or '', node.rules and '#aaaaaa' or '#eeeeee')
      for _, child in ipairs(node.next) do
         add(child)
         lines[#lines + 1] = ('id%s -> id%s;'):format(node:id(), child:id())
      end
   end
   add(self)
   lines[#lines + 1] = '}'
   return table.concat(lines, '\n')
end

return Node
