-- Convolutions of images: input (batch x) planes x height x width.
local kernel = require('torch.kernels').of_tensors
local Module = torch.getmetatable('nn.Module')

-- What nn.SpatialConvolution and nn.SpatialConvolutionMM share; weight_sizes(self): the shape of the weight.
local function define(name, weight_sizes)
   local class = torch.class(name, 'nn.Module')

   function class:__init(nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH)
      Module.__init(self)
      self.nInputPlane, self.nOutputPlane = nInputPlane, nOutputPlane
      self.kW, self.kH = kW, kH
      self.dW, self.dH = dW or 1, dH or 1
      self.padW = padW or 0
      self.padH = padH or self.padW
      self.weight = torch.Tensor(weight_sizes(self))
      self.bias = torch.Tensor(nOutputPlane)
      self.gradWeight = torch.Tensor(weight_sizes(self))
      self.gradBias = torch.Tensor(nOutputPlane)
      self:reset()
   end

   function class:noBias()
      self.bias, self.gradBias = nil, nil
      return self
   end

   function class:reset(stdv)
      stdv = stdv and stdv * math.sqrt(3) or 1 / math.sqrt(self.kW * self.kH * self.nInputPlane)
      self.weight:uniform(-stdv, stdv)
      if self.bias then self.bias:uniform(-stdv, stdv) end
   end

   -- Modules saved long ago have one padding for both directions.
   local function upgrade(self)
      if self.padding then self.padW, self.padH, self.padding = self.padding, self.padding, nil end
      self.padW, self.padH = self.padW or 0, self.padH or 0
   end

   function class:updateOutput(input)
      upgrade(self)
      kernel.spatial_convolution(self.output, input, self.weight, self.bias, self.kW, self.kH, self.dW, self.dH,
         self.padW, self.padH)
      return self.output
   end

   function class:updateGradInput(input, gradOutput)
      if not self.gradInput then return end
      upgrade(self)
      kernel.spatial_convolution_grad_input(self.gradInput, input, gradOutput, self.weight, self.kW, self.kH,
         self.dW, self.dH, self.padW, self.padH)
      return self.gradInput
   end

   function class:accGradParameters(input, gradOutput, scale)
      upgrade(self)
      assert((self.bias == nil) == (self.gradBias == nil))
      kernel.spatial_convolution_grad_weight(self.gradWeight, self.gradBias, input, gradOutput, self.kW, self.kH,
         self.dW, self.dH, self.padW, self.padH, scale or 1)
   end

   function class:type(name_of_type, cache)
      self.finput = self.finput and torch.Tensor()
      self.fgradInput = self.fgradInput and torch.Tensor()
      return Module.type(self, name_of_type, cache)
   end

   function class:clearState()
      nn.utils.clear(self, 'finput', 'fgradInput', '_input', '_gradOutput')
      return Module.clearState(self)
   end

   function class:__tostring__()
      local text = ('%s(%d -> %d, %dx%d'):format(torch.type(self), self.nInputPlane, self.nOutputPlane, self.kW,
         self.kH)
      local padded = self.padW ~= 0 or self.padH ~= 0
      if self.dW ~= 1 or self.dH ~= 1 or padded then text = text .. (', %d,%d'):format(self.dW, self.dH) end
      if padded then text = text .. ', ' .. self.padW .. ',' .. self.padH end
      return text .. (self.bias and ')' or ') without bias')
   end
end

define('nn.SpatialConvolution', function(self) return self.nOutputPlane, self.nInputPlane, self.kH, self.kW end)
define('nn.SpatialConvolutionMM', function(self) return self.nOutputPlane, self.nInputPlane * self.kH * self.kW end)
