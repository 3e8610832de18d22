-- Cropping, scaling, rotation, warping.
local arguments = require 'image.arguments'
local mirror = require 'image.luajit.mirroring'
local sampling = require 'image.luajit.sampling'
local scale = require 'image.luajit.scaling'
local pixels = require 'image.pixels'
local records = require('torch.core.memory').records

local function whole(number) return number >= 0 and math.floor(number) or math.ceil(number) end

-- Width and height.
local function size_of(img) return img:size(img:dim()), img:size(img:dim() - 1) end

local function part(src, x, y, width, height)
   local w, h = size_of(src)
   x, y, width, height = whole(x), whole(y), whole(width), whole(height)
   if x < 0 or y < 0 or x + width > w or y + height > h or width < 1 or height < 1 then
      error('image.crop: crop goes outside bounds of src', 0)
   end
   return src:narrow(src:dim() - 1, y + 1, height):narrow(src:dim(), x + 1, width)
end

local function check_depth(name, dst, src)
   local depth = src:dim()
   if depth ~= 2 and depth ~= 3 or dst and (dst:dim() ~= depth or depth == 3 and dst:size(1) ~= src:size(1)) then
      error(name .. ': src and dst depths do not match', 0)
   end
end

-- Torch7 crops, rotates and scales by the nearest pixel in single precision, whatever the type.
local function in_single_precision(img)
   if img:type() == 'torch.DoubleTensor' then img:copy(img:float()) end
   return img
end

local CROP = '[destination,] source, startx, starty [, endx, endy] or [destination,] source, format, width, height'

-- Crops from (startx, starty), counted from 0, up to but excluding (endx, endy) (default: as much as the destination
-- holds); or a width and height at a position: "c" centre, "tl", "tr", "bl", "br" corners. The result is scaled to the
-- destination's size.
function image.crop(...)
   local dst, src, startx, starty, endx, endy = arguments.source('image.crop', CROP, ...)
   if type(startx) == 'string' then
      local format, width, height = startx, starty, endx
      local w, h = size_of(src)
      local corners = { c = { math.floor((w - width) / 2), math.floor((h - height) / 2) }, tl = { 0, 0 },
         tr = { w - width, 0 }, bl = { 0, h - height }, br = { w - width, h - height } }
      local corner = corners[format]
      if not corner then error('crop format must be "c"|"tl"|"tr"|"bl"|"br"', 2) end
      startx, starty = corner[1], corner[2]
      endx, endy = startx + width, starty + height
   end
   if type(startx) ~= 'number' or type(starty) ~= 'number' then arguments.wrong('image.crop', CROP) end
   if not endx then
      if not dst then arguments.wrong('image.crop', CROP) end
      local width, height = size_of(dst)
      return in_single_precision(dst:copy(part(src, startx, starty, width, height)))
   end
   local cut = in_single_precision(part(src, startx, starty, endx - startx, endy - starty):clone())
   if dst then return image.scale(dst, cut) end
   return cut
end

-- [destination,] source, x, y: moves the image right and down; empty areas are zero.
function image.translate(...)
   local forms = '[destination,] source, x, y'
   local dst, src, x, y = arguments.source('image.translate', forms, ...)
   if type(x) ~= 'number' or type(y) ~= 'number' then arguments.wrong('image.translate', forms) end
   dst = (dst or src.new()):resizeAs(src):zero()
   local w, h = size_of(src)
   x, y = whole(x), whole(y)
   local width, height = w - math.abs(x), h - math.abs(y)
   if width > 0 and height > 0 then
      part(dst, math.max(x, 0), math.max(y, 0), width, height):copy(part(src, math.max(-x, 0), math.max(-y, 0), width,
         height))
   end
   return dst
end

-- Width and height from a size: MAX (the longer side), "WxH", "^MIN" (the shorter side), "*SC" or "*SCn/SCd" (factors).
local function wanted_size(src, size)
   local w, h = size_of(src)
   local longest = tonumber(size)
   local width, height = tostring(size):match('(%d+)x(%d+)')
   local shortest = tonumber(tostring(size):match('%^(%d+)') or nil)
   local numerator, denominator = tostring(size):match('%*(%d+)%/(%d+)')
   local factor = tonumber(tostring(size):match('%*(.+)') or nil)
   if longest then return w * longest / math.max(w, h), h * longest / math.max(w, h) end
   if width then return tonumber(width), tonumber(height) end
   if shortest then return w * shortest / math.min(w, h), h * shortest / math.min(w, h) end
   if numerator then return w * numerator / denominator, h * numerator / denominator end
   if factor then return w * factor, h * factor end
   dok.error('could not find valid dest size', 'image.scale')
end

local SCALE = 'source, width, height [, mode], or source, size [, mode], or destination, source [, mode]'

-- mode: 'bilinear', 'bicubic' or 'simple'.
function image.scale(...)
   local dst, src, first, second, third = arguments.source('image.scale', SCALE, ...)
   local mode, width, height
   if dst then
      mode = first
   elseif type(second) == 'number' then
      width, height, mode = first, second, third
   else
      if first == nil then arguments.wrong('image.scale', SCALE) end
      width, height = wanted_size(src, first)
      mode = second
   end
   mode = arguments.choice('image.scale', 'mode', mode, { 'bilinear', 'bicubic', 'simple' })
   dst = dst or pixels.new_like(src, whole(math.max(width, 1)), whole(math.max(height, 1)))
   check_depth('image.scale', dst, src)
   local result = dst:contiguous()
   scale(records[result], records[src:contiguous()], mode)
   if result ~= dst then dst:copy(result) end
   return mode == 'simple' and in_single_precision(dst) or dst
end

