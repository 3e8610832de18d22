-- Layers of feature vectors: normalised, gated, noisy, compared.
local layer = require 'nn.layer'
local Module = torch.getmetatable('nn.Module')

layer.plain{ name = 'GatedLinearUnit', f = 'gated_linear_unit', init = function(self, dim) self.dim = dim end,
   arguments = function(self, input) return self.dim or input:dim() end }

layer.plain{ name = 'Normalize', f = 'normalize',
   init = function(self, p, eps)
      assert(p, 'p-norm not provided')
      assert(p > 0, p .. '-norm not supported')
      self.p, self.eps = p, eps or 1e-10
   end,
   arguments = function(self) return self.p, self.eps end,
   text = function(self) return '(' .. self.p .. ')' end }

layer.pair{ name = 'DotProduct', f = 'dot_product' }
layer.pair{ name = 'CosineDistance', f = 'cosine_distance' }
layer.pair{ name = 'PairwiseDistance', f = 'pairwise_distance',
   init = function(self, p)
      self.norm = p or 2
      self.gradInput, self.diff = {}, torch.Tensor()
   end,
   arguments = function(self) return self.norm end }

-- (sum of x^power)^(1 / power) over windows of features
layer.plain{ name = 'FeatureLPPooling', f = 'feature_lp_pooling',
   init = function(self, width, stride, power, batch_mode)
      if width < 2 or width > 16 then error('width must be within 2 to 16', 3) end
      if stride < 1 or stride > 4 then error('stride must be within 1 to 4', 3) end
      self.width, self.stride, self.power, self.batch_mode = width, stride, power, batch_mode
   end,
   arguments = function(self) return self.width, self.stride, self.power, self.batch_mode and 1 or 0 end,
   text = function(self)
      return ('(w%d s%d power %d batch %d'):format(self.width, self.stride, self.power, self.batch_mode and 1 or 0)
   end }

-- f(x) = x for x > 0, else weight * x
local PReLU = layer.with_parameters{ name = 'PReLU', f = 'prelu',
   init = function(self, planes) self.nOutputPlane = planes or 0 end,
   weight = function(self) return math.max(self.nOutputPlane, 1) end }
function PReLU:reset() self.weight:fill(0.25) end

-- f(x) = x for x > 0, else x times a number drawn between lower and upper (their mean when evaluating)
local RReLU = torch.class('nn.RReLU', 'nn.Module')
function RReLU:__init(lower, upper, inplace)
   Module.__init(self)
   self.lower, self.upper = lower or 1 / 8, upper or 1 / 3
   assert(self.lower <= self.upper and self.lower >= 0 and self.upper >= 0)
   self.noise = torch.Tensor()
   self.train = true
   self.inplace = inplace or false
end
function RReLU:updateOutput(input)
   local slope = (self.lower + self.upper) / 2
   self.noise:resizeAs(input):fill(slope)
   if self.train then -- a draw for each element that is not positive, in their order
      local noise, lower, upper = self.noise, self.lower, self.upper
      noise:map(input, function(_, x) return x <= 0 and torch.uniform(lower, upper) or 1 end)
   end
   local positive = torch.gt(input, 0):typeAs(input)
   self.noise:cmul(positive:clone():mul(-1):add(1)):add(positive)
   if self.inplace then return self.output:set(input:cmul(self.noise)) end
   return self.output:resizeAs(input):copy(input):cmul(self.noise)
end
function RReLU:updateGradInput(_, gradOutput)
   if self.inplace then return self.gradInput:set(gradOutput:cmul(self.noise)) end
   return self.gradInput:resizeAs(gradOutput):copy(gradOutput):cmul(self.noise)
end
function RReLU:clearState()
   if self.noise then self.noise:set() end
   return Module.clearState(self)
end
function RReLU:__tostring__() return ('%s (l:%f, u:%f)'):format(torch.type(self), self.lower, self.upper) end

local WhiteNoise = torch.class('nn.WhiteNoise', 'nn.Module')
function WhiteNoise:__init(mean, std)
   Module.__init(self)
   self.mean, self.std = mean or 0, std or 0.1
   self.noise = torch.Tensor()
end
function WhiteNoise:updateOutput(input)
   self.output:resizeAs(input):copy(input)
   if self.train == false then return self.mean ~= 0 and self.output:add(self.mean) or self.output end
   return self.output:add(self.noise:resizeAs(input):normal(self.mean, self.std))
