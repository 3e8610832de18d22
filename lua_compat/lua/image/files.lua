-- Loads and saves PNG and JPEG (by Pillow), PPM and PGM.
local ffi = require 'ffi'
local arguments = require 'image.arguments'
local memory = require 'torch.core.memory'
local templates = require 'torch.core.templates'
local types = require 'torch.core.types'
local python = require('th.python').functions

local kinds = { byte = types.Byte, float = types.Float, double = types.Double }

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

-- One channel of the pixels at q: a function for each type of element.
local SPREAD = [[
   return function(p, q, n, step, factor)
      for i = 0, n - 1 do p[i] = q[i * step] * factor end
   end
]]
local spread_of = templates.for_each({ types.Byte.code, types.Float.code, types.Double.code }, function()
   return templates.compile('image.files', SPREAD, {})
end)

local BYTES, WORDS = ffi.typeof 'const uint8_t *', ffi.typeof 'const uint16_t *'

-- A picture that Python has read, as values from 0 to 1, or as bytes (the high ones of 16 bits) if these are wanted.
local function read(reader, source, depth, kind)
   local default = torch.Tensor()
   local T = kind and kinds[kind] or default:type() == 'torch.DoubleTensor' and types.Double or types.Float
   if kind and not kinds[kind] then
      dok.error(('type must be byte, float or double, not %s'):format(tostring(kind)), 'image.load')
   end
   local channels, height, width, text, largest = python[reader](source)
   local img = torch.factory(T.tensor)():resize(channels, height, width)
   local q, step, factor = ffi.cast(largest > 255 and WORDS or BYTES, text), channels, T.cast(1 / largest)
   if T == types.Byte then
      factor = 1
      if largest > 255 then q, step = ffi.cast(BYTES, text) + 1, 2 * channels end
   end
   local p, pixels = memory.first_element(memory.records[img]), height * width
   for channel = 0, channels - 1 do
      spread_of(T.code)(p + channel * pixels, q + step / channels * channel, pixels, step, factor)
   end
   return with_depth(kind and img or img:typeAs(default), depth)
end

local function check_bytes(tensor, name)
   if torch.typename(tensor) ~= 'torch.ByteTensor' then dok.error('Input tensor must be a byte tensor', name) end
   return tensor
end

-- The elements of a contiguous ByteTensor as a string.
local function text_of(record)
   local n = memory.count(record)
   return n > 0 and ffi.string(memory.first_element(record), n) or ''
end

local function as_bytes(tensor)
   if tensor:type() == 'torch.ByteTensor' then return tensor end
   return torch.Tensor():resize(tensor:size()):copy(tensor):clamp(0, 1):mul(255):byte()
end

local GATHER = [[
   return function(p, q, n, step)
      for i = 0, n - 1 do p[i * step] = q[i] end
   end
]]
local gather = templates.compile('image.files', GATHER, {})

-- The bytes of 1, 3 or 4 channels, those of a pixel together, then the number of channels, height and width.
local function pixels_of(tensor, kind, accepted)
   local dims, bytes = tensor:dim(), as_bytes(tensor):contiguous()
   local channels = dims == 3 and tensor:size(1) or dims == 2 and 1
   if not accepted[channels] then
      local sizes = table.concat(tensor:size():totable(), ' x ')
      error(('image: a %s has %s channels, not a tensor of sizes %s'):format(kind, accepted.text, sizes), 0)
   end
   local height, width = tensor:size(dims - 1), tensor:size(dims)
   if channels == 1 then return text_of(memory.records[bytes]), 1, height, width end
   local q, n = memory.first_element(memory.records[bytes]), height * width
   local together = ffi.new('uint8_t[?]', channels * n)
   for channel = 0, channels - 1 do gather(together + channel, q + channel * n, n, channels) end
   return ffi.string(together, channels * n), channels, height, width
end

local QUALITY = 75
local CHANNELS = { PNG = { true, false, true, true, text = '1, 3 or 4' },
   JPEG = { true, false, true, text = '1 or 3' } }

-- The bytes of the pixels, their sizes, the kind of file and its quality.
local function encoded(kind, tensor, quality)
   local pixels, channels, height, width = pixels_of(tensor, kind, CHANNELS[kind])
   return pixels, channels, height, width, kind, quality or QUALITY
end

for suffix, kind in pairs{ PNG = 'PNG', JPG = 'JPEG' } do
   image['load' .. suffix] = function(filename, depth, tensortype)
      return read('image_read_file', filename, depth, tensortype)
   end
   image['save' .. suffix] = function(filename, tensor) python.image_write_file(filename, encoded(kind, tensor)) end
   -- Conversion from and to the bytes of a file.
   image['decompress' .. suffix] = function(tensor, depth, tensortype)
      check_bytes(tensor, 'image.decompress' .. suffix)
      return read('image_decompress', text_of(memory.records[tensor:contiguous()]), depth, tensortype)
   end
   image['compress' .. suffix] = function(tensor, quality)
      local text = python.image_compress(encoded(kind, tensor, quality))
      local data = torch.ByteTensor(#text)
      ffi.copy(memory.first_element(memory.records[data]), text, #text)
      return data
   end
end

function image.loadPPM(filename, depth, tensortype) return read('image_read_ppm', filename, depth, tensortype) end

local COLORS, GREY = { false, false, true, text = '3' }, { true, text = '1' }

function image.savePPM(filename, tensor)
   if tensor:dim() ~= 3 or tensor:size(1) ~= 3 then dok.error('can only save 3xHxW images as PPM', 'image.savePPM') end
   python.image_write_ppm(filename, pixels_of(tensor, 'PPM', COLORS))
end

function image.savePGM(filename, tensor)
   if tensor:dim() == 3 and tensor:size(1) ~= 1 then
      dok.error('can only save 1xHxW or HxW images as PGM', 'image.savePGM')
   end
   python.image_write_ppm(filename, pixels_of(tensor, 'PGM', GREY))
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
