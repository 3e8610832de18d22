-- Records what graphicsmagick (the package over libGraphicsMagickWand) does:
--    th probe_graphicsmagick.lua results.t7
-- Each case is run from a picture of a formula, 3 x 10 x 12; results: case -> tensor, number, string or table.
require 'torch'
local gm = require 'graphicsmagick'

local function picture()
   local t = torch.FloatTensor(3, 10, 12)
   for c = 1, 3 do
      for y = 1, 10 do
         for x = 1, 12 do
            t[c][y][x] = 0.5 + 0.3 * math.sin(0.35 * c * x + 0.2 * y * y / 6) + ((x * y + c) % 7 == 0 and 0.2 or 0)
         end
      end
   end
   return t
end

local function start() return gm.Image(picture(), 'RGB', 'DHW') end
local function colors(image) return image:toTensor('float', 'RGB', 'DHW') end
local function with_alpha()
   local t = torch.FloatTensor(4, 10, 12)
   t:narrow(1, 1, 3):copy(picture())
   for y = 1, 10 do for x = 1, 12 do t[4][y][x] = (x + y) % 5 / 4 end end
   return gm.Image(t, 'RGBA', 'DHW')
end

local results = {}
local function case(name, f)
   local ok, result = pcall(f)
   results[name] = ok and result or 'error'
end

-- tensors in and out
for _, space in ipairs{ 'RGB', 'BGR', 'I', 'RGBA', 'R', 'BGRA' } do
   for _, kind in ipairs{ 'float', 'double', 'byte' } do
      for _, dims in ipairs{ 'DHW', 'HWD' } do
         case(('out %s %s %s'):format(kind, space, dims), function() return start():toTensor(kind, space, dims) end)
      end
   end
end
case('out default', function() return start():toTensor() end)
case('in byte', function()
   return colors(gm.Image(torch.range(0, 251):byte():view(3, 7, 12), 'RGB', 'DHW'))
end)
case('in double HWD', function() return colors(gm.Image(torch.linspace(0, 1, 60):view(4, 5, 3), 'RGB', 'HWD')) end)
case('in I', function() return colors(gm.Image(picture():narrow(1, 1, 1), 'I', 'DHW')) end)
case('in default', function() return colors(gm.Image(picture():narrow(1, 2, 1), nil, 'DHW')) end)
case('in outside', function()
   return colors(gm.Image(torch.FloatTensor{ -0.5, 0, 0.3333, 0.5, 1, 1.5 }:view(1, 2, 3), 'I', 'DHW'))
end)
case('in alpha', function() return with_alpha():toTensor('float', 'RGBA', 'DHW') end)
case('alpha type', function() return with_alpha():type() end)
case('intensity of grey', function() return gm.Image(picture():narrow(1, 1, 1), 'I', 'DHW'):toTensor('float', 'I', 'DHW') end)

-- what it says of itself
case('said', function()
   local i = start()
   return { i:depth(), i:type(), i:format(), i:colorspace(), i:gamma(), i:size() }
end)
case('said of grey', function()
   local i = gm.Image(picture():narrow(1, 1, 1), 'I', 'DHW')
   return { i:depth(), i:type(), i:format(), i:colorspace(), i:gamma() }
end)
case('depth 8', function() return start():depth(8):depth() end)
case('to grey', function() return colors(start():type('Grayscale')) end)
case('type grey', function() return start():type('Grayscale'):type() end)
case('type bilevel', function() return start():type('Bilevel'):type() end)

-- sizes
local filters = { 'Undefined', 'Point', 'Box', 'Triangle', 'Hermite', 'Hanning', 'Hamming', 'Blackman', 'Gaussian', 'Quadratic',
   'Cubic', 'Catrom', 'Mitchell', 'Lanczos', 'Bessel', 'Sinc' }
for _, filter in ipairs(filters) do
   for _, size in ipairs{ { 5, 4 }, { 20, 15 }, { 6, 17 } } do
      case(('size %s %dx%d'):format(filter, size[1], size[2]), function()
         return colors(start():size(size[1], size[2], filter))
      end)
   end
end
case('size blurred', function() return colors(start():size(6, 5, 'Lanczos', 1.5)) end)
case('size sharp', function() return colors(start():size(15, 14, 'Catrom', 0.8)) end)
case('size alpha', function() return with_alpha():size(7, 6):toTensor('float', 'RGBA', 'DHW') end)
case('size box', function() return { start():size(10):size() } end)
case('size cover', function() return { start():size(nil, 10):size() } end)
case('size twice', function() return colors(start():size(7, 5):size(12, 10)) end)

-- geometry
case('flip', function() return colors(start():flip()) end)
case('flop', function() return colors(start():flop()) end)
for _, angle in ipairs{ 90, 180, 270, -90, 360 } do
   case('rotate ' .. angle, function() return colors(start():rotate(angle)) end)
