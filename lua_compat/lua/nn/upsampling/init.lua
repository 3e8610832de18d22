-- Upsampling of images and volumes: input (batch x) planes x (depth x) height x width.
local layer = require 'nn.shared.layer'
local declared = require 'nn.shared.declared'
declared.ways('upsampling', { 'upsampling', 'pixel_shuffle' })
local whole = require('torch.core.arguments').whole

local function check_scale(scale)
   if scale < 1 then error('scale_factor must be greater than 1', 4) end
   if math.floor(scale) ~= scale then error('scale_factor must be integer', 4) end
   return scale
end

local factor = declared.reader('SpatialUpSamplingNearest', 'scale_factor')
local factor_or_sizes = declared.reader('SpatialUpSamplingBilinear', 'scale_factor oheight owidth')
local depth = declared.reader('UpSampling', 'odepth')

-- The sizes of the output's last dimensions, where elements are repeated; of volumes (axes: 3) with the depth
local function repeated_sizes(self, input, axes)
   local scale, dims = factor(self), input:dim()
   local height, width = input:size(dims - 1) * scale, input:size(dims) * scale
   if axes == 3 then return input:size(dims - 2) * scale, height, width end
   return height, width
end

local function positive(size)
   size = whole(size)
   if size > 0 then return size end
   declared.refuse(2, 'input and output sizes should be greater than 0, but got %d', size)
end

-- The same, where elements are interpolated: by a factor, or to the sizes in the fields
local function interpolated_sizes(self, input, axes)
   local scale, height, width = factor_or_sizes(self)
   local dims = input:dim()
   if scale then height, width = input:size(dims - 1) * scale, input:size(dims) * scale end
   if axes ~= 3 then return positive(height), positive(width) end
   local deep = scale and input:size(dims - 2) * scale or depth(self)
   if not deep then error('No output depth dimension was supplied for volumetric upsampling') end
   return positive(deep), positive(height), positive(width)
end

-- A layer's `arguments`, which checks the dimensions first.
local function of_images(name, verb, arguments)
   return function(self, input)
      local dims = input:dim()
      if dims ~= 3 and dims ~= 4 then error(('%s only %s 3D or 4D tensors'):format(name, verb), 0) end
      return arguments(self, input)
   end
end

local function size_storages(self, dims)
   self.inputSize, self.outputSize = torch.LongStorage(dims), torch.LongStorage(dims)
end

layer.plain{ name = 'SpatialUpSamplingNearest', f = 'upsample_nearest',
   arguments = of_images('SpatialUpSamplingNearest', 'support', repeated_sizes),
   init = function(self, scale)
      self.scale_factor = check_scale(scale)
      size_storages(self, 4)
   end }

layer.plain{ name = 'SpatialUpSamplingBilinear', f = 'upsample_linear',
   arguments = of_images('SpatialUpSamplingBilinear', 'supports', interpolated_sizes),
   init = function(self, parameters)
      if torch.type(parameters) == 'table' then
         self.owidth, self.oheight = parameters.owidth, parameters.oheight
      else
         self.scale_factor = check_scale(parameters)
      end
      size_storages(self, 4)
   end,
   text = function(self)
      if self.scale_factor then return ('(%d)'):format(self.scale_factor) end
      return ('(%d, %d)'):format(self.oheight, self.owidth)
   end }

-- A factor or, for 'linear', the sizes themselves
local linear_modes = { linear = true, bilinear = true, trilinear = true }

layer.plain{ name = 'UpSampling', f = function(self) return 'upsample_' .. self.mode end,
   init = function(self, parameters, mode)
      self.mode = linear_modes[mode] and 'linear' or 'nearest'
      if torch.type(parameters) == 'table' then
         if self.mode == 'nearest' then error('Nearest neighbour upsampling requires a scale_factor', 3) end
         self.odepth, self.owidth, self.oheight = parameters.odepth, parameters.owidth, parameters.oheight
         if not (self.owidth and self.oheight) then error('Output height and width parameters are required', 3) end
      else
         self.scale_factor = check_scale(parameters)
      end
      size_storages(self, 5)
      self.inputSize:fill(0)
      self.outputSize:fill(0)
   end,
   arguments = function(self, input)
      local dims = input:dim()
      if dims < 4 or dims > 5 then error('UpSampling only supports 4D or 5D tensors') end
      return (self.mode == 'nearest' and repeated_sizes or interpolated_sizes)(self, input, dims - 2)
   end,
   text = function(self)
      if self.scale_factor then return ('(%dx, %s)'):format(self.scale_factor, self.mode) end
      local sizes = ('%dx%d'):format(self.oheight, self.owidth)
      return ('(%s%s, %s)'):format(self.odepth and self.odepth .. 'x' or '', sizes, self.mode)
   end }

local shuffled_by = declared.reader 'PixelShuffle'
layer.plain{ name = 'PixelShuffle', any_type = true,
   init = function(self, factor) self.upscaleFactor, self.upscaleFactorSquared = factor, factor * factor end,
   arguments = function(self, input)
      local factor, square = shuffled_by(self), self.upscaleFactorSquared
      if square ~= factor * factor or factor % 1 ~= 0 then
         local planes = input:size(input:dim() - 2)
         if math.floor(planes / square) * math.floor(factor) ^ 2 ~= planes then
            error(('%d planes are not a whole number of groups of %s'):format(planes, square), 0)
         end
      end
      return factor
   end }
