-- Loads and saves PNG and JPEG (by Pillow), PPM and PGM.
local ffi = require 'ffi'
local arguments = require 'image.arguments'
local kernel = require('torch.core.kernels').of_tensors
local shared = require 'th.python'
local python = shared.functions

local constructors = { byte = 'torch.ByteTensor', float = 'torch.FloatTensor', double = 'torch.DoubleTensor' }

local function new_tensor(kind)
   if kind == nil then return torch.Tensor() end
   local name = constructors[kind]
   if not name then dok.error(('type must be byte, float or double, not %s'):format(tostring(kind)), 'image.load') end
   return torch.factory(name)():resize(0)
end

-- Converts to one channel or three.
local function with_depth(img, depth)
   local channels = img:size(1)
   if depth == 1 then
      if channels == 3 or channels == 4 then return image.rgb2y(img)[1] end
      return channels == 2 and img:narrow(1, 1, 1) or img
   elseif depth == 3 then
      if channels == 4 then return img:narrow(1, 1, 3) end
      if channels == 1 then return img:expand(3, img:size(2), img:size(3)):clone() end
      if channels == 2 then dok.error('image loaded has wrong #channels', 'image.load') end
   end
   return img
end

-- Until PyTorch is loaded, images are read without it.
local without_pytorch = { image_read_file = 'image_pixels_of_file', image_read_ppm = 'image_pixels_of_ppm' }

local function read_pixels(name, img, filename)
   local is_bytes = img:type() == 'torch.ByteTensor'
   local largest, channels, height, width, text = python[name](filename, is_bytes)
   local planes = (#text > channels * height * width and torch.IntTensor or torch.ByteTensor)(channels, height, width)
   ffi.copy(planes:data(), text, #text)
   img:resize(channels, height, width):copy(planes)
   return largest
end

-- What a kernel has read, as values from 0 to 1, or as bytes if these are wanted.
local function read(kernel_name, source, depth, kind)
   local img, name = new_tensor(kind), not shared.pytorch and without_pytorch[kernel_name]
   local largest = name and read_pixels(name, img, source) or kernel[kernel_name](img, source)
   if kind ~= 'byte' and img:type() ~= 'torch.ByteTensor' then img:mul(1 / largest) end
   return with_depth(img, depth)
end

local function check_bytes(tensor, name)
   if torch.typename(tensor) ~= 'torch.ByteTensor' then dok.error('Input tensor must be a byte tensor', name) end
   return tensor
end

local function as_bytes(tensor)
   if tensor:type() == 'torch.ByteTensor' then return tensor end
   return torch.Tensor():resize(tensor:size()):copy(tensor):clamp(0, 1):mul(255):byte()
end

local QUALITY = 75

for suffix, kind in pairs{ PNG = 'PNG', JPG = 'JPEG' } do
   image['load' .. suffix] = function(filename, depth, tensortype)
      return read('image_read_file', filename, depth, tensortype)
   end
   image['save' .. suffix] = function(filename, tensor)
      kernel.image_write_file(filename, as_bytes(tensor), kind, QUALITY)
   end
   -- Conversion from and to the bytes of a file.
   image['decompress' .. suffix] = function(tensor, depth, tensortype)
      return read('image_decompress', check_bytes(tensor, 'image.decompress' .. suffix), depth, tensortype)
   end
   image['compress' .. suffix] = function(tensor, quality)
      local data = torch.ByteTensor()
      kernel.image_compress(data, as_bytes(tensor), kind, quality or QUALITY)
      return data
   end
end

function image.loadPPM(filename, depth, tensortype) return read('image_read_ppm', filename, depth, tensortype) end

function image.savePPM(filename, tensor)
   if tensor:dim() ~= 3 or tensor:size(1) ~= 3 then dok.error('can only save 3xHxW images as PPM', 'image.savePPM') end
   kernel.image_write_ppm(filename, as_bytes(tensor))
end

function image.savePGM(filename, tensor)
   if tensor:dim() == 3 and tensor:size(1) ~= 1 then
      dok.error('can only save 1xHxW or HxW images as PGM', 'image.savePGM')
   end
   kernel.image_write_ppm(filename, as_bytes(tensor))
end

function image.getPNGsize(filename) return python.image_file_size(filename) end
image.getJPGsize, image.getPPMsize = image.getPNGsize, image.getPNGsize

local png = { loader = image.loadPNG, saver = image.savePNG, sizer = image.getPNGsize }
local jpg = { loader = image.loadJPG, saver = image.saveJPG, sizer = image.getJPGsize }
local ppm = { loader = image.loadPPM, saver = image.savePPM, sizer = image.getPPMsize }
local pgm = { loader = image.loadPPM, saver = image.savePGM, sizer = image.getPPMsize }
image.supported_filetypes = { png = png, PNG = png, jpg = jpg, JPG = jpg, jpeg = jpg, JPEG = jpg, ppm = ppm, PPM = ppm,
   pgm = pgm, PGM = pgm }

function image.is_supported(suffix) return image.supported_filetypes[suffix] ~= nil end

-- The file's type, from its first bytes or its suffix.
local function filetype(filename, name)
   local file = assert(io.open(filename, 'rb'))
   local start = file:read(4) or ''
   file:close()
   if start:sub(1, 3) == '\255\216\255' then return jpg end
   if start == '\137PNG' then return png end
   if start:find('^P[25]') then return pgm end
   if start:find('^P[36]') then return ppm end
   local suffix = filename:match('%.(%a+)$')
   if not suffix then dok.error('unable to determine image type for file: ' .. filename, name) end
   return image.supported_filetypes[suffix] or dok.error('unknown image type: ' .. suffix, name)
end

-- filename [, depth 1 | 3 [, tensor type 'byte' | 'float' | 'double']]
function image.load(filename, depth, tensortype)
   if type(filename) ~= 'string' then arguments.wrong('image.load', 'filename [, depth [, tensor type]]') end
   return filetype(filename, 'image.load').loader(filename, depth, tensortype)
end

-- Channels, height and width in a LongTensor.
function image.getSize(filename)
   if type(filename) ~= 'string' then arguments.wrong('image.getSize', 'filename') end
   return torch.LongTensor{ filetype(filename, 'image.getSize').sizer(filename) }
end

function image.save(filename, tensor)
   if type(filename) ~= 'string' or not torch.isTensor(tensor) then
      arguments.wrong('image.save', 'filename, tensor')
   end
   local suffix = filename:match('%.(%a+)$')
   local kind = image.supported_filetypes[suffix]
   if not kind then dok.error('unknown image type: ' .. tostring(suffix), 'image.save') end
   kind.saver(filename, tensor)
end

-- Decodes the bytes of a PNG or JPEG file.
function image.decompress(tensor, depth, tensortype)
   check_bytes(tensor, 'image.decompress')
   local function starts_with(...)
      for i, byte in ipairs{ ... } do
         if tensor[i] ~= byte then return false end
      end
      return true
   end
   if tensor:nElement() >= 4 then
      if starts_with(0xff, 0xd8, 0xff) then return image.decompressJPG(tensor, depth, tensortype) end
      if starts_with(0x89, 0x50, 0x4e, 0x47) then return image.decompressPNG(tensor, depth, tensortype) end
   end
   dok.error('Input must be either jpg or png format', 'image.decompress')
end