end
function WhiteNoise:updateGradInput(_, gradOutput)
   if self.train == false then error('backprop only defined while training') end
   return self.gradInput:resizeAs(gradOutput):copy(gradOutput)
end
function WhiteNoise:clearState()
   self.noise:set()
   return Module.clearState(self)
end
function WhiteNoise:__tostring__()
   return ('%s mean: %f, std: %f'):format(torch.type(self), self.mean, self.std)
end

-- The input, and a gradient that makes it sparse
local L1Penalty = torch.class('nn.L1Penalty', 'nn.Module')
function L1Penalty:__init(l1weight, sizeAverage, provideOutput)
   Module.__init(self)
   self.l1weight, self.sizeAverage = l1weight, sizeAverage or false
   self.provideOutput = provideOutput == nil or provideOutput
end
local function penalty(self, input)
   return self.sizeAverage and self.l1weight / input:nElement() or self.l1weight
end
function L1Penalty:updateOutput(input)
   self.loss = penalty(self, input) * input:norm(1)
   self.output = input
   return self.output
end
function L1Penalty:updateGradInput(input, gradOutput)
   self.gradInput:resizeAs(input):copy(input):sign():mul(penalty(self, input))
   if self.provideOutput then self.gradInput:add(gradOutput) end
   return self.gradInput
end

local GradientReversal = torch.class('nn.GradientReversal', 'nn.Module')
GradientReversal.__version = 2
function GradientReversal:__init(lambda)
   Module.__init(self)
   self.lambda = lambda or 1
end
function GradientReversal:setLambda(lambda) self.lambda = lambda end
function GradientReversal:updateOutput(input) return self.output:set(input) end
function GradientReversal:updateGradInput(_, gradOutput)
   return self.gradInput:resizeAs(gradOutput):copy(gradOutput):mul(-self.lambda)
end
function GradientReversal:read(file, version)
   Module.read(self, file)
   if version < 2 then self.lambda = 1 end
end

-- Vectors normalised to mean 0 and length sqrt(n), then scaled and shifted
local LayerNormalization, Sequential = torch.class('nn.LayerNormalization', 'nn.Sequential')
function LayerNormalization:__init(nOutput, bias, eps, affine)
   Sequential.__init(self)
   local mean = nn.Sequential():add(nn.Mean(1, 1)):add(nn.Replicate(nOutput, 1, 1))
   self:add(nn.ConcatTable():add(nn.Identity()):add(mean))
   self:add(nn.CSubTable())
   self:add(nn.Normalize(2, eps or 1e-10))
   self:add(nn.MulConstant(math.sqrt(nOutput)))
   if affine ~= false then
      local shift, gain = nn.Add(nOutput, false), nn.CMul(nOutput)
      shift.bias:fill(bias or 0)
      gain.weight:fill(1)
      self:add(gain):add(shift)
   end
end

local Maxout = torch.class('nn.Maxout', 'nn.Sequential')
function Maxout:__init(inputSize, outputSize, maxoutNumber, preprocess)
   Sequential.__init(self)
   self:add(nn.Linear(inputSize, outputSize * maxoutNumber))
   self:add(nn.View(maxoutNumber, outputSize):setNumInputDims(1))
   if preprocess then self:add(preprocess) end
   self:add(nn.Max(1, 2))
end

-- max(x, 0) and max(-x, 0) side by side
local CReLU = torch.class('nn.CReLU', 'nn.Sequential')
function CReLU:__init(nInputDims, inplace)
   Sequential.__init(self)
   self.nInputDims, self.inplace = nInputDims, inplace or false
   self:add(nn.ConcatTable():add(nn.Identity()):add(nn.MulConstant(-1)))
   self:add(nn.JoinTable(2))
   self:add(nn.ReLU(self.inplace))
end
local function flat(self, t, input)
   return t:contiguous():view(input:dim() == self.nInputDims + 1 and input:size(1) or 1, -1)
end
function CReLU:updateOutput(input)
   Sequential.updateOutput(self, flat(self, input, input))
   local sizes = input:size()
   local d = input:dim() == self.nInputDims + 1 and 2 or 1
   sizes[d] = 2 * sizes[d]
   return self.output:resize(sizes)
end
function CReLU:updateGradInput(input, gradOutput)
   Sequential.updateGradInput(self, flat(self, input, input), flat(self, gradOutput, input))
   return self.gradInput:resizeAs(input)
end
function CReLU:backward(input, gradOutput) return self:updateGradInput(input, gradOutput) end
function CReLU:__tostring__() return 'CReLU()' end
