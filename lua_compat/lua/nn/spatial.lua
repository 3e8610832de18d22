-- More layers for images: input (batch x) planes x height x width.
local layer = require 'nn.layer'
local SpatialMaxPooling = torch.getmetatable('nn.SpatialMaxPooling')
local Module = torch.getmetatable('nn.Module')

-- Paddings
local function sides(self, l, r, t, b)
   self.pad_l, self.pad_r, self.pad_t, self.pad_b = l, r or l, t or l, b or l
end
local function side_values(self) return self.pad_l, self.pad_r, self.pad_t, self.pad_b end
local function sides_text(self) return ('(l=%d, r=%d, t=%d, b=%d)'):format(side_values(self)) end
for name, f in pairs{ SpatialZeroPadding = 'zero_padding', SpatialReflectionPadding = 'reflection_padding',
   SpatialReplicationPadding = 'replication_padding' } do
   layer.plain{ name = name, f = f, init = sides, arguments = side_values, text = sides_text }
end

layer.plain{ name = 'PixelShuffle', f = 'pixel_shuffle', arguments = function(self) return self.upscaleFactor end,
   init = function(self, factor) self.upscaleFactor, self.upscaleFactorSquared = factor, factor * factor end }

-- Normalisation over neighbouring planes
layer.plain{ name = 'SpatialCrossMapLRN', f = 'cross_map_lrn',
   init = function(self, size, alpha, beta, k)
      self.size, self.alpha, self.beta, self.k = size, alpha or 0.0001, beta or 0.75, k or 1
   end,
   arguments = function(self) return self.size, self.alpha, self.beta, self.k end }

-- Pooling
local function pooling_text(self)
   local text = ('(%dx%d, %d,%d'):format(self.kW, self.kH, self.dW, self.dH)
   if self.padW ~= 0 or self.padH ~= 0 then text = text .. ', ' .. self.padW .. ',' .. self.padH end
   return text .. (', %s,%s)'):format(self.dilationW, self.dilationH)
end
local Dilated = layer.plain{ name = 'SpatialDilatedMaxPooling', parent = 'nn.SpatialMaxPooling', f = 'max_pooling',
   text = pooling_text,
   arguments = function(self)
      return self.kW, self.kH, self.dW, self.dH, self.padW, self.padH, self.dilationW, self.dilationH, self.ceil_mode
   end }
function Dilated:__init(kW, kH, dW, dH, padW, padH, dilationW, dilationH)
   SpatialMaxPooling.__init(self, kW, kH, dW, dH, padW, padH)
   self.dilationW, self.dilationH = dilationW or 1, dilationH or 1
end

local function output_size(self, w, h) self.W, self.H = w, h end
local function output_size_values(self) return self.H, self.W end
for name, f in pairs{ SpatialAdaptiveMaxPooling = 'adaptive_max_pooling',
   SpatialAdaptiveAveragePooling = 'adaptive_average_pooling' } do
   local class = layer.plain{ name = name, f = f, init = output_size, arguments = output_size_values }
   function class:empty() self:clearState() end
end

-- (sum of |x|^p)^(1/p) over each window
local LPPooling, Sequential = torch.class('nn.SpatialLPPooling', 'nn.Sequential')
function LPPooling:__init(_, pnorm, kW, kH, dW, dH)
   Sequential.__init(self)
   self.kW, self.kH, self.dW, self.dH = kW, kH, dW or kW, dH or kH
   self:add(pnorm == 2 and nn.Square() or nn.Power(pnorm))
   self:add(nn.SpatialAveragePooling(kW, kH, self.dW, self.dH))
   self:add(nn.MulConstant(kW * kH))
   self:add(pnorm == 2 and nn.Sqrt() or nn.Power(1 / pnorm))
end
for _, name in ipairs{ 'reset', 'accGradParameters', 'accUpdateGradParameters', 'zeroGradParameters',
   'updateParameters' } do
   LPPooling[name] = function() end
end

-- Convolutions of other kinds

local function convolution_fields(self, nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH)
   layer.fields(self, { 'nInputPlane', 'nOutputPlane', 'kW', 'kH', 'dW', 'dH', 'padW', 'padH' }, nInputPlane,
      nOutputPlane, kW, kH, dW or 1, dH or 1, padW or 0, padH or padW or 0)
end
local function convolution_values(self) return self.kW, self.kH, self.dW, self.dH, self.padW, self.padH end
local function fan_in(self) return self.kW * self.kH * self.nInputPlane end
local function output_planes(self) return self.nOutputPlane end

local function convolution_text(extra)
   return function(self)
      local text = ('(%d -> %d, %dx%d'):format(self.nInputPlane, self.nOutputPlane, self.kW, self.kH)
      local padded = self.padW ~= 0 or self.padH ~= 0
      if self.dW ~= 1 or self.dH ~= 1 or padded then text = text .. (', %d,%d'):format(self.dW, self.dH) end
      if padded then text = text .. ', ' .. self.padW .. ',' .. self.padH end
      return text .. (extra and extra(self) or '') .. (self.bias and ')' or ') without bias')
   end
