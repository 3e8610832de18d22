-- Upsampling of images and volumes: input (batch x) planes x (depth x) height x width.
require 'nn.upsampling.luajit.upsampling'
local layer = require 'nn.shared.layer'

local function check_scale(scale)
   if scale < 1 then error('scale_factor must be greater than 1', 4) end
   if math.floor(scale) ~= scale then error('scale_factor must be integer', 4) end
   return scale
end

-- The sizes of an output's last dimensions
local function image_sizes(self, input)
   local height, width = input:size(input:dim() - 1), input:size(input:dim())
   if self.scale_factor then return height * self.scale_factor, width * self.scale_factor end
   return self.oheight, self.owidth
end

local function size_storages(self, dims)
   self.inputSize, self.outputSize = torch.LongStorage(dims), torch.LongStorage(dims)
end

layer.plain{ name = 'SpatialUpSamplingNearest', f = 'upsample_nearest',
   arguments = function(self, input)
      if self.scale_factor == 1 then
         error("bad argument #4 to 'v' (scale_factor must be greater than 1, but got: 1)", 0)
      end
      return image_sizes(self, input)
   end,
   init = function(self, scale)
      self.scale_factor = check_scale(scale)
      size_storages(self, 4)
   end }

layer.plain{ name = 'SpatialUpSamplingBilinear', f = 'upsample_linear', arguments = image_sizes,
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
      if dims == 4 then return image_sizes(self, input) end
      if self.scale_factor then return input:size(3) * self.scale_factor, image_sizes(self, input) end
      return self.odepth or error('No output depth dimension was supplied for volumetric upsampling'),
         image_sizes(self, input)
   end,
   text = function(self)
      if self.scale_factor then return ('(%dx, %s)'):format(self.scale_factor, self.mode) end
      local sizes = ('%dx%d'):format(self.oheight, self.owidth)
      return ('(%s%s, %s)'):format(self.odepth and self.odepth .. 'x' or '', sizes, self.mode)
   end }

layer.plain{ name = 'PixelShuffle', any_type = true,
   init = function(self, factor) self.upscaleFactor, self.upscaleFactorSquared = factor, factor * factor end }
