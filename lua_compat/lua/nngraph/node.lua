-- Nodes of a network's graph. Children are inputs: the graph is built from the outputs backwards. node.data has module
-- (or selectindex, for one output of a split); mapindex: the inputs' data, in order, and data -> position; reverseMap:
-- the nodes that use this one; annotations; and, while it runs, input and gradOutput.
local Node, parent = torch.class('nngraph.Node', 'graph.Node')

local getinfo = debug.getinfo -- the sandbox removes it for scripts
local here = getinfo(1, 'S').source
local packages = here:sub(1, #here - #'nngraph/node.lua')

-- The position in the script that created a node: the first function on the stack outside the Lua packages.
local function place_of_caller()
   for level = 3, math.huge do
      local info = getinfo(level, 'Sl')
      if not info then return end
      if info.what ~= 'C' and info.source:sub(1, #packages) ~= packages then
         return ('[%s]:%d'):format(info.short_src, info.currentline)
      end
   end
end

function Node:__init(data)
   parent.__init(self, data)
   data.annotations = data.annotations or {}
   data.mapindex = data.mapindex or {}
   data.reverseMap = data.reverseMap or {}
   if not data.annotations._debugLabel then
      local place = place_of_caller()
      data.annotations._debugLabel = place and place .. '_'
   end
end

-- in_order: the child is the next input.
function Node:add(child, in_order)
   parent.add(self, child)
   if not in_order then return end
   local inputs = self.data.mapindex
   assert(not inputs[child.data], "Don't pass the same input twice.")
   table.insert(inputs, child.data)
   inputs[child.data] = #inputs
   child.data.reverseMap[self] = true
end

-- Returns one node for each of the n elements of this node's output, a table.
function Node:split(n)
   if n == 1 then return nngraph.JustElement()(self) end
   local label = tostring(self.data.annotations._debugLabel)
   local whole = nngraph.Node{ nSplitOutputs = n,
      annotations = { _debugLabel = ('%s split at %s-mnode'):format(label, tostring(place_of_caller())) } }
   whole:add(self, true)
   local parts = {}
   for i = 1, n do
      parts[i] = nngraph.Node{ selectindex = i, input = {}, annotations = { _debugLabel = label .. '-' .. i } }
      parts[i]:add(whole, true)
   end
   return unpack(parts)
end

-- Annotations: name, description, graphAttributes, or custom ones.
function Node:annotate(annotations)
   for key, value in pairs(annotations) do self.data.annotations[key] = value end
   return self
end

-- How a node appears in graph's todot.

function Node:graphNodeName()
   local name = self.data.annotations.name
   return name and ('%s (%d)'):format(name, self.id) or 'Node' .. self.id
end

function Node:graphNodeAttributes()
   local annotations = self.data.annotations
   annotations.graphAttributes = annotations.graphAttributes or {}
   annotations.graphAttributes.tooltip = annotations.graphAttributes.tooltip or annotations._debugLabel
   return annotations.graphAttributes
end

-- Describes elements of a tensor that are not finite.
local function not_finite(tensor)
   if tensor:nElement() == 0 then return '' end
   if tensor:ne(tensor):sum() > 0 then return 'NaN' end
   return tensor:max() == math.huge and 'inf' or tensor:min() == -math.huge and '-inf' or ''
end

local function described(value)
   if torch.isTensor(value) then
      local kind = value:type() == torch.getdefaulttensortype() and 'Tensor' or value:type()
      return ('%s[%s]%s'):format(kind, table.concat(value:size():totable(), 'x'), not_finite(value))
   elseif type(value) == 'table' and not torch.typename(value) then
      local parts = {}
      for i, element in ipairs(value) do parts[i] = described(element) end
      return '{' .. table.concat(parts, ',') .. '}'
   end
   return (tostring(value):gsub('\n', '\\l'))
end

local hidden = { forwardNodeId = true, annotations = true }

function Node:label()
   local data = self.data
   local lines = {}
   for key, value in pairs(data) do
      if key == 'mapindex' then
         local inputs = {}
         for i, input in ipairs(value) do inputs[i] = 'Node' .. (input.forwardNodeId or '') end
         if #inputs > 1 then lines[#lines + 1] = ('mapindex = {%s}'):format(table.concat(inputs, ',')) end
      elseif not hidden[key] then
         lines[#lines + 1] = key .. ' = ' .. described(value)
      end
   end
   local description = data.annotations.description
   return (description and 'desc = ' .. description .. '\\n' or '') .. table.concat(lines, '\\l')
end

-- The error text for a list[i] that is not a node.
local function not_a_node(value, list, i)
   local place = ('%s[%d]'):format(list, i)
   if value == nil then return place .. ' is nil (typo / bad index?)' end
   local kind = torch.typename(value) or type(value)
   if torch.isTypeOf(value, 'nn.Module') then
      return ('%s is an nn.Module, specifically a %s, but the only valid thing to pass is an instance of nngraph.Node. '
         .. 'Did you forget a second set of parens, which convert a nn.Module to a nngraph.Node?'):format(place, kind)
   end
   return ('%s should be an nngraph.Node but is of type %s'):format(place, kind)
end

return { not_a_node = not_a_node }
