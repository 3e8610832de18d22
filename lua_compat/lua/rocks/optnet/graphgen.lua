-- require 'optnet.graphgen' (net, input, opts): the graph of the tensors that a net computes, with one colour for each
-- storage. opts.nodeData(text, tensor): a node's text; opts.displayProps: Graphviz attributes; opts.addOutputNode: adds
-- a node for the output at the end.
require 'graph'
local utils = require 'optnet.utils'

-- Graphviz's colour names from aliceblue to goldenrod; 1234 after a name stands for its four shades.
local COLORS = {}
for name, shades in ([[aliceblue antiquewhite1234 aquamarine1234 azure1234 beige bisque1234 black blanchedalmond blue1234
   blueviolet brown1234 burlywood1234 cadetblue1234 chartreuse1234 chocolate1234 coral1234 cornflowerblue cornsilk1234
   crimson cyan1234 darkgoldenrod1234 darkgreen darkkhaki darkolivegreen1234 darkorange1234 darkorchid1234 darksalmon
   darkseagreen1234 darkslateblue darkslategray1234 darkslategrey darkturquoise darkviolet deeppink1234 deepskyblue1234
   dimgray dimgrey dodgerblue1234 firebrick1234 floralwhite forestgreen gainsboro ghostwhite gold1234
   goldenrod1234]]):gmatch('(%a+)(%d*)') do
   COLORS[#COLORS + 1] = name
   for shade in shades:gmatch('%d') do COLORS[#COLORS + 1] = name .. shade end
end

local function set_of(text)
   local set = {}
   for name in text:gmatch('%S+') do set[name] = true end
   return set
end
local PASSES_ON = set_of 'nn.Identity nn.SelectTable nn.NarrowTable nn.FlattenTable'
local COMPUTES_FROM_BRANCHES = set_of 'nn.Concat nn.Parallel nn.DepthConcat inn.SpatialPyramidPooling'

local function last_of(module) return module.modules and module:get(module:size()) or module end

-- A function that makes a tensor's node: Storage id n, with a random colour for each storage.
local function node_maker(opts)
   local ids, colors, count = {}, {}, 0
   return function(name, tensor)
      local address = torch.pointer(tensor:storage())
      if not ids[address] then
         count = count + 1
         ids[address], colors[address] = count, COLORS[torch.random(1, #COLORS)]
      end
      local text = 'Storage id: ' .. ids[address]
      local node = graph.Node(opts.nodeData and opts.nodeData(text, tensor) or text)
      function node.graphNodeName() return name end
      function node.graphNodeAttributes()
         local attributes = { color = colors[address], style = 'filled', shape = 'box', fontsize = 10 }
         for key, value in pairs(opts.displayProps or {}) do attributes[key] = value end
         return attributes
      end
      return node
   end
end

return function(net, input, opts)
   opts = opts or {}
   local g, nodes, make = graph.Graph(), {}, node_maker(opts)

   local function node_of(t, name)
      local address = torch.pointer(t)
      nodes[address] = nodes[address] or make(name, t)
      return nodes[address]
   end
   -- a separate node for each tensor, named after its position
   local function boundary(t, name)
      if torch.isTensor(t) then
         nodes[torch.pointer(t)] = make(name, t)
      else
         for i, entry in ipairs(t) do boundary(entry, name .. ' ' .. i) end
      end
   end
   local function connect(from, to, name)
      if not torch.isTensor(from) then
         for _, entry in ipairs(from) do connect(entry, to, name) end
      elseif not torch.isTensor(to) then
         for _, entry in ipairs(to) do connect(from, entry, name) end
      else
         local target = node_of(to, name)
         g:add(graph.Edge(assert(nodes[torch.pointer(from)], 'Parent node inexistant for module ' .. name), target))
      end
   end

   boundary(input, 'Input')
   if torch.typename(net) == 'nn.DataParallelTable' then net = net.modules[1] end
   net:forward(input) -- all outputs must exist before the graph is made
   net:apply(function(m)
      local compute, class = m.updateOutput, torch.typename(m)
      function m:updateOutput(given)
         if COMPUTES_FROM_BRANCHES[class] then
            for _, branch in ipairs(self.modules) do
               local last = last_of(branch)
               node_of(last.output, torch.typename(last))
               connect(last.output, self.output, class)
            end
         elseif not self.modules and not PASSES_ON[class] then
            connect(given, self.output, tostring(self))
         end
         return compute(self, given)
      end
   end)
   net:forward(input)
   if opts.addOutputNode then
      local output = utils.recursiveClone(net.output)
      boundary(output, 'Output')
      local function finish(from, to)
         if torch.isTensor(from) then
            g:add(graph.Edge(nodes[torch.pointer(from)], nodes[torch.pointer(to)]))
         else
            for i, entry in ipairs(from) do finish(entry, to[i]) end
         end
      end
      finish(net.output, output)
   end
   net:apply(function(m) m.updateOutput = nil end)
   return g
end
