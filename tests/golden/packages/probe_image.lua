-- Records what image's functions make of small images: th probe_image.lua OUT.t7
require 'torch'
require 'image'

torch.manualSeed(3)
local rgb = torch.rand(3, 7, 9)
rgb[{ {}, 2, 3 }] = 0.5 -- a grey pixel
rgb[{ {}, 4, 4 }] = 0
local tall = torch.rand(2, 11, 4)
local flat = torch.rand(6, 8)
local types = {
   double = function(t) return t:double() end,
   float = function(t) return t:float() end,
   byte = function(t) return (t * 255):byte() end,
}
local field = torch.rand(2, 5, 6) * 12 - 3
local offsets = torch.rand(2, 5, 6) * 6 - 3

local cases = {
   { 'scale', rgb, 4, 3 }, { 'scale', rgb, 20, 15 }, { 'scale', rgb, 9, 7 }, { 'scale', rgb, 5, 12, 'bilinear' },
   { 'scale', rgb, 1, 1 }, { 'scale', tall, '6' }, { 'scale', tall, 8 }, { 'scale', tall, '5x3' },
   { 'scale', tall, '^6' }, { 'scale', tall, '*2' }, { 'scale', tall, '*3/2' }, { 'scale', flat, 13, 4 },
   { 'scale', rgb, 4, 3, 'simple' }, { 'scale', rgb, 13, 10, 'simple' }, { 'scale', flat, '*0.7', 'simple' },
   { 'scale', rgb, 4, 3, 'bicubic' }, { 'scale', rgb, 20, 15, 'bicubic' }, { 'scale', flat, 3, 17, 'bicubic' },
   { 'crop', rgb, 1, 2, 5, 6 }, { 'crop', flat, 0, 0, 8, 6 }, { 'crop', rgb, 'c', 4, 3 }, { 'crop', rgb, 'tl', 4, 3 },
   { 'crop', rgb, 'tr', 4, 3 }, { 'crop', rgb, 'bl', 4, 3 }, { 'crop', flat, 'br', 5, 2 }, { 'crop', rgb, 1.7, 2.2, 5.9, 6 },
   { 'hflip', rgb }, { 'vflip', rgb }, { 'hflip', flat }, { 'vflip', flat }, { 'flip', rgb, 1 }, { 'flip', flat, 2 },
   { 'translate', rgb, 2, -3 }, { 'translate', flat, -1, 1 }, { 'translate', rgb, 20, 0 },
   { 'rotate', rgb, 0.3 }, { 'rotate', flat, -2 }, { 'rotate', rgb, math.pi / 2 },
   { 'rotate', rgb, 0.3, 'bilinear' }, { 'rotate', flat, -2, 'bilinear' },
   { 'polar', rgb, 'simple', 'valid' }, { 'polar', rgb, 'simple', 'full' }, { 'polar', tall, 'bilinear', 'valid' },
   { 'polar', rgb, 'bilinear', 'full' }, { 'logpolar', rgb, 'simple', 'valid' }, { 'logpolar', rgb, 'simple', 'full' },
   { 'logpolar', tall, 'bilinear', 'valid' }, { 'logpolar', rgb, 'bilinear', 'full' },
}
for _, mode in ipairs{ 'simple', 'bilinear', 'bicubic', 'lanczos' } do
   table.insert(cases, { 'warp', rgb, field, mode, false })
   table.insert(cases, { 'warp', rgb, field, mode, false, 'pad' })
   table.insert(cases, { 'warp', flat, field, mode, false, 'pad', 1 })
   table.insert(cases, { 'warp', tall, offsets, mode, true })
   table.insert(cases, { 'affinetransform', rgb, torch.Tensor{ { 1, 0.3 }, { -0.2, 0.9 } }, mode,
      torch.Tensor{ 1, -0.5 } })
end
for _, name in ipairs{ 'rgb2y', 'rgb2yuv', 'yuv2rgb', 'rgb2hsl', 'hsl2rgb', 'rgb2hsv', 'hsv2rgb', 'rgb2lab', 'rgb2nrgb' } do
   table.insert(cases, { name, rgb })
end
table.insert(cases, { 'lab2rgb', torch.cat(torch.cat(rgb[{ { 1 } }] * 100, rgb[{ { 2 } }] * 80 - 40, 1),
   rgb[{ { 3 } }] * 80 - 40, 1) })

-- Those that Torch7 cannot do with bytes, or with which it overflows; and with floats
local left_out = { double = {}, float = { affinetransform = true },
   byte = { rgb2lab = true, lab2rgb = true, rgb2yuv = true, yuv2rgb = true, rgb2nrgb = true, affinetransform = true } }

