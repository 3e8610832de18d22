-- Color spaces and color maps.
local arguments = require 'image.arguments'
local pixels = require 'image.pixels'
local spaces = require 'image.luajit.color_spaces'

local function fill(out, img, convert, is_byte)
   if is_byte then img:div(255) end
   convert(out, img)
   if is_byte then out:mul(255) end
end

for name, convert in pairs(spaces) do
   local refused = name:find 'lab' and 'torch.ByteTensor'
   image[name] = function(...)
      local dst, src = arguments.source('image.' .. name, '[destination,] source', ...)
      assert(src:dim() == 3 and src:size(1) == 3, ('image.%s: an image of 3 x height x width is expected'):format(name))
      local kind = src:type()
      if kind == refused then error(('image.%s: not supported for %s'):format(name, kind), 0) end
      return pixels.computed(dst, src, src:size(3), src:size(2), fill, convert, kind == 'torch.ByteTensor')
   end
end

-- Each channel of the result is a weighted sum of the source's.
local function mix(name, weights)
   image[name] = function(...)
      local dst, src = arguments.source('image.' .. name, '[destination,] source', ...)
      local mixed = src.new():resizeAs(src):zero()
      for to, row in ipairs(weights) do
         for from, weight in ipairs(row) do
            if weight ~= 0 then mixed[to]:add(weight, src[from]) end
         end
      end
      return dst and dst:resizeAs(src):copy(mixed) or mixed
   end
end
mix('rgb2yuv', { { 0.299, 0.587, 0.114 }, { -0.14713, -0.28886, 0.436 }, { 0.615, -0.51499, -0.10001 } })
mix('yuv2rgb', { { 1, 0, 1.13983 }, { 1, -0.39465, -0.58060 }, { 1, 2.03211, 0 } })

-- [destination,] source: the brightness, 1 x height x width (ITU-R BT.601). Bytes are rounded.
function image.rgb2y(...)
   local dst, src = arguments.source('image.rgb2y', '[destination,] source', ...)
   local height, width, channels = src:size(2), src:size(3), src:narrow(1, 1, 3)
   dst = (dst or src.new()):resize(1, height, width)
   local function weighted(channel, weight)
      return torch.DoubleTensor(height, width):copy(channels[channel]):mul(weight)
   end
   local sum = weighted(1, 0.299):add(weighted(2, 0.587)):add(weighted(3, 0.114))
   if src:type() ~= 'torch.DoubleTensor' then sum = sum:float() end
   if dst:type() == 'torch.ByteTensor' then sum = sum:float():add(0.5):clamp(0, 255) end
   dst[1]:copy(sum)
   return dst
end

-- [destination,] source: each pixel divided by the sum of its channels
function image.rgb2nrgb(...)
   local dst, src = arguments.source('image.rgb2nrgb', '[destination,] source', ...)
   local sum = src[1]:clone():add(src[2]):add(src[3]):add(1e-6)
   dst = (dst or src.new()):resizeAs(src):copy(src)
   for channel = 1, 3 do dst[channel]:cdiv(sum) end
   return dst
end

-- n colours from blue through green to red, n x 3.
function image.jetColormap(n)
   local map = torch.Tensor(n, 3)
   local function level(x) return math.max(math.min(x, 1), 0) end
   for i = 1, n do
      local x = 4 * i / n
      map[i][1] = level(math.min(x - 1.5, 4.5 - x))
      map[i][2] = level(math.min(x - 0.5, 3.5 - x))
      map[i][3] = level(math.min(x + 0.5, 2.5 - x))
   end
   return map
end

-- n distinct colours around the colour wheel, n x 3.
function image.colormap(n)
   local colors = torch.Tensor(3, 1, n)
   for i = 1, n do
      colors[1][1][i] = math.fmod((i - 1) * 39, 360) / 360
      colors[2][1][i] = math.fmod((i - 1) / 9, 0.7) + 0.3
   end
   colors[3]:fill(0.5)
   return image.hsl2rgb(colors):view(3, n):t():contiguous()
end

-- [destination,] levels from 1 up: an image in jetColormap's colours
function image.y2jet(...)
   local dst, src = arguments.source('image.y2jet', '[destination,] source', ...)
   if src:dim() == 3 and src:size(1) == 1 then src = src[1] end
   if src:dim() == 1 then src = src:contiguous():view(1, src:size(1)) end
   local map = image.jetColormap(src:max())
   if src:type() == 'torch.ByteTensor' then map:mul(255):round() end
   local colors = map:typeAs(src):index(1, src:long():view(-1))
   dst = dst or src.new()
   return dst:resize(3, src:size(1), src:size(2)):copy(colors:t())
end