-- [destination,] source, theta (radians) [, mode 'simple' | 'bilinear']
function image.rotate(...)
   local forms = '[destination,] source, theta [, mode]'
   local dst, src, theta, mode = arguments.source('image.rotate', forms, ...)
   if type(theta) ~= 'number' then arguments.wrong('image.rotate', forms) end
   mode = arguments.choice('image.rotate', 'mode', mode, { 'simple', 'bilinear' })
   if dst and dst:nElement() > 0 and dst:data() == src:data() then
      dok.error('in-place rotate not supported', 'image.rotate')
   end
   check_depth('image.rotate', nil, src)
   local width, height = size_of(src)
   return pixels.computed(dst, src, width, height, sampling.rotate, theta, mode)
end

-- [destination,] source [, interpolation 'simple' | 'bilinear' [, mode 'valid' | 'full']]
local function to_polar(name, is_logarithmic)
   return function(...)
      local dst, src, interpolation, mode = arguments.source(name, '[destination,] source [, interpolation [, mode]]',
         ...)
      interpolation = arguments.choice(name, 'interpolation', interpolation, { 'simple', 'bilinear' })
      mode = arguments.choice(name, 'mode', mode, { 'valid', 'full' })
      check_depth(name, dst, src)
      local width, height = math.max(size_of(src)), math.max(size_of(src))
      if dst then width, height = size_of(dst) end
      return pixels.computed(dst, src, width, height, sampling.to_polar, interpolation, is_logarithmic, mode == 'full')
   end
end
image.polar, image.logpolar = to_polar('image.polar', false), to_polar('image.logpolar', true)

local modes = { 'bilinear', 'simple', 'bicubic', 'lanczos' }

local function warp(name, dst, src, field, mode, offset, clamp, pad)
   mode = arguments.choice(name, 'mode', mode, modes)
   clamp = arguments.choice(name, 'clamp mode', clamp, { 'clamp', 'pad' })
   assert(pad == nil or clamp == 'pad', 'pad_value can only be specified if clamp_mode = "pad"')
   check_depth(name, nil, src)
   assert(field:dim() == 3 and field:size(1) == 2, name .. ': a field of 2 x height x width is expected')
   pad = clamp == 'pad' and records[src].T.cast(pad or 0) or nil
   local is_flat = src:dim() == 2
   if is_flat then src = src:contiguous():view(1, src:size(1), src:size(2)) end
   dst = pixels.computed(dst, src, field:size(3), field:size(2), sampling.warp, field:float():contiguous(), mode,
      offset, pad)
   return is_flat and dst[1] or dst
end

-- [destination,] source, field, ...: the field may be any tensor. fifth: the argument after the mode.
local function with_field(name, forms, fifth, ...)
   local first, second, third = ...
   if first and not torch.isTensor(third) then return with_field(name, forms, fifth, false, ...) end
   local list, n = { ... }, select('#', ...)
   if not torch.isTensor(second) or not torch.isTensor(third) or n > 7 then arguments.wrong(name, forms) end
   if n < 5 then list[5] = fifth end
   return first or nil, unpack(list, 2, 7)
end

-- [destination,] source, field (2 x H x W: y, x) [, mode [, offset [, clamp mode [, pad value]]]]
function image.warp(...)
   local dst, src, field, mode, offset, clamp, pad = with_field('image.warp',
      '[destination,] source, field [, mode [, offset mode [, clamp mode [, pad value]]]]', true, ...)
   return warp('image.warp', dst, src, field, mode, offset and true or false, clamp, pad)
end

-- [destination,] source, matrix (2 x 2, of y, x) [, mode [, translation (y, x) [, clamp mode [, pad value]]]]
function image.affinetransform(...)
   local dst, src, matrix, mode, translation, clamp, pad = with_field('image.affinetransform',
      '[destination,] source, matrix [, mode [, translation [, clamp mode [, pad value]]]]', nil, ...)
   local width, height = size_of(src)
   -- (y, x) of each pixel relative to the centre, negated
   local y, x = torch.linspace(1, -1, height):mul((height - 1) / 2), torch.linspace(1, -1, width):mul((width - 1) / 2)
   y, x = y:view(height, 1):expand(height, width):clone(), x:view(1, width):expand(height, width):clone()
   matrix = matrix:typeAs(x)
   local field = torch.Tensor(2, height, width)
   field[1]:copy(y):add(-1, torch.mul(y, matrix[1][1]):add(matrix[1][2], x))
   field[2]:copy(x):add(-1, torch.mul(y, matrix[2][1]):add(matrix[2][2], x))
   if translation then
      field[1]:add(-translation[1])
      field[2]:add(-translation[2])
   end
   return warp('image.affinetransform', dst, src, field, mode, true, clamp, pad)
end

local function mirrored(dst, src, dimension)
   local mirrored = src.new():resizeAs(src)
   mirror(records[mirrored], records[src:contiguous()], dimension)
   if not dst then return mirrored end
   return dst:resizeAs(src):copy(mirrored)
end

-- [destination,] source, which may be the same.
function image.hflip(...)
   local dst, src = arguments.source('image.hflip', '[destination,] source', ...)
   return mirrored(dst, src, src:dim())
end

function image.vflip(...)
   local dst, src = arguments.source('image.vflip', '[destination,] source', ...)
   return mirrored(dst, src, src:dim() - 1)
end

-- [destination,] source, dimension
function image.flip(...)
   local dst, src, dimension = arguments.source('image.flip', '[destination,] source, dimension', ...)
   assert(src:dim() <= 5, 'too many input dims (up to 5D supported)')
   assert(type(dimension) == 'number' and dimension >= 1 and dimension <= src:dim(), 'Bad flip dimension')
   return mirrored(dst, src, dimension)
end
