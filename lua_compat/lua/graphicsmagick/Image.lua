-- An image: pixels are height x width x 4 (red, green, blue, alpha; in CMYK cyan, magenta, yellow, black), whole
-- numbers from 0 to 65535. Methods change the image and return it; without arguments, size, depth etc. return its
-- properties.
require 'torch'
local ffi = require 'ffi'
local mirror = require 'image.luajit.mirroring'
local kernel = require('torch.core.kernels').of_tensors
local records = require('torch.core.memory').records

local NAME = 'magick.Image'
local MOST = 65535
local QUALITY = { file = 85, memory = 75 }

local Image = { name = NAME, path = '<>' }

local function fail(said) error(NAME .. ': ' .. said, 3) end

-- Runs a kernel that computes new pixels from the image's.
local function change(self, name, ...)
   local made = torch.DoubleTensor()
   kernel[name](made, self.pixels, ...)
   self.pixels = made
   return self
end

function Image.new(source, ...)
   local image = {}
   for name, value in pairs(Image) do image[name] = value end
   image.state = { space = 'RGB', bits = 16, gamma = 0, format = 'XC', matte = false, profiles = {}, factors = {},
      background = { 1, 1, 1 } }
   if type(source) == 'string' then return image:load(source, ...) end
   if torch.isTensor(source) then return image:fromTensor(source, ...) end
   return image
end
setmetatable(Image, { __call = function(_, ...) return Image.new(...) end })

function Image:clone()
   local copy = Image()
   for name in pairs(Image) do copy[name] = self[name] end
   copy.pixels = self.pixels and self.pixels:clone()
   for name, value in pairs(self.state) do copy.state[name] = value end
   copy.state.profiles, copy.state.factors = {}, { unpack(self.state.factors) }
   for name, value in pairs(self.state.profiles) do copy.state.profiles[name] = value end
   return copy
end

local function pixels_of(self)
   return self.pixels or fail 'has no picture yet: load one, or give a tensor'
end

-- Files

