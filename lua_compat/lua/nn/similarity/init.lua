-- Comparisons of vectors with stored ones, or with each other.
local kernel = require('torch.core.kernels').of_layers
local layer = require 'nn.shared.layer'
local declared = require 'nn.shared.declared'
declared.ways('similarity', { 'euclidean', 'cosine', 'bilinear', 'pairs' })
local whole_numbers = require 'nn.shared.whole_numbers'
local Module = torch.getmetatable('nn.Module')

local function spread(stdv, count) return stdv and stdv * math.sqrt(3) or 1 / math.sqrt(count) end

local function check_dims(input)
   if input:dim() ~= 1 and input:dim() ~= 2 then error('input must be vector or matrix', 3) end
end

-- accUpdateGradParameters, for modules some of whose gradients ignore the scale
local GRADIENTS = { gradWeight = 'weight', gradBias = 'bias', gradDiagCov = 'diagCov' }
local function update_after(self, input, gradOutput, rate)
   local kept = {}
   for name in pairs(GRADIENTS) do
      kept[name] = self[name]
      self[name] = kept[name] and kept[name].new():resizeAs(kept[name]):zero()
   end
   self:accGradParameters(input, gradOutput, 1)
   for name, parameter in pairs(GRADIENTS) do
      if kept[name] then self[parameter]:add(-rate, self[name]) end
      self[name] = kept[name]
   end
end

-- For two batches of vectors: x1' W_k x2 + b_k for each output k
local Bilinear = torch.class('nn.Bilinear', 'nn.Module')
Bilinear.accUpdateGradParameters = update_after

local function is_size(x) return type(x) == 'number' and x == math.floor(x) and x > 0 end

local set_bilinear = declared.setter 'Bilinear'
function Bilinear:__init(...)
   local inputSize1, inputSize2, outputSize, bias = set_bilinear(self, ...)
   assert(is_size(inputSize1) and is_size(inputSize2) and is_size(outputSize),
      'inputSize1 and inputSize2 and outputSize should be positive integer numbers')
   Module.__init(self)
   self.weight = torch.Tensor(outputSize, inputSize1, inputSize2)
   self.gradWeight = torch.Tensor(outputSize, inputSize1, inputSize2)
   if bias then self.bias, self.gradBias = torch.Tensor(outputSize), torch.Tensor(outputSize) end
   self.gradInput = { torch.Tensor(), torch.Tensor() }
   self:reset()
end

function Bilinear:reset(stdv)
   assert(stdv == nil or (type(stdv) == 'number' and stdv > 0), 'standard deviation should be a positive number')
   stdv = spread(stdv, self.weight:size(2))
   self.weight:uniform(-stdv, stdv)
   if self.bias then self.bias:uniform(-stdv, stdv) end
   return self
end

