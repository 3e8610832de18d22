-- Pictures of floats to the last bit: th probe_image_rounding.lua OUT.t7
require 'image'
torch.setdefaulttensortype('torch.FloatTensor')
torch.manualSeed(20)
local results = {}
local x = torch.rand(3, 11, 14)
local function keep(name, y) results[#results + 1] = { name = name, value = y:clone() } end
for _, mode in ipairs{ 'bilinear', 'bicubic', 'simple' } do
   keep('larger ' .. mode, image.scale(x, 33, 29, mode))
   keep('smaller ' .. mode, image.scale(x, 5, 9, mode))
end
for _, mode in ipairs{ 'simple', 'bilinear' } do
   keep('rotate ' .. mode, image.rotate(x, 0.7, mode))
   keep('polar ' .. mode, image.polar(x, mode, 'full'))
   keep('logpolar ' .. mode, image.logpolar(x, mode, 'valid'))
end
local field = torch.rand(2, 11, 14):mul(8):add(-4)
for _, mode in ipairs{ 'simple', 'bilinear', 'bicubic', 'lanczos' } do
   keep('warp ' .. mode, image.warp(x, field, mode, true, 'pad', 0.5))
end
for _, name in ipairs{ 'rgb2y', 'rgb2yuv', 'yuv2rgb', 'rgb2hsl', 'hsl2rgb', 'rgb2hsv', 'hsv2rgb', 'rgb2lab', 'lab2rgb' } do
   keep(name, image[name](x))
end
torch.save(arg[1], results)
