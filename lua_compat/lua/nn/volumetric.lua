-- Volumes: input (batch x) planes x time x height x width.
local layer = require 'nn.layer'
local whole_numbers = require 'nn.whole_numbers'
local kernel = require('torch.kernels').of_tensors
local Module = torch.getmetatable('nn.Module')

-- The names of fields that come in threes
local KERNEL, STEP, PAD = { 'kT', 'kW', 'kH' }, { 'dT', 'dW', 'dH' }, { 'padT', 'padW', 'padH' }
local ADJUST, DILATION = { 'adjT', 'adjW', 'adjH' }, { 'dilationT', 'dilationW', 'dilationH' }

local function dilations(t, w, h) return t or 1, w or 1, h or 1 end

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

local function convolution_fields(self, nInputPlane, nOutputPlane, kT, kW, kH, dT, dW, dH, padT, padW, padH)
   self.nInputPlane, self.nOutputPlane = nInputPlane, nOutputPlane
   layer.fields(self, KERNEL, kT, kW, kH)
   layer.fields(self, STEP, dT or 1, dW or 1, dH or 1)
   padT = padT or 0
   padW = padW or padT
   layer.fields(self, PAD, padT, padW, padH or padW)
end
local function weight_sizes(self) return self.nOutputPlane, self.nInputPlane, self.kT, self.kH, self.kW end

layer.with_parameters{ name = 'VolumetricConvolution', kernel = 'convolution', f = 'plain', init = convolution_fields,
   weight = weight_sizes, bias = output_planes, fan_in = volume, text = function(self) return volume_text(self) end,
   arguments = function(self) return self.dT, self.dW, self.dH, triple(self, PAD) end }

local Dilated = layer.with_parameters{ name = 'VolumetricDilatedConvolution', parent = 'nn.VolumetricConvolution',
   kernel = 'convolution', f = 'plain', weight = weight_sizes, bias = output_planes, fan_in = volume,
   init = function(self, ...)
      convolution_fields(self, ...)
      layer.fields(self, DILATION, dilations(select(12, ...)))
   end,
   arguments = function(self)
      local dT, dW, dH = triple(self, STEP)
      local padT, padW, padH = triple(self, PAD)
      return dT, dW, dH, padT, padW, padH, triple(self, DILATION)
   end }
function Dilated:__tostring__()
   return ('%s%s, %d,%d,%d)%s'):format(torch.type(self), volume_text(self):sub(1, -2), self.dilationT, self.dilationW,
      self.dilationH, self.bias and '' or ' without bias')
end

-- The steps that a target's sizes leave over, for an input { volume, target }
local function adjustment(self, input)
   if torch.isTensor(input) then return triple(self, ADJUST) end
   local target, rest = input[2], {}
   for i, axis in ipairs{ 'T', 'H', 'W' } do
      rest[axis] = (target:size(target:dim() - 3 + i) + 2 * self['pad' .. axis] - self['k' .. axis]) % self['d' .. axis]
   end
   return rest.T, rest.W, rest.H
end

layer.with_parameters{ name = 'VolumetricFullConvolution', kernel = 'convolution', f = 'transposed', takes_target = true,
   init = function(self, nInputPlane, nOutputPlane, kT, kW, kH, dT, dW, dH, padT, padW, padH, adjT, adjW, adjH)
      self.nInputPlane, self.nOutputPlane = nInputPlane, nOutputPlane
      layer.fields(self, KERNEL, kT, kW, kH)
      layer.fields(self, STEP, dT or 1, dW or 1, dH or 1)
      layer.fields(self, PAD, padT or 0, padW or 0, padH or 0)
      layer.fields(self, ADJUST, adjT or 0, adjW or 0, adjH or 0)
      layer.fields(self, { 'ones', 'finput', 'fgradInput' }, torch.Tensor(), torch.Tensor(), torch.Tensor())
      if self.adjW > self.dW - 1 or self.adjH > self.dH - 1 or self.adjT > self.dT - 1 then
         error('adjW, adjH and adjT must be smaller than self.dW - 1, self.dH - 1 and self.dT - 1 respectively', 3)
      end
   end,
   weight = function(self) return self.nInputPlane, self.nOutputPlane, self.kT, self.kH, self.kW end,
   bias = output_planes, fan_in = volume, text = function(self) return volume_text(self) end,
   arguments = function(self, input)
      return self.dT, self.dW, self.dH, self.padT, self.padW, self.padH, adjustment(self, input)
   end }

-- Pooling

local function windows(self, kT, kW, kH, dT, dW, dH)
   layer.fields(self, KERNEL, kT, kW, kH)
   layer.fields(self, STEP, dT or kT, dW or kW, dH or kH)
end
local function pooling_text(self)
   local text = ('(%dx%dx%d, %d,%d,%d'):format(self.kT, self.kW, self.kH, triple(self, STEP))
   if self.padT and any(self, PAD, 0) then text = text .. (', %s,%s,%s'):format(triple(self, PAD)) end
   return text
end

local Average = layer.plain{ name = 'VolumetricAveragePooling', f = 'volumetric_average_pooling', init = windows,
   arguments = function(self)
      local kT, kW, kH = triple(self, KERNEL)
      return kT, kW, kH, triple(self, STEP)
   end,
   text = function(self) return pooling_text(self) .. ')' end }
function Average:empty() return self:clearState() end

local Max = torch.class('nn.VolumetricMaxPooling', 'nn.Module')
Max.__version = 2

function Max:__init(kT, kW, kH, dT, dW, dH, padT, padW, padH)
   Module.__init(self)
   windows(self, kT, kW, kH, dT, dW, dH)
   layer.fields(self, PAD, padT or 0, padW or 0, padH or 0)
   self.ceil_mode = false
   self.indices = torch.LongTensor()
end

function Max:ceil()
   self.ceil_mode = true
   return self
end
function Max:floor()
   self.ceil_mode = false
   return self
end

-- How output sizes are rounded; kernel, steps, paddings and dilations
local function geometry(self)
   local dilationT, dilationW, dilationH = dilations(triple(self, DILATION))
   return self.ceil_mode, self.kT, self.kW, self.kH, self.dT, self.dW, self.dH, self.padT, self.padW, self.padH,
      dilationT, dilationW, dilationH
end

function Max:updateOutput(input)
   local dims = input:dim()
   self.itime, self.iheight, self.iwidth = input:size(dims - 2), input:size(dims - 1), input:size(dims)
   self.indices = whole_numbers.beside(input, self.indices)
   kernel.volumetric_max_pooling(self.output, self.indices, input, geometry(self))
   return self.output
end

function Max:updateGradInput(input, gradOutput)
   kernel.volumetric_max_pooling_grad_input(self.gradInput, input, gradOutput, self.indices, geometry(self))
   return self.gradInput
end

function Max:empty() self:clearState() end

function Max:clearState()
   if self.indices then self.indices:set() end
   return Module.clearState(self)
end

-- Before version 2 there was no ceil_mode.
function Max:read(file, version)
   Module.read(self, file)
   if version < 2 then self.ceil_mode = false end
end

function Max:__tostring__() return torch.type(self) .. pooling_text(self) .. ')' end

local DilatedMax = torch.class('nn.VolumetricDilatedMaxPooling', 'nn.VolumetricMaxPooling')
function DilatedMax:__init(...)
   Max.__init(self, ...)
   layer.fields(self, DILATION, dilations(select(10, ...)))
end
function DilatedMax:__tostring__()
   return ('%s%s, %d,%d,%d)'):format(torch.type(self), pooling_text(self), triple(self, DILATION))
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