end
case('crop', function() return colors(start():crop(6, 5, 3, 4)) end)
case('crop over the edge', function() return { start():crop(10, 10, 8, 7):size() } end)
case('border', function() return colors(start():addBorder(2, 3, 1, 0.5, 0.25)) end)
case('border black', function() return colors(start():addBorder(1, 1)) end)

-- points
case('negate', function() return colors(start():negate()) end)
case('gamma corrected', function() return colors(start():gammaCorrection(0.5)) end)
case('gamma corrected all', function() return colors(start():gammaCorrection(1.8, 'All')) end)
case('gamma corrected red', function() return colors(start():gammaCorrection(0.5, 'Red')) end)
case('gamma', function() return start():gamma(0.45):gamma() end)

-- filters
case('blur', function() return colors(start():blur(2, 1)) end)
case('blur by sigma', function() return colors(start():blur(0, 0.7)) end)
case('sharpen', function() return colors(start():sharpen(0, 0.6)) end)
case('sharpen default', function() return colors(start():sharpen()) end)
case('unsharp', function() return colors(start():unsharpMask(2, 1, 1, 0.02)) end)
case('unsharp strong', function() return colors(start():unsharpMask(4, 1.4, 0.5, 0)) end)

-- color spaces
for _, space in ipairs{ 'HSL', 'HWB', 'YUV', 'LAB', 'XYZ', 'YIQ', 'YPbPr', 'OHTA', 'GRAY', 'CMYK', 'Rec601Luma', 'Rec709Luma',
   'Rec601YCbCr', 'Rec709YCbCr' } do
   case('space ' .. space, function()
      local i = start():colorspace(space)
      return { i:colorspace(), (i:toTensor('float', space == 'CMYK' and 'CMYK' or 'RGB', 'DHW')) }
   end)
   if space ~= 'YPbPr' then case('space there and back ' .. space, function() return colors(start():colorspace(space):colorspace('RGB')) end) end
end
case('out LAB', function() return start():toTensor('float', 'LAB', 'DHW') end)
case('out HSL', function() return start():toTensor('byte', 'HSL', 'DHW') end)

-- one over the other
for _, op in ipairs{ 'Over', 'In', 'Atop', 'Xor', 'Copy', 'CopyRed', 'CopyGreen', 'CopyBlue',
   'CopyOpacity' } do
   case('compose ' .. op, function()
      return start():compose(with_alpha():size(6, 5), op, 4, 3):toTensor('float', 'RGBA', 'DHW')
   end)
end
case('flatten', function() return colors(with_alpha():setBackground(0.2, 0.4, 0.6):flatten()) end)

-- files in memory
case('png', function()
   local text = start():depth(8):format('PNG'):toString()
   local i = gm.Image():fromString(text)
   return { text, i:toTensor('byte', 'RGB', 'DHW'), i:depth(), i:type(), i:format(), i:colorspace(), i:gamma() }
end)
case('png 16', function()
   local text = start():format('PNG'):toString()
   local i = gm.Image():fromString(text)
   return { text, colors(i), i:depth() }
end)
case('png alpha', function()
   local text = with_alpha():format('PNG'):depth(8):toString()
   local i = gm.Image():fromString(text)
   return { text, i:toTensor('byte', 'RGBA', 'DHW'), i:type() }
end)
case('png grey', function()
   local text = gm.Image(picture():narrow(1, 1, 1), 'I', 'DHW'):type('Grayscale'):depth(8):format('PNG'):toString()
   local i = gm.Image():fromString(text)
   return { text, i:toTensor('byte', 'I', 'DHW'), i:type(), i:colorspace() }
end)
case('png gamma', function()
   local text = start():gamma(1 / 1.8):depth(8):format('PNG'):toString()
   local i = gm.Image():fromString(text)
   return { text, i:gamma() }
end)
for _, factors in ipairs{ { 1, 1, 1 }, { 2, 1, 1 } } do
   for _, quality in ipairs{ 50, 85, 95 } do
      case(('jpeg %d %d'):format(factors[1], quality), function()
         local text = start():depth(8):format('JPEG'):samplingFactors(factors):toString(quality)
         local i = gm.Image():fromString(text)
         return { text, i:toTensor('byte', 'RGB', 'DHW'), i:depth(), i:type(), i:format(), i:colorspace() }
      end)
   end
end
case('jpeg default', function()
   local text = start():format('JPEG'):toString()
   return { text, gm.Image():fromString(text):toTensor('byte', 'RGB', 'DHW') }
end)
case('not a picture', function() return gm.Image():fromString('nothing of the kind') end)
case('no such file', function() return gm.Image('/nowhere/nothing.png') end)

-- kept apart
case('clone', function()
   local i = start()
   local other = i:clone()
   other:negate()
   return { colors(i), colors(other) }
end)

torch.save(arg[1], results)
