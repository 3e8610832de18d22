-- nn.gModule(inputs, outputs): the network between two lists of nodes. fg is the graph in forward direction, bg its
-- reverse; forwardnodes and backwardnodes are their nodes, sorted by dependency. The nodes of fg and bg share their
-- data.
local not_a_node = require('nngraph.node').not_a_node
local nesting = require 'nngraph.nesting'
local running = require 'nngraph.running'

local gModule, parent = torch.class('nn.gModule', 'nn.Container')

local function is_plain_table(value) return type(value) == 'table' and not torch.typename(value) end

local function check_nodes(list, what)
   for i = 1, table.maxn(list) do
      if torch.typename(list[i]) ~= 'nngraph.Node' then error(not_a_node(list[i], what, i), 3) end
   end
end

-- Creates the node that feeds the inputs.
local function join_inputs(inputs)
   local innode = nngraph.Node{ input = {} }
   if #inputs == 1 then
      inputs[1]:add(innode, true)
      return innode
   end
   local parts = { innode:split(#inputs) }
   for _, input in ipairs(inputs) do assert(#input.children == 0, 'an input should have no inputs') end
   for i, input in ipairs(inputs) do input:add(parts[i], true) end
   return innode
end

-- The input node among the roots of the forward graph; all other roots must be parameters.
local function find_input(roots, innode)
   local found
   for _, root in ipairs(roots) do
      if root.data == innode.data then
         found = root
      else
         local kind = root.data.module and torch.typename(root.data.module)
         assert(kind == 'nnop.Parameters',
            ('expecting only one start: %s has no input'):format(kind or tostring(root.data.annotations._debugLabel)))
      end
   end
   return assert(found, 'input node not found among roots')
end

-- Checks that every output of a split is used, and that every node that uses this one leads to an output.
local function check_use(node, used)
   local data = node.data
   if data.nSplitOutputs and data.nSplitOutputs ~= #node.children then
      error(('%d of split(%d) outputs from the node declared at %s are unused'):format(
         data.nSplitOutputs - #node.children, data.nSplitOutputs, tostring(data.annotations._debugLabel)), 3)
   end
   for successor in pairs(data.reverseMap) do
      if not used[successor.data] then
         error(('node declared on %s does not connect to gmodule output'):format(
            tostring(successor.data.annotations._debugLabel)), 3)
      end
   end
end

function gModule:__init(inputs, outputs)
   parent.__init(self)
   local outnode = nngraph.Node{ input = {} }
   check_nodes(outputs, 'outputs')
   for _, output in ipairs(outputs) do outnode:add(output, true) end
   check_nodes(inputs, 'inputs')
   assert(#inputs > 0, 'no inputs are not supported')
   local innode = join_inputs(inputs)

   self.bg = outnode:graph()
   self.fg = self.bg:reverse()
   self.innode = find_input(self.fg:roots(), innode)
   self.outnode = outnode
   self.verbose = false
   self.nInputs = #inputs
   self.forwardnodes = self.fg:topsort()
   self.backwardnodes = self.bg:topsort()

   local used = {}
   for _, node in ipairs(self.forwardnodes) do used[node.data] = true end
   for _, node in ipairs(self.forwardnodes) do
      check_use(node, used)
      node.data.forwardNodeId = node.id
      if node.data.module then self:add(node.data.module) end
   end
   self.output, self.gradInput = nil, nil
   if #outnode.children > 1 then self.output = outnode.data.input end
end

function gModule:replace(callback)
   local replacement = callback(self)
   local place = {}
   for i, module in ipairs(self.modules) do place[module] = i end
   for _, node in ipairs(self.forwardnodes) do
      local module = node.data.module
      if module then
         node.data.module = module:replace(callback)
         self.modules[place[module]] = node.data.module
      end
   end
   return replacement
end

-- Calls f(module, counterpart) for each module and its counterpart in another gModule of the same structure.
function gModule:map(other, f)
   for i, node in ipairs(self.forwardnodes) do
      local counterpart = other.forwardnodes[i]
      local module = node.data.module
      assert(counterpart and (not module or counterpart.data.module),
         'trying to map another gModule with a different structure')
      if module then f(module, counterpart.data.module) end
   end
end

-- Converts tensors, also in nested lists, to another type.
local function converted(value, name)
   if torch.isTensor(value) then return value:type(name) end
   if torch.type(value) == 'table' then
      for i = 1, #value do value[i] = converted(value[i], name) end
   end
   return value
end

local function convert_fields(object, name)
   for key, value in pairs(object) do object[key] = converted(value, name) end
end

-- Keeps the sharing between modules, above all one storage for all parameters.
function gModule:type(name, cache)
   if not name then return self._type end
   cache = cache or {}
   convert_fields(self, name)
   for _, module in ipairs(self.modules) do module:type(name, cache) end
   for _, nodes in ipairs{ { self.innode, self.outnode }, self.forwardnodes, self.backwardnodes } do
      for _, node in ipairs(nodes) do convert_fields(node.data, name) end
   end
   self._type = name
   return self
end

function gModule:clearState()
   local cleared = parent.clearState(self)
   for _, node in ipairs(self.backwardnodes) do node.data.gradOutput, node.data.gradOutputBuffer = nil, nil end
   for _, node in ipairs(self.forwardnodes) do node.data.input = nil end
   return cleared
end

local function empty(list)
   for i = #(list or {}), 1, -1 do list[i] = nil end
end

-- A module's argument: its only input, or the list of inputs; parameter nodes have none.
local function input_of(data)
   local input = data.input or {}
   if #input == 1 then return input[1] end
   return input
end

-- Calls evaluate(node, value) for all nodes; nngraph.setDebug knows which one is running. (Creating functions for each
-- call would abort LuaJIT's traces.)
local function run(self, nodes, evaluate, value)
   for _, node in ipairs(nodes) do
      running.node_of[self] = node
      evaluate(node, value)
      if self.verbose then print(' V : ' .. node:label()) end
   end
   running.node_of[self] = nil
end

local function send_forward(node, value)
   for _, child in ipairs(node.children) do
      local data = child.data
      data.input = data.input or {}
      local place = data.mapindex[node.data]
      assert(not data.input[place], 'each input should have one source')
      data.input[place] = value
   end
end

local function forward_of(node, f)
   local data = node.data
   if data.selectindex then
      assert(#data.input == 1, 'only the splitted node should be the input')
      assert(is_plain_table(data.input[1]), 'the input for a split should be a table')
      send_forward(node, data.input[1][data.selectindex])
      return
   end
   local output, module = input_of(data), data.module
   if module and type(f) == 'string' then output = module[f](module, output)
   elseif module then output = f(module, output) end
   if data.nSplitOutputs and data.nSplitOutputs ~= #output then
      error(('split(%s) cannot split %s outputs'):format(data.nSplitOutputs, #output))
   end
   send_forward(node, output)
end

-- Runs the graph forward; f is the name of the modules' method, or a function f(module, input).
function gModule:runForwardFunction(f, input)
   local n = self.nInputs or #self.innode.children -- nInputs is missing in early files
   if n <= 1 then
      input = { input }
   elseif type(input) ~= 'table' then
      error(('expecting table of %s inputs'):format(n), 2)
   end
   if #input ~= n then error(('Got %s inputs instead of %s'):format(#input, n), 2) end

   for _, node in ipairs(self.forwardnodes) do empty(node.data.input) end
   self.innode.data.input = self.innode.data.input or {}
   for i, value in ipairs(input) do self.innode.data.input[i] = value end

   run(self, self.forwardnodes, forward_of, f)

   self.output = self.outnode.data.input
   if #self.outnode.children == 1 then self.output = self.output[1] end
   return self.output
end

function gModule:updateOutput(input) return self:runForwardFunction('updateOutput', input) end

-- Whether a gradient is one zero, expanded, which need not be added.
local function is_expanded_zero(value)
   local storage = torch.isTensor(value) and value:storage()
   return storage and storage:size() == 1 and storage[1] == 0
end

-- The sum of the gradients that a node has received.
local function total_gradient(data)
   local gradients = data.gradOutput
   assert(is_plain_table(gradients), 'expecting gradients to sum')
   if #gradients == 1 then return gradients[1] end
   if not data.gradOutputBuffer then
      local count, last = 0, 1
      for i, gradient in ipairs(gradients) do
         if not is_expanded_zero(gradient) then count, last = count + 1, i end
      end
      if count < 2 then return gradients[last] end
   end
   data.gradOutputBuffer = data.gradOutputBuffer or nesting.cloneNested(gradients[1])
   nesting.resizeNestedAs(data.gradOutputBuffer, gradients[1])
   nesting.copyNested(data.gradOutputBuffer, gradients[1])
   for i = 2, #gradients do nesting.addNestedTo(data.gradOutputBuffer, gradients[i]) end
   return data.gradOutputBuffer
end

local function check_gradients(self, gradOutput)
   local n = #self.outnode.children
   if n > 1 and #gradOutput ~= n then error(('Got %s gradOutputs instead of %s'):format(#gradOutput, n), 3) end
end

local function arriving(node)
   node.data.gradOutput = node.data.gradOutput or {}
   return node.data.gradOutput
end

local function backward_of(node)
   local data = node.data
   local gradient = total_gradient(data)
   if data.selectindex then
      assert(#node.children == 1, 'only the splitted node should be the input')
      local whole = arriving(node.children[1])
      assert(#whole <= 1, 'the splitted node should be used only once')
      whole[1] = whole[1] or {}
      assert(not whole[1][data.selectindex], 'no gradOutput should be assigned yet')
      whole[1][data.selectindex] = gradient
      return
   end
   if data.module then gradient = data.module:updateGradInput(input_of(data), gradient) end
   for _, child in ipairs(node.children) do
      local part = gradient
      if #node.children > 1 then part = gradient[data.mapindex[child.data]] end
      table.insert(arriving(child), part)
   end
end

function gModule:updateGradInput(_, gradOutput)
   check_gradients(self, gradOutput)
   for _, node in ipairs(self.backwardnodes) do empty(node.data.gradOutput) end
   arriving(self.outnode)[1] = gradOutput

   run(self, self.backwardnodes, backward_of)

   assert(#self.innode.data.gradOutput == 1, 'expecting the innode to be used only once')
   self.gradInput = self.innode.data.gradOutput[1]
   return self.gradInput
end

local function accumulate_of(node, scale)
   local data = node.data
   if not data.module then return end
   -- summed by updateGradInput
   local gradient = #data.gradOutput > 1 and data.gradOutputBuffer or total_gradient(data)
   data.module:accGradParameters(input_of(data), gradient, scale)
end

function gModule:accGradParameters(_, gradOutput, scale)
   check_gradients(self, gradOutput)
   run(self, self.backwardnodes, accumulate_of, scale)
end

-- Early files do not list the modules.
function gModule:read(file)
   for key, value in pairs(file:readObject()) do self[key] = value end
   if not self.modules then
      self.modules = {}
      for _, node in ipairs(self.forwardnodes) do
         if node.data.module then table.insert(self.modules, node.data.module) end
      end
   end
end

function gModule:__tostring__() return self.name or torch.type(self) end
