-- nn.SoftMaxTree: a softmax over classes that are the leaves of a tree. Input: { rows of numbers, IntTensor of leaves
-- }. The output is the log-probability of each row's leaf: the sum over the path to the root of the log-softmax of each
-- child among its siblings.
local Module = torch.getmetatable('nn.Module')
local Tree = torch.class('nn.SoftMaxTree', 'nn.Module')

-- hierarchy: parent -> tensor of its children. accUpdate: no separate gradients of parameters. static: parameters are
-- listed by node.
function Tree:__init(inputSize, hierarchy, rootId, accUpdate, static, verbose)
   Module.__init(self)
   assert(type(hierarchy) == 'table', 'Expecting table at arg 2')
   self.rootId, self.inputSize, self.accUpdate = rootId or 1, inputSize, accUpdate
   self.static = static == nil and true or static
   local parents, children, max_parent, max_child, max_family, smallest = {}, 0, 0, 0, 0, math.huge
   for parent, list in pairs(hierarchy) do
      assert(list:dim() == 1, 'Expecting table of 1D tensors at arg 2')
      parents[#parents + 1] = parent
      children = children + list:size(1)
      max_parent, max_child = math.max(max_parent, parent), math.max(max_child, list:max())
      max_family = math.max(max_family, list:size(1))
      smallest = math.min(smallest, parent, list:min())
   end
   if smallest < 0 then error('nodeIds must must be positive: ' .. smallest, 2) end
   self.nChildNode, self.nParentNode, self.minNodeId = children, #parents, smallest
   self.maxParentId, self.maxChildId, self.maxNodeId = max_parent, max_child, math.max(max_parent, max_child)
   self.maxFamily = max_family
   if verbose then
      print(('%d parent nodes, %d child nodes, %d leaf nodes'):format(#parents, children, children - #parents + 1))
   end

   self.parentIds, self.childIds = torch.IntTensor(parents), torch.IntTensor(children)
   self.parentChildren = torch.IntTensor(max_parent, 2):fill(-1) -- per parent: first child, number of children
   self.childParent = torch.IntTensor(max_child, 2):fill(-1) -- per child: its parent, its index there
   local first = 1
   for _, parent in ipairs(parents) do
      local list = hierarchy[parent]
      local count = list:size(1)
      self.parentChildren[parent][1], self.parentChildren[parent][2] = first, count
      self.childIds:narrow(1, first, count):copy(list)
      for i = 1, count do
         self.childParent[list[i]][1], self.childParent[list[i]][2] = parent, i
      end
      first = first + count
   end

   self.weight, self.bias = torch.Tensor(children, inputSize), torch.Tensor(children)
   if not accUpdate then
      self.gradWeight, self.gradBias = torch.zeros(children, inputSize), torch.zeros(children)
   end
   self.updates = {} -- parents whose parameters have gradients
   self._gradInput, self._gradTarget = torch.Tensor(), torch.IntTensor()
   self.gradInput = { self._gradInput, self._gradTarget }
   self:reset()
end

function Tree:reset(stdv)
   stdv = stdv and stdv * math.sqrt(3) or 1 / math.sqrt(self.nChildNode * self.inputSize)
   self.weight:uniform(-stdv, stdv)
   self.bias:uniform(-stdv, stdv)
end

-- Calls f(parent, first child, number of children, index of the child) from a leaf up to the root.
local function climb(self, leaf, f)
   local node = leaf
   repeat
      local parent = node <= self.maxChildId and self.childParent[node][1] or -1
      if parent == -1 then error('Non-root node has no parent in tree.', 0) end
      f(parent, self.parentChildren[parent][1], self.parentChildren[parent][2], self.childParent[node][2])
      node = parent
   until parent == self.rootId
end

local function log_probabilities(self, row, first, count)
   local scores = self.weight:narrow(1, first, count) * row + self.bias:narrow(1, first, count)
   local largest = scores:max()
   return scores:add(-largest - math.log(torch.exp(scores - largest):sum()))
end

function Tree:updateOutput(input)
   local rows, leaves = input[1], input[2]
   assert(rows:dim() == 2 and rows:size(2) == self.inputSize, 'invalid input size')
   self.output:resize(rows:size(1))
   self._paths = {}
   for i = 1, rows:size(1) do
      local total, path = 0, {}
      climb(self, leaves[i], function(parent, first, count, which)
         local logs = log_probabilities(self, rows[i], first, count)
         total = total + logs[which]
         path[#path + 1] = { parent, first, count, which, logs }
      end)
      self.output[i], self._paths[i] = total, path
   end
   return self.output
end

-- The gradient for the scores of a node's children: grad * (1 for the chosen one - its probability).
local function of_scores(step, grad)
   local gradient = torch.exp(step[5]):mul(-grad)
   gradient[step[4]] = gradient[step[4]] + grad
   return gradient
end

function Tree:updateGradInput(input, gradOutput)
   if not self.gradInput then return end
   self._gradInput:resizeAs(input[1]):zero()
   self._gradTarget:resize(input[2]:size()):zero()
   for i, path in ipairs(self._paths) do
      for _, step in ipairs(path) do
         self._gradInput[i]:addmv(1, self.weight:narrow(1, step[2], step[3]):t(), of_scores(step, gradOutput[i]))
      end
   end
   return self.gradInput
end

function Tree:accGradParameters(input, gradOutput, scale)
   scale = scale or 1
   for i, path in ipairs(self._paths) do
      for _, step in ipairs(path) do
         local gradient = of_scores(step, gradOutput[i])
         self.gradWeight:narrow(1, step[2], step[3]):addr(scale, gradient, input[1][i])
         self.gradBias:narrow(1, step[2], step[3]):add(scale, gradient)
         self.updates[step[1]] = (self.updates[step[1]] or 0) + scale
      end
   end
end

local function of_node(self, parent, name)
   local first, count = self.parentChildren[parent][1], self.parentChildren[parent][2]
   return self[name]:narrow(1, first, count)
end

-- The parameters of nodes that have gradients; of all nodes if there are none yet.
function Tree:parameters()
   local parents = {}
   for parent in pairs(self.updates) do parents[#parents + 1] = parent end
   if #parents == 0 then
      if not self.static then return { self.weight, self.bias }, { self.gradWeight, self.gradBias } end
      parents = self.parentIds:totable()
   end
   local parameters, gradients = {}, {}
   for i, parent in ipairs(parents) do
      local weight_key, bias_key = 2 * i - 1, 2 * i
      if self.static then weight_key, bias_key = parent, parent + self.maxParentId end
      parameters[weight_key], parameters[bias_key] = of_node(self, parent, 'weight'), of_node(self, parent, 'bias')
      if not self.accUpdate then
         gradients[weight_key], gradients[bias_key] = of_node(self, parent, 'gradWeight'),
            of_node(self, parent, 'gradBias')
      end
   end
   return parameters, gradients, {}, self.nChildNode * 2
end

function Tree:getNodeParameters(parent)
   local parameters = { of_node(self, parent, 'weight'), of_node(self, parent, 'bias') }
   if self.accUpdate then return parameters end
   return parameters, { of_node(self, parent, 'gradWeight'), of_node(self, parent, 'gradBias') }
end

function Tree:updateParameters(learningRate)
   assert(not self.accUpdate)
   local parameters, gradients = self:parameters()
   for key, parameter in pairs(parameters) do parameter:add(-learningRate, gradients[key]) end
end

function Tree:zeroGradParameters()
   local _, gradients = self:parameters()
   for _, gradient in pairs(gradients) do gradient:zero() end
   for parent in pairs(self.updates) do self.updates[parent] = nil end -- emptied in place, because clones share it
end

-- The numbers of nodes stay IntTensors.
function Tree:type(type, cache)
   if not type then return Module.type(self) end
   local kept = {}
   for _, name in ipairs{ 'parentIds', 'childIds', 'parentChildren', 'childParent', '_gradTarget', '_paths' } do
      kept[name], self[name] = self[name], nil
   end
   Module.type(self, type, cache)
   for name, value in pairs(kept) do self[name] = value end
   self.gradInput = { self._gradInput, self._gradTarget }
   return self
end
