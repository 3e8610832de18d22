-- The package ccn2: cuda-convnet2's layers, whose images are planes x height x width x batch. Its kernels are not
-- available: images are converted to nn's layout and back, and nn's kernels compute.
require 'cunn'

ccn2 = ccn2 or {}

local function check(self, input)
   if input:dim() ~= 4 then error(torch.type(self) .. ': a tensor of 4 dimensions expected', 3) end
   if input:size(2) ~= input:size(3) then error(torch.type(self) .. ': square images only', 3) end
   if input:size(4) % 32 ~= 0 then error(torch.type(self) .. ': a multiple of 32 images only', 3) end
end

local function to_nn(t) return t:permute(4, 1, 2, 3):contiguous() end
local function from_nn(t) return t:permute(2, 3, 4, 1):contiguous() end

-- inner(self): the nn module that computes.
local function define(name, inner)
   local class = torch.class('ccn2.' .. name, 'nn.Module')
   function class:updateOutput(input)
      check(self, input)
      self.output = from_nn(inner(self):updateOutput(to_nn(input)))
      return self.output
   end
   function class:updateGradInput(input, gradOutput)
      if not self.gradInput then return end
      local module, image = inner(self), to_nn(input)
      module:updateOutput(image)
      self.gradInput = from_nn(module:updateGradInput(image, to_nn(gradOutput)))
      return self.gradInput
   end
   return class
end

-- The weight is (planes of the input * kH * kH) x planes of the output.
local Convolution = define('SpatialConvolution', function(self) return self:_nn() end)

function Convolution:__init(nInputPlane, nOutputPlane, kH, dH, padding, groups, partialSum)
   nn.Module.__init(self)
   if not (nInputPlane <= 3 or nInputPlane % 4 == 0) then
      error('Number of input channels has to be 1, 2, 3 or a multiple of 4', 2)
   end
   if nOutputPlane % 16 ~= 0 then error('Number of output planes has to be a multiple of 16.', 2) end
   self.nInputPlane, self.nOutputPlane, self.kH, self.dH = nInputPlane, nOutputPlane, kH, dH or 1
   self.padding, self.groups, self.partialSum = padding or 0, groups or 1, partialSum
   local rows = nInputPlane * kH * kH / self.groups
   self.weight, self.gradWeight = torch.Tensor(rows, nOutputPlane), torch.Tensor(rows, nOutputPlane)
   self.bias, self.gradBias = torch.Tensor(nOutputPlane), torch.Tensor(nOutputPlane)
   self:reset()
end

function Convolution:reset(stdv)
   stdv = stdv and stdv * math.sqrt(3) or 1 / math.sqrt(self.kH * self.kH * self.nInputPlane / self.groups)
   self.weight:uniform(-stdv, stdv)
   self.bias:uniform(-stdv, stdv)
end

-- A cudnn convolution with this layer's weights, output planes first.
function Convolution:_nn()
   require 'cudnn'
   local module = cudnn.SpatialConvolution(self.nInputPlane, self.nOutputPlane, self.kH, self.kH, self.dH, self.dH,
      self.padding, self.padding, self.groups):type(self.weight:type())
   module.weight:copy(self.weight:t())
   module.bias:copy(self.bias)
   return module
end

function Convolution:accGradParameters(input, gradOutput, scale)
   local module = self:_nn()
   module:zeroGradParameters()
   module:accGradParameters(to_nn(input), to_nn(gradOutput), scale)
   self.gradWeight:add(module.gradWeight:view(self.nOutputPlane, -1):t())
   self.gradBias:add(module.gradBias)
end

local function pooling(name, nn_name)
   local class = define(name, function(self)
      return nn[nn_name](self.kW, self.kW, self.dW, self.dW):ceil():type(self.output:type())
   end)
   function class:__init(kW, dW)
      nn.Module.__init(self)
      self.kW, self.dW = kW, dW or kW
   end
end
pooling('SpatialMaxPooling', 'SpatialMaxPooling')
pooling('SpatialAvgPooling', 'SpatialAveragePooling')

return ccn2
