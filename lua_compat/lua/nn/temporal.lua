-- Sequences, (batch x) frames x features, and volumes, (batch x) planes x time x height x width.
local layer = require 'nn.layer'

layer.with_parameters{ name = 'TemporalConvolution', f = 'temporal_convolution',
   init = function(self, inputFrameSize, outputFrameSize, kW, dW)
      layer.fields(self, { 'inputFrameSize', 'outputFrameSize', 'kW', 'dW' }, inputFrameSize, outputFrameSize, kW,
         dW or 1)
   end,
   weight = function(self) return self.outputFrameSize, self.inputFrameSize * self.kW end,
   bias = function(self) return self.outputFrameSize end,
   fan_in = function(self) return self.kW * self.inputFrameSize end,
   arguments = function(self) return self.kW, self.dW end }

layer.with_parameters{ name = 'TemporalSubSampling', f = 'temporal_subsampling',
   init = function(self, inputFrameSize, kW, dW)
      layer.fields(self, { 'inputFrameSize', 'kW', 'dW' }, inputFrameSize, kW, dW or 1)
   end,
   weight = function(self) return self.inputFrameSize end, bias = function(self) return self.inputFrameSize end,
   fan_in = function(self) return self.kW end,
   arguments = function(self) return self.kW, self.dW end }

layer.with_parameters{ name = 'TemporalRowConvolution', f = 'temporal_row_convolution',
   init = function(self, inputFrameSize, kW, dW, featFirst)
      layer.fields(self, { 'inputFrameSize', 'kW', 'dW', 'featFirst' }, inputFrameSize, kW, dW or 1,
         featFirst and true or false)
   end,
   weight = function(self) return self.inputFrameSize, 1, self.kW end,
   bias = function(self) return self.inputFrameSize end,
   fan_in = function(self) return self.kW * self.inputFrameSize end,
   arguments = function(self) return self.dW, self.featFirst end,
   text = function(self)
      return ('(%d, %d%s)'):format(self.inputFrameSize, self.kW, self.dW ~= 1 and ', ' .. self.dW or '')
         .. (self.bias and '' or ' without bias')
   end }

layer.plain{ name = 'TemporalMaxPooling', f = 'temporal_max_pooling',
   init = function(self, kW, dW) self.kW, self.dW = kW, dW or kW end,
   arguments = function(self) return self.kW, self.dW end }

-- Volumes
local KERNEL, STEP, PAD, ADJUST = { 'kT', 'kW', 'kH' }, { 'dT', 'dW', 'dH' }, { 'padT', 'padW', 'padH' },
   { 'adjT', 'adjW', 'adjH' }

local function triple(self, names) return self[names[1]], self[names[2]], self[names[3]] end
local function any(self, names, neutral)
   local a, b, c = triple(self, names)
   return a ~= neutral or b ~= neutral or c ~= neutral
end

local function volume_text(self)
   local text = ('(%d -> %d, %dx%dx%d'):format(self.nInputPlane, self.nOutputPlane, triple(self, KERNEL))
   if any(self, STEP, 1) or any(self, PAD, 0) then text = text .. (', %d,%d,%d'):format(triple(self, STEP)) end
   if any(self, PAD, 0) then text = text .. (', %s,%s,%s'):format(triple(self, PAD)) end
   if self.adjT and any(self, ADJUST, 0) then text = text .. (', %s,%s,%s'):format(triple(self, ADJUST)) end
   return text .. ')'
end
local function volume(self) return self.kT * self.kW * self.kH * self.nInputPlane end
local function output_planes(self) return self.nOutputPlane end

layer.with_parameters{ name = 'VolumetricConvolution', f = 'volumetric_convolution',
   init = function(self, nInputPlane, nOutputPlane, kT, kW, kH, dT, dW, dH, padT, padW, padH)
      self.nInputPlane, self.nOutputPlane = nInputPlane, nOutputPlane
      layer.fields(self, KERNEL, kT, kW, kH)
      layer.fields(self, STEP, dT or 1, dW or 1, dH or 1)
      padT = padT or 0
      padW = padW or padT
      layer.fields(self, PAD, padT, padW, padH or padW)
   end,
   weight = function(self) return self.nOutputPlane, self.nInputPlane, self.kT, self.kH, self.kW end,
   bias = output_planes, fan_in = volume, text = volume_text,
   arguments = function(self) return self.dT, self.dW, self.dH, triple(self, PAD) end }

layer.with_parameters{ name = 'VolumetricFullConvolution', f = 'volumetric_full_convolution',
   init = function(self, nInputPlane, nOutputPlane, kT, kW, kH, dT, dW, dH, padT, padW, padH, adjT, adjW, adjH)
      self.nInputPlane, self.nOutputPlane = nInputPlane, nOutputPlane
      layer.fields(self, KERNEL, kT, kW, kH)
      layer.fields(self, STEP, dT or 1, dW or 1, dH or 1)
      layer.fields(self, PAD, padT or 0, padW or 0, padH or 0)
      layer.fields(self, ADJUST, adjT or 0, adjW or 0, adjH or 0)
      if self.adjW > self.dW - 1 or self.adjH > self.dH - 1 or self.adjT > self.dT - 1 then
         error('adjW, adjH and adjT must be smaller than self.dW - 1, self.dH - 1 and self.dT - 1 respectively', 3)
      end
   end,
   weight = function(self) return self.nInputPlane, self.nOutputPlane, self.kT, self.kH, self.kW end,
   bias = output_planes, fan_in = volume, text = volume_text,
   arguments = function(self)
      return self.dT, self.dW, self.dH, self.padT, self.padW, self.padH, triple(self, ADJUST)
   end }

local function pooling_fields(self, kT, kW, kH, dT, dW, dH, padT, padW, padH)
   layer.fields(self, KERNEL, kT, kW, kH)
   layer.fields(self, STEP, dT or kT, dW or kW, dH or kH)
   layer.fields(self, PAD, padT or 0, padW or 0, padH or 0)
   self.ceil_mode = false
end
local function pooling_values(self)
   return self.kT, self.kW, self.kH, self.dT, self.dW, self.dH, self.padT, self.padW, self.padH, self.ceil_mode
end
local function pooling_text(self)
   local text = ('(%dx%dx%d, %d,%d,%d'):format(self.kT, self.kW, self.kH, triple(self, STEP))
   if any(self, PAD, 0) then text = text .. (', %s,%s,%s'):format(triple(self, PAD)) end
   return text .. ')'
end
for name, f in pairs{ VolumetricMaxPooling = 'volumetric_max_pooling',
   VolumetricAveragePooling = 'volumetric_average_pooling' } do
   local class = layer.plain{ name = name, f = f, init = pooling_fields, arguments = pooling_values,
      text = pooling_text }
   class.__version = name == 'VolumetricMaxPooling' and 2 or 1
   function class:ceil()
      self.ceil_mode = true
      return self
   end
   function class:floor()
      self.ceil_mode = false
      return self
   end
end

layer.plain{ name = 'VolumetricReplicationPadding', f = 'replication_padding',
   init = function(self, left, right, top, bottom, front, back)
      layer.fields(self, { 'pleft', 'pright', 'ptop', 'pbottom', 'pfront', 'pback' }, left, right or left, top or left,
         bottom or left, front or left, back or left)
   end,
   arguments = function(self) return self.pleft, self.pright, self.ptop, self.pbottom, self.pfront, self.pback end,
   text = function(self)
      return ('(left=%d, right=%d, top=%d, bottom=%d, front=%d, back=%d)'):format(self.pleft, self.pright, self.ptop,
         self.pbottom, self.pfront, self.pback)
   end }