end

layer.with_parameters{ name = 'SpatialDilatedConvolution', parent = 'nn.SpatialConvolution', kernel = 'convolution', f = 'plain',
   init = function(self, nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH, dilationW, dilationH)
      convolution_fields(self, nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH)
      self.dilationW, self.dilationH = dilationW or 1, dilationH or 1
   end,
   weight = function(self) return self.nOutputPlane, self.nInputPlane, self.kH, self.kW end,
   bias = output_planes, fan_in = fan_in,
   arguments = function(self)
      return self.dW, self.dH, self.padW, self.padH, self.dilationW, self.dilationH
   end,
   text = convolution_text(function(self) return ', ' .. self.dilationW .. ',' .. self.dilationH end) }

local DepthWise = layer.with_parameters{ name = 'SpatialDepthWiseConvolution', f = 'depthwise_convolution', init = convolution_fields,
   weight = function(self) return self.nOutputPlane, self.nInputPlane * self.kH * self.kW end,
   bias = function(self) return self.nOutputPlane, self.nInputPlane end,
   fan_in = fan_in, arguments = convolution_values, text = convolution_text() }

-- From the first use on, its parameters are seen as output x input x height x width.
local depthwise_output = DepthWise.updateOutput
function DepthWise:updateOutput(input)
   if self.weight:dim() == 2 then
      for _, name in ipairs{ 'weight', 'gradWeight' } do
         self[name]:resize(self.nOutputPlane, self.nInputPlane, self.kH, self.kW)
      end
   end
   return depthwise_output(self, input)
end

-- The steps that a target's sizes leave over, for an input { image, target }
local function adjustment(self, input)
   if torch.isTensor(input) then return self.adjW or 0, self.adjH or 0 end
   local target = input[2]
   local height, width = target:size(target:dim() - 1), target:size(target:dim())
   return (width + 2 * self.padW - self.kW) % self.dW, (height + 2 * self.padH - self.kH) % self.dH
end

layer.with_parameters{ name = 'SpatialFullConvolution', kernel = 'convolution', f = 'transposed', takes_target = true,
   init = function(self, nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH, adjW, adjH)
      convolution_fields(self, nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH or 0)
      self.adjW, self.adjH = adjW or 0, adjH or 0
      self.ones = torch.Tensor()
      if self.adjW > self.dW - 1 or self.adjH > self.dH - 1 then
         error('adjW and adjH must be smaller than self.dW - 1 and self.dH - 1 respectively', 3)
      end
   end,
   weight = function(self) return self.nInputPlane, self.nOutputPlane, self.kH, self.kW end,
   bias = output_planes, fan_in = fan_in,
   arguments = function(self, input)
      return self.dW, self.dH, self.padW, self.padH, adjustment(self, input)
   end,
   text = convolution_text(function(self)
      return (self.adjW ~= 0 or self.adjH ~= 0) and ', ' .. self.adjW .. ',' .. self.adjH or ''
   end) }

layer.with_parameters{ name = 'SpatialConvolutionLocal', f = 'local_convolution',
   init = function(self, nInputPlane, nOutputPlane, iW, iH, kW, kH, dW, dH, padW, padH)
      convolution_fields(self, nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH)
      self.iW, self.iH = iW, iH
      self.oW = math.floor((2 * self.padW + iW - kW) / self.dW) + 1
      self.oH = math.floor((2 * self.padH + iH - kH) / self.dH) + 1
      assert(self.oW >= 1 and self.oH >= 1, 'illegal configuration: output width or height less than 1')
   end,
   weight = function(self) return self.oH, self.oW, self.nOutputPlane, self.nInputPlane, self.kH, self.kW end,
   bias = function(self) return self.nOutputPlane, self.oH, self.oW end,
   fan_in = fan_in,
   arguments = convolution_values,
   text = function(self)
      local text = ('(%d -> %d, %dx%d, %dx%d'):format(self.nInputPlane, self.nOutputPlane, self.iW, self.iH, self.kW,
         self.kH)
      local padded = self.padW ~= 0 or self.padH ~= 0
      if self.dW ~= 1 or self.dH ~= 1 or padded then text = text .. (', %d,%d'):format(self.dW, self.dH) end
      if padded then text = text .. ', ' .. self.padW .. ',' .. self.padH end
      return text .. ')'
   end }

layer.with_parameters{ name = 'SpatialSubSampling', f = 'spatial_subsampling',
   init = function(self, nInputPlane, kW, kH, dW, dH)
      layer.fields(self, { 'nInputPlane', 'kW', 'kH', 'dW', 'dH' }, nInputPlane, kW, kH, dW or 1, dH or 1)
   end,
   weight = function(self) return self.nInputPlane end, bias = function(self) return self.nInputPlane end,
   fan_in = function(self) return self.kW * self.kH end,
   arguments = function(self) return self.kW, self.kH, self.dW, self.dH end }