local function check_inputs(self, input, gradOutput)
   assert(torch.type(input) == 'table' and #input == 2, 'input should be a table containing two data Tensors')
   local first, second = unpack(input)
   assert(first:dim() == 2 and second:dim() == 2, 'input Tensors should be two-dimensional')
   assert(first:size(1) == second:size(1), 'input Tensors should have the same number of rows (instances)')
   assert(first:size(2) == self.weight:size(2), 'dimensionality of first input is erroneous')
   assert(second:size(2) == self.weight:size(3), 'dimensionality of second input is erroneous')
   if gradOutput then
      assert(first:size(1) == gradOutput:size(1), 'number of rows in gradOutput does not match input')
      assert(gradOutput:size(2) == self.weight:size(1),
         'number of columns in gradOutput does not output size of layer')
   end
   return first, second
end

function Bilinear:updateOutput(input)
   local first, second = check_inputs(self, input)
   kernel.bilinear(self.output, first, second, self.weight, self.bias)
   return self.output
end

function Bilinear:updateGradInput(input, gradOutput)
   if not self.gradInput then return end
   local first, second = check_inputs(self, input, gradOutput)
   for i = 1, 2 do self.gradInput[i] = self.gradInput[i] or input[i].new() end
   kernel.bilinear_grad_inputs(self.gradInput[1], self.gradInput[2], first, second, gradOutput, self.weight)
   return self.gradInput
end

function Bilinear:accGradParameters(input, gradOutput, scale)
   local first, second = check_inputs(self, input, gradOutput)
   scale = scale or 1
   assert(type(scale) == 'number' and scale >= 0)
   -- As in Torch7, scale applies only to the bias.
   kernel.bilinear_grad_parameters(self.gradWeight, self.gradBias, first, second, gradOutput, scale)
end

Bilinear.sharedAccUpdateGradParameters = Module.defaultAccUpdateGradParameters

function Bilinear:__tostring__()
   return ('%s(%dx%d -> %d) %s'):format(torch.type(self), self.weight:size(2), self.weight:size(3),
      self.weight:size(1), self.bias == nil and ' without bias' or '')
end

-- The cosine of the angle between the input and each row of the weight
local Cosine = torch.class('nn.Cosine', 'nn.Module')
Cosine.accUpdateGradParameters = update_after

function Cosine:__init(inputSize, outputSize)
   Module.__init(self)
   self.weight = torch.Tensor(outputSize, inputSize)
   self.gradWeight = torch.Tensor(outputSize, inputSize)
   self:reset()
end
function Cosine:reset(stdv)
   stdv = spread(stdv, self.weight:size(1))
   self.weight:uniform(-stdv, stdv)
end
function Cosine:updateOutput(input)
   check_dims(input)
   local outputs, inputs = self.weight:size(1), self.weight:size(2)
   if input:size(input:dim()) ~= inputs then
      local batch = input:dim() == 2 and input:size(1)
      error(batch and ('size mismatch, m1: [%d x %d], m2: [%d x %d]'):format(batch, input:size(2), inputs, outputs)
         or ('size mismatch, [%d x %d], [%d]'):format(outputs, inputs, input:size(1)))
   end
   kernel.cosine(self.output, input, self.weight)
   return self.output
end
function Cosine:updateGradInput(input, gradOutput)
   if not self.gradInput then return end
   if gradOutput:dim() ~= input:dim() then error('the number of dimensions provided must equal tensor:dim()', 0) end
   kernel.cosine_grad_input(self.gradInput, input, gradOutput, self.weight)
   return self.gradInput
end
function Cosine:accGradParameters(input, gradOutput, scale)
   if not gradOutput:isSameSizeAs(self.output) then torch.cmul(gradOutput, self.output) end -- raises the size error
   kernel.cosine_grad_weight(self.gradWeight, input, gradOutput, self.weight, scale or 1)
end

-- The distance of the input to each column of the weight
local Euclidean = torch.class('nn.Euclidean', 'nn.Module')

local set_euclidean = declared.setter 'Euclidean'
function Euclidean:__init(inputSize, outputSize)
   Module.__init(self)
   self.weight = torch.Tensor(inputSize, outputSize)
   self.gradWeight = torch.Tensor(inputSize, outputSize)
   self.gradInput:resize(inputSize)
   self.output:resize(outputSize)
   set_euclidean(self)
   self:reset()
end
function Euclidean:reset(stdv)
   stdv = spread(stdv, self.weight:size(1))
   self.weight:uniform(-stdv, stdv)
end

-- Torch7 views the input as batch x inputSize x 1; its error says what does not fit.
local function check_input(self, input)
   local size = self.weight:size(1)
   if input:dim() ~= 1 and input:dim() ~= 2 then error('1D or 2D input expected', 3) end
   if input:size(input:dim()) == size then return end
   local view = input:isContiguous() and input.view or input.reshape
   if input:dim() == 1 then return view(input, size, 1) end
   return view(input, input:size(1), size, 1)
end
-- gradOutput divided by the distances, which are the output; 1e-7 avoids division by zero.
local function slopes(self, gradOutput)
   local slopes = torch.cdiv(gradOutput, torch.add(self.output, 1e-7))
   return slopes:isSameSizeAs(self.output) and slopes or slopes:viewAs(self.output)
end

-- The methods of a class; weighted: whether the differences are multiplied by a column of diagCov
local function measure(class, weighted)
   local function factors(self) return weighted and self.diagCov or nil end
   function class:updateOutput(input)
      check_input(self, input)
      kernel.euclidean(self.output, input, self.weight, factors(self))
      return self.output
   end
   function class:updateGradInput(input, gradOutput)
      if not self.gradInput then return end
      kernel.euclidean_grad_input(self.gradInput, input, slopes(self, gradOutput), self.weight, factors(self))
      return self.gradInput
   end
   function class:accGradParameters(input, gradOutput, scale)
      kernel.euclidean_grad_parameters(self.gradWeight, weighted and self.gradDiagCov or nil, input,
         slopes(self, gradOutput), self.weight, factors(self), scale or 1)
   end
end
measure(Euclidean, false)

local Weighted = torch.class('nn.WeightedEuclidean', 'nn.Module')
Weighted.accUpdateGradParameters = update_after

function Weighted:__init(inputSize, outputSize)
   Module.__init(self)
   for _, name in ipairs{ 'weight', 'gradWeight', 'diagCov', 'gradDiagCov' } do
      self[name] = torch.Tensor(inputSize, outputSize)
   end
   self:reset()
end
function Weighted:reset(stdv)
   Euclidean.reset(self, stdv)
   self.diagCov:fill(1)
end
measure(Weighted, true)
function Weighted:parameters() return { self.weight, self.diagCov }, { self.gradWeight, self.gradDiagCov } end
-- The nearest of k centres; the centres move towards the inputs nearest to them
local Kmeans = torch.class('nn.Kmeans', 'nn.Module')

local set_kmeans = declared.setter 'Kmeans'
function Kmeans:__init(...)
   Module.__init(self)
   local k, dim = set_kmeans(self, ...)
   assert(k > 0, 'Clusters cannot be 0 or negative.')
   assert(dim > 0, 'Dimensionality cannot be 0 or negative.')
   self.weight = torch.Tensor(k, dim)
   self.gradWeight = torch.Tensor(k, dim)
   self.clusterSampleCount = torch.Tensor(k)
   self:reset()
end

function Kmeans:reset(stdev)
   stdev = stdev or 1
   self.weight:uniform(-stdev, stdev)
end

local function check_samples(self, input)
   assert(input:dim() == 2, 'Incorrect input dimensionality. Expecting 2D.')
   assert(input:size(2) == self.dim, "Dimensionality of input and weight don't match.")
   return input:size(1)
end

-- Centres from random samples
function Kmeans:initRandom(input)
   local samples = check_samples(self, input)
   assert(samples >= self.k, 'Need atleast k samples for initialization.')
   local indices = torch.zeros(self.k):random(1, samples)
   for i = 1, self.k do self.weight[i]:copy(input[indices[i]]) end
end

-- Centres far from each other: each is drawn from the (1 - p) of the samples that are farthest from the previous ones
function Kmeans:initKmeansPlus(input, p)
   self.p = p or self.p or 0.95
   assert(self.p >= 0 and self.p <= 1, 'P value should be between 0-1.')
   local samples = check_samples(self, input)
   local candidates = math.max(math.ceil((1 - self.p) * samples), 1)
   self.weight[1]:copy(input[torch.random(samples)])
   local distances = self.weight.new(samples):fill(math.huge)
   for k = 2, self.k do
      local squares = torch.add(input, -1, self.weight:narrow(1, k - 1, 1):expandAs(input)):pow(2):sum(2):view(-1)
      distances:cmin(squares)
      local _, order = distances:sort(true)
      self.weight[k]:copy(input[order[torch.random(candidates)]])
   end
end

function Kmeans:updateOutput(input)
   check_samples(self, input)
   assert(input:isContiguous(), 'Input is not contiguous.')
   self._minScore = self._minScore or self.weight.new()
   self._minIndx = whole_numbers.beside(input, self._minIndx)
   kernel.nearest(self._minScore, self._minIndx, input, self.weight)
   self.loss = self._minScore:sum()
   return self.output:resize(input:size(1)):copy(self._minIndx)
end

function Kmeans:updateGradInput(input) return self.gradInput:resize(input:size()):zero() end

-- Minus the mean difference between a centre and its samples
function Kmeans:accGradParameters(input, _, scale)
   scale = self.scale or scale or 1
   assert(scale > 0, 'Scale has to be positive.')
   local nearest = self._minIndx
   self.clusterSampleCount:zero():indexAdd(1, nearest, input.new(input:size(1)):fill(1))
   local differences = torch.add(self.weight:index(1, nearest), -1, input):mul(scale)
   local sums = self.gradWeight.new():resizeAs(self.gradWeight):zero()
   sums:indexAdd(1, nearest, differences)
   local counts = torch.add(self.clusterSampleCount, 1e-7) -- avoids division by zero
   self.gradWeight:add(sums:cdiv(counts:view(self.k, 1):expandAs(sums)))
end

function Kmeans:clearState()
   self._minScore, self._minIndx = nil, nil
   return Module.clearState(self)
end
function Kmeans:type(name, cache)
   if name then self:clearState() end
   return Module.type(self, name, cache)
end

-- Two inputs compared row by row
layer.pair{ name = 'DotProduct' }
layer.pair{ name = 'CosineDistance' }
local PairwiseDistance = layer.pair{ name = 'PairwiseDistance' }
local pairwise_gradients = PairwiseDistance.updateGradInput

-- The derivative of |x| at 0, and at NaN, is drawn at random from -1 and 1.
function PairwiseDistance:updateGradInput(input, gradOutput)
   if type(self.norm) == 'string' then error('norm: a number expected, got a string') end -- in Torch7 only here
   local first, second = unpack(pairwise_gradients(self, input, gradOutput))
   if self.norm ~= 1 then return self.gradInput end
   local difference = torch.add(input[1], -1, input[2]):view(-1)
   local undecided = torch.gt(difference, 0):add(torch.lt(difference, 0)):eq(0)
   if undecided:any() then
      first, second, gradOutput = first:view(-1), second:view(-1), gradOutput:contiguous():view(-1)
      local of_one = input[1]:dim() == 1 and first:size(1) or input[1]:size(2)
      for i = 1, first:size(1) do
         if undecided[i] == 1 then
            first[i] = (2 * torch.random(2) - 3) * gradOutput[math.ceil(i / of_one)]
            second[i] = -first[i]
         end
      end
   end
   return self.gradInput
end