local function described(case)
   local words = { case[1] }
   for i = 3, #case do words[#words + 1] = torch.isTensor(case[i]) and 'tensor' or tostring(case[i]) end
   return table.concat(words, ' ')
end

local results = {}
local function record(name, f)
   results[#results + 1] = { name = name, result = f() }
end

for _, kind in ipairs{ 'double', 'float', 'byte' } do
   for _, case in ipairs(cases) do
      if not left_out[kind][case[1]] then
         record(kind .. ' ' .. described(case), function()
            local arguments = { unpack(case, 2) }
            arguments[1] = types[kind](arguments[1])
            -- fields have the image's type; as bytes they would lose their signs
            if case[1] == 'warp' then
               arguments[2] = kind == 'byte' and (arguments[2]:clone():clamp(0, 9)):byte() or types[kind](arguments[2])
            end
            return image[case[1]](unpack(arguments)):clone()
         end)
      end
   end
   local as = types[kind]
   record(kind .. ' scale into', function() return image.scale(as(torch.zeros(3, 4, 5)), as(rgb)) end)
   record(kind .. ' crop into', function()
      local part = as(torch.zeros(3, 4, 5))
      image.crop(part, as(rgb), 2, 1) -- Torch7 returns nothing here
      return part
   end)
   record(kind .. ' crop scaled', function() return image.crop(as(torch.zeros(3, 2, 2)), as(rgb), 2, 1, 6, 5) end)
   record(kind .. ' drawRect', function()
      local drawn = image.drawRect(as(rgb), 2, 2, 7, 5, { color = { 10, 200, 30 } })
      return image.drawRect(drawn, 1, 3, 9, 7, { lineWidth = 3, color = { 0, 0, 255 } })
   end)
end

record('gaussian', function() return image.gaussian(5) end)
record('gaussian options', function()
   return image.gaussian{ width = 7, height = 4, sigma_horz = 0.2, sigma_vert = 0.4, mean_horz = 0.3, amplitude = 3,
      normalize = true }
end)
record('gaussian into', function() return image.gaussian{ tensor = torch.FloatTensor(3, 5), normalize = true } end)
record('gaussian1D', function() return image.gaussian1D(5) end)
record('gaussian1D options', function() return image.gaussian1D{ size = 6, sigma = 0.3, mean = 0.4, normalize = true } end)
record('laplacian', function() return image.laplacian{ size = 5 } end)
record('laplacian options', function()
   return image.laplacian{ width = 4, height = 4, sigma_horz = 0.3, sigma_vert = 0.2, amplitude = 2, normalize = true }
end)
local kernel = torch.Tensor{ { 1, 2, 1 }, { 0, 3, 0 }, { -1, 2, -2 } }
for _, mode in ipairs{ 'valid', 'full', 'same' } do
   record('convolve ' .. mode, function() return image.convolve(rgb, kernel, mode):clone() end)
   record('convolve flat ' .. mode, function() return image.convolve(flat, kernel, mode):clone() end)
end
record('gaussianpyramid', function() return image.gaussianpyramid(rgb, { 1, 0.5, 0.25 }) end)
record('lcn', function() return image.lcn(torch.rand(14, 15)) end)
local spots = torch.rand(8, 9):gt(0.6):double()
record('erode', function() return image.erode(spots) end)
record('dilate', function() return image.dilate(spots, torch.Tensor{ { 0, 1, 0 }, { 1, 1, 0 }, { 0, 0, 0 } }) end)
record('minmax', function() return image.minmax{ tensor = flat * 7 - 3 } end)
record('minmax symmetric', function() return image.minmax{ tensor = flat * 7 - 3, symm = true } end)
record('minmax cut', function() return image.minmax{ tensor = flat * 7 - 3, min = 0, max = 2, saturate = true } end)
record('jetColormap', function() return image.jetColormap(9) end)
record('colormap', function() return image.colormap(12) end)
record('y2jet', function() return image.y2jet((flat * 8):floor() + 1) end)
record('display one', function() return image.toDisplayTensor{ input = flat * 5 } end)
record('display channels', function() return image.toDisplayTensor{ input = torch.rand(5, 3, 4), nrow = 2, padding = 1 } end)
record('display colours', function() return image.toDisplayTensor{ input = torch.rand(5, 3, 3, 4), nrow = 3, padding = 2 } end)
record('display list', function()
   return image.toDisplayTensor{ input = { rgb, rgb * 2, rgb / 2 }, scaleeach = true, padding = 3 }
end)
torch.save(arg[1], results)