local function read(self, source, is_path, width, height)
   local pixels, state = torch.DoubleTensor(), self.state
   local said, rest = kernel.magick_read(pixels, source, is_path, width or 0, height or 0):match '^([^\n]*)\n(.*)$'
   local words = {}
   for word in said:gmatch '%S+' do words[#words + 1] = tonumber(word) or word end
   local function profile(length)
      local text = rest:sub(1, length)
      rest = rest:sub(length + 1)
      return length > 0 and text or nil
   end
   state.format, state.matte, state.palette = words[1], words[2] == 1, words[3] == 1
   state.space = words[4] == 1 and 'CMYK' or 'RGB'
   state.bits, state.gamma = words[5], words[6]
   state.profiles = { icc = profile(words[7]), exif = profile(words[8]), iptc = profile(words[9]) }
   self.pixels = pixels
   return self
end

-- width, height: the size needed, which makes loading large JPEGs faster.
function Image:load(path, width, height)
   if type(path) ~= 'string' then fail 'load(path [, width [, height]]) expects a path' end
   read(self, path, true, width, height)
   self.path = path
   return self
end

local function encode(self, format, quality)
   local state = self.state
   local pixels = pixels_of(self)
   local cmyk = state.space == 'CMYK'
   if cmyk and not format:upper():find('^JPE?G$') then
      local made = torch.DoubleTensor()
      kernel.magick_space(made, pixels, 'CMYK', 'RGB')
      pixels, cmyk = made, false
   end
   local kind = self:type()
   local factors = state.factors
   return kernel.magick_encode(pixels, format, quality, state.bits, kind:find('^Gray') ~= nil or kind == 'Bilevel',
      state.matte and not cmyk, cmyk, state.gamma, factors[1] or 0, factors[2] or factors[1] or 0,
      state.interlace == 'Line' or state.interlace == 'Plane', state.profiles.icc or '', state.profiles.exif or '')
end

function Image:save(path, quality)
   local format = path:match('%.([%w]+)$') or self.state.format
   if format == 'XC' then fail(path .. ' names no format: give a suffix such as .png') end
   local data = encode(self, format, quality or self.state.quality or QUALITY.file)
   local file, problem = io.open(path, 'wb')
   if not file then fail('error saving image: ' .. problem) end
   file:write(data)
   file:close()
   return self
end

function Image:toString(quality)
   if self.state.format == 'XC' then
      fail 'toString, toBlob: no format: call format(FORMAT) before, such as JPEG or PNG'
   end
   self.state.quality = quality or self.state.quality
   return encode(self, self.state.format, self.state.quality or QUALITY.memory)
end

function Image:toBlob(quality)
   local text = self:toString(quality)
   local blob = ffi.new('unsigned char[?]', #text)
   ffi.copy(blob, text, #text)
   return blob, #text
end

function Image:fromString(text)
   if type(text) ~= 'string' then fail 'fromString expects a string' end
   read(self, text, false)
   self.path = '<blob>'
   return self
end

function Image:fromBlob(blob, size)
   if not size then fail 'fromBlob(blob, size) expects a size' end
   return self:fromString(type(blob) == 'string' and blob:sub(1, size) or ffi.string(blob, size))
end

-- Tensors

local PLANES = { R = 1, G = 2, B = 3, A = 4, C = 1, M = 2, Y = 3, K = 4 }
local SPACES = { HSL = true, HWB = true, LAB = true, YUV = true }
local TYPES = { byte = 'torch.ByteTensor', float = 'torch.FloatTensor', double = 'torch.DoubleTensor' }

local function planes_of(self, letters)
   local inks = self.state.space == 'CMYK'
   local planes = {}
   for letter in letters:gmatch '.' do
      local plane = PLANES[letter]
      if not plane and letter ~= 'I' then
         fail(('no color %s: there are R, G, B, A, C, M, Y, K and I'):format(letter))
      end
      if letter:find '[CMYK]' and not inks then
         fail(('%s is of CMYK, and the picture is %s'):format(letter, self.state.space))
      end
      planes[#planes + 1] = plane or 'I'
   end
   return planes
end

-- Brightness according to ITU-R BT.601.
local function brightness(pixels)
   local sum = pixels:select(3, 1) * 306
   return sum:add(601, pixels:select(3, 2)):add(117, pixels:select(3, 3)):div(1024):floor()
end

function Image:toTensor(kind, space, dims)
   space = space or 'RGB'
   if SPACES[space] then
      self:colorspace(space)
      space = 'RGB'
   end
   kind = kind or 'byte'
   if not TYPES[kind] then fail('unknown data type ' .. tostring(kind) .. ': byte, float or double') end
   local pixels = pixels_of(self)
   local planes = planes_of(self, space)
   local values = torch.DoubleTensor(#planes, pixels:size(1), pixels:size(2))
   for place, plane in ipairs(planes) do
      if plane == 'I' then
         values[place]:copy(brightness(pixels))
      elseif plane == 4 and not self.state.matte and self.state.space ~= 'CMYK' then
         values[place]:fill(MOST)
      else
         values[place]:copy(pixels:select(3, plane))
      end
   end
   if kind == 'byte' then
      values:div(257):floor()
   else
      values:div(MOST)
   end
   if dims ~= 'DHW' then values = values:permute(2, 3, 1):contiguous() end
   return values:type(TYPES[kind])
end

local DEFAULT = { 'I', nil, 'RGB', 'RGBA' }

function Image:fromTensor(tensor, space, dims)
   if not torch.isTensor(tensor) or tensor:dim() ~= 3 then fail 'fromTensor expects a tensor of three dimensions' end
   local planes_first = (dims == 'DHW' and tensor or tensor:permute(3, 1, 2)):contiguous()
   local depth, height, width = unpack(planes_first:size():totable())
   space = space or DEFAULT[depth] or fail(('give a color space: there is no usual one of %d planes'):format(depth))
   assert(#space == depth, NAME .. '.fromTensor: Tensor depth must match color space')
   local kind = tensor:type()
   if kind ~= TYPES.byte and kind ~= TYPES.float and kind ~= TYPES.double then
      fail 'only dealing with float, double and byte'
   end
   local values = planes_first:double()
   values = kind == TYPES.byte and values:mul(257) or values:mul(MOST):add(0.5):floor():clamp(0, MOST)
   local pixels = torch.DoubleTensor(height, width, 4):zero()
   pixels:select(3, 4):fill(MOST)
   self.state.space = space:find '[CMYK]' and 'CMYK' or 'RGB'
   if self.state.space == 'CMYK' then pixels:zero() end
   for place, plane in ipairs(planes_of(self, space)) do
      if plane == 'I' then
         for color = 1, 3 do pixels:select(3, color):copy(values[place]) end
      else
         pixels:select(3, plane):copy(values[place])
      end
   end
   self.pixels, self.path = pixels, '<tensor>'
   self.state.matte = space:find 'A' ~= nil
   self.state.format, self.state.bits, self.state.palette = 'XC', 16, nil
   return self
end

-- Properties

function Image:depth(bits)
   if not bits then return self.state.bits end
   self.state.bits = bits
   return self
end

function Image:format(name)
   if not name then return self.state.format end
   self.state.format = name:upper() == 'JPG' and 'JPEG' or name:upper()
   return self
end

function Image:gamma(value)
   if not value then return self.state.gamma end
   self.state.gamma = value
   return self
end

local INTERLACED = { Undefined = true, No = true, Line = true, Plane = true, Partition = true }

function Image:interlace(scheme)
   scheme = scheme or 'Undefined'
   if not INTERLACED[scheme] then
      fail(('no interlacing %s: Undefined, No, Line, Plane or Partition'):format(scheme))
   end
   self.state.interlace = scheme
   return self
end

function Image:samplingFactors(factors)
   if not factors then return { unpack(self.state.factors) } end
   self.state.factors = { unpack(factors) }
   return self
end

local SPACE_NAMES = { [0] = 'Undefined', 'RGB', 'GRAY', 'Transparent', 'OHTA', 'XYZ', 'YCC', 'YIQ', 'YPbPr', 'YUV',
   'CMYK', 'sRGB',
   'HSL', 'HWB', 'LAB', 'CineonLogRGB', 'Rec601Luma', 'Rec601YCbCr', 'Rec709Luma', 'Rec709YCbCr' }

function Image:colorspaces() return SPACE_NAMES end

function Image:colorspace(space)
   if not space then return self.state.space end
   pixels_of(self)
   change(self, 'magick_space', self.state.space, space)
   self.state.space = space
   return self
end

local function is_grey(pixels)
   local red = pixels:select(3, 1)
   return red:equal(pixels:select(3, 2)) and red:equal(pixels:select(3, 3))
end

local KINDS = { Bilevel = true, Grayscale = true, GrayscaleMatte = true, TrueColor = true, TrueColorMatte = true,
   ColorSeparation = true, Palette = true }

function Image:type(kind)
   local pixels, state = pixels_of(self), self.state
   if not kind then
      if state.space == 'CMYK' then return 'ColorSeparation' .. (state.matte and 'Matte' or '') end
      local matte = state.matte and pixels:select(3, 4):min() < MOST
      if is_grey(pixels) then
         local red = pixels:select(3, 1)
         local two = torch.eq(red, 0):sum() + torch.eq(red, MOST):sum() == red:nElement()
         return matte and 'GrayscaleMatte' or two and 'Bilevel' or 'Grayscale'
      end
      if state.palette then return matte and 'PaletteMatte' or 'Palette' end
      return matte and 'TrueColorMatte' or 'TrueColor'
   end
   if not KINDS[kind] then fail(('no type %s that a picture can be made'):format(tostring(kind))) end
   if kind == 'ColorSeparation' then return self:colorspace 'CMYK' end
   if state.space == 'CMYK' then self:colorspace 'RGB' end
   if kind == 'Bilevel' or kind:find '^Gray' then
      change(self, 'magick_space', 'RGB', 'GRAY')
      local colors = self.pixels:narrow(3, 1, 3)
      if kind == 'Bilevel' then colors:copy(torch.gt(colors, MOST / 2)):mul(MOST) end
   end
   state.palette = kind == 'Palette' or nil
   state.matte = kind:find 'Matte' ~= nil
   return self
end

-- Profiles (colour, EXIF, IPTC) as strings; icm is another name for icc.
function Image:profile(name, profile)
   local key = name == 'icm' and 'icc' or name
   local profiles = self.state.profiles
   if not profile then return profiles[key] end
   if key == 'icc' and profiles.icc then change(self, 'magick_profile_change', profiles.icc, profile) end
   profiles[key] = profile
   return self
end

function Image:removeProfile(name)
   if not name or name == '*' then
      self.state.profiles = {}
   else
      self.state.profiles[name == 'icm' and 'icc' or name] = nil
   end
   return self
end

function Image:info()
   local width, height = self:size()
   local text = 'Image: %s\n  Format: %s\n  Geometry: %dx%d\n  Type: %s\n  Depth: %d bits\n  Colorspace: %s\n'
   return text:format(self.path,
      self.state.format, width, height, self:type(), self.state.bits, self.state.space)
end

-- Geometry

-- size(box): the longer side; size(nil, box): the shorter side; size(width, height)
function Image:size(width, height, filter, blur)
   local pixels = pixels_of(self)
   local rows, columns = pixels:size(1), pixels:size(2)
   if not width and not height then return columns, rows end
   if not (width and height) then
      local box = width or height
      local by_width = columns > rows
      if not width then by_width = columns < rows end
      if by_width then
         width, height = box, box * rows / columns
      else
         width, height = box * columns / rows, box
      end
   end
   return change(self, 'magick_resize', math.floor(width), math.floor(height), filter or 'Undefined', blur or 1,
      self.state.matte)
end

local function take(self, pixels)
   self.pixels = pixels:contiguous()
   return self
end

local function reversed(pixels, dim)
   local mirrored = torch.DoubleTensor(pixels:size())
   mirror(records[mirrored], records[pixels:contiguous()], dim)
   return mirrored
end

function Image:flip() return take(self, reversed(pixels_of(self), 1)) end
function Image:flop() return take(self, reversed(pixels_of(self), 2)) end

local function color(r, g, b) return torch.DoubleTensor{ r or 0, g or 0, b or 0, 1 }:mul(MOST):add(0.5):floor() end

-- Rotates clockwise, in degrees, and fills empty areas with the colour. Multiples of 90 degrees move pixels; other
-- angles interpolate between four pixels.
function Image:rotate(degrees, r, g, b)
   local pixels = pixels_of(self)
   local turns = (degrees / 90) % 4
   if turns == 0 then return self end
   if turns == 2 then return self:flip():flop() end
   if turns == 1 then return take(self, reversed(pixels:transpose(1, 2):contiguous(), 2)) end
   if turns == 3 then return take(self, reversed(pixels:transpose(1, 2):contiguous(), 1)) end
   return change(self, 'magick_rotate', math.rad(degrees), color(r, g, b))
end

-- tx and ty, a translation of the whole image, have no effect: the result starts where the image does.
function Image:affineTransform(sx, rx, ry, sy)
   local background = self.state.background
   pixels_of(self)
   return change(self, 'magick_affine', torch.DoubleTensor{ sx, rx, ry, sy }, color(unpack(background)))
end

-- The part of the w x h rectangle at (x, y) that lies in the image.
function Image:crop(w, h, x, y)
   local pixels = pixels_of(self)
   local left, top = math.max(0, x or 0), math.max(0, y or 0)
   local right, bottom = math.min(pixels:size(2), (x or 0) + w), math.min(pixels:size(1), (y or 0) + h)
   if right <= left or bottom <= top then
      fail(('crop(%g, %g, %g, %g) has nothing of the picture'):format(w, h, x or 0, y or 0))
   end
   return take(self, pixels:narrow(1, top + 1, bottom - top):narrow(2, left + 1, right - left))
end

function Image:addBorder(w, h, r, g, b)
   local pixels = pixels_of(self)
   local rows, columns = pixels:size(1), pixels:size(2)
   local framed = color(r, g, b):view(1, 1, 4):expand(rows + 2 * h, columns + 2 * w, 4):clone()
   framed:narrow(1, h + 1, rows):narrow(2, w + 1, columns):copy(pixels)
   return take(self, framed)
end

-- Points and filters

local function map_colors(self, f, first, last)
   local pixels = pixels_of(self)
   for plane = first or 1, last or 3 do
      local values = pixels:select(3, plane)
      values:copy(f(values:clone()))
   end
   return self
end

function Image:negate() return map_colors(self, function(values) return values:mul(-1):add(MOST) end) end

local CHANNELS = { All = { 1, 3 }, Red = { 1, 1 }, Green = { 2, 2 }, Blue = { 3, 3 } }

function Image:gammaCorrection(gamma, channel)
   local planes = CHANNELS[channel or 'All']
      or fail(('no channel %s: All, Red, Green or Blue'):format(tostring(channel)))
   return map_colors(self, function(values)
      return values:div(MOST):pow(1 / gamma):mul(MOST):floor()
   end, unpack(planes))
end

function Image:setBackground(r, g, b)
   self.state.background = { r or 0, g or 0, b or 0 }
   return self
end

function Image:blur(radius, sigma)
   pixels_of(self)
   return change(self, 'magick_blur', radius, sigma)
end

function Image:sharpen(radius, sigma)
   pixels_of(self)
   return change(self, 'magick_sharpen', radius or 0, sigma or 1)
end

function Image:unsharpMask(radius, sigma, amount, threshold)
   pixels_of(self)
   return change(self, 'magick_unsharp', radius, sigma, amount, threshold)
end

function Image:compose(other, operation, x, y)
   pixels_of(self)
   change(self, 'magick_compose', pixels_of(other), operation, x, y)
   self.state.matte = self.state.matte or operation == 'CopyOpacity'
   return self
end

-- Returns a new image: this one over its background colour.
function Image:flatten()
   local flat = Image()
   local below = color(unpack(self.state.background))
   flat.pixels = below:view(1, 1, 4):expandAs(pixels_of(self)):clone()
   flat.state.format, flat.state.bits, flat.state.space = self.state.format, self.state.bits, self.state.space
   return flat:compose(self, 'Over', 0, 0)
end

for _, name in ipairs{ 'addNoise', 'colorize', 'floodFill' } do
   Image[name] = function() fail(name .. ' is not supported: draw on a tensor, with toTensor and fromTensor') end
end

function Image:show(zoom)
   require 'image'
   image.display{ image = self:toTensor('float', nil, 'DHW'), zoom = zoom }
   return self
end

return Image
