-- Sample images. Those of Torch7's package are used if it is installed. Otherwise the functions return generated images
-- of the same sizes: hills under the sun, in colour, for lena; rings, in grey, for fabio.
local paths = require 'paths'

local function installed(file, depth)
   for folder in package.path:gmatch('([^;]*)/%?%.lua') do
      local path = folder .. '/image/assets/' .. file
      if paths.filep(path) then return image.load(path, depth) end
   end
end

-- Columns and rows as height x width, from 0 to 1.
local function places(height, width)
   local x = torch.linspace(0, 1, width):view(1, width):expand(height, width):clone()
   local y = torch.linspace(0, 1, height):view(height, 1):expand(height, width):clone()
   return x, y
end

-- 1 where the values are below zero, 0 outside, with a transition of width `soft`.
local function inside(values, soft) return values:div(-soft):add(0.5):clamp(0, 1) end

local function paint(picture, mask, ...)
   for channel, value in ipairs{ ... } do
      local plane = picture[channel]
      plane:add(torch.cmul(mask, torch.add(torch.mul(plane, -1), value)))
   end
end

local function hills()
   local size = 512
   local x, y = places(size, size)
   local picture = torch.Tensor(3, size, size)
   -- the sky, lighter below
   for channel, pair in ipairs{ { 0.25, 0.6 }, { 0.45, 0.4 }, { 0.85, 0.1 } } do
      picture[channel]:mul(y, pair[2]):add(pair[1])
   end
   local from_sun = torch.sqrt(torch.add(x, -0.7):pow(2):add(torch.add(y, -0.25):pow(2)))
   paint(picture, inside(torch.add(from_sun, -0.09), 0.02), 1, 0.95, 0.6)
   -- three rows of hills, darker towards the viewer
   for row, waves in ipairs{ { 5, 0.06, 0.5 }, { 9, 0.05, 0.65 }, { 3, 0.1, 0.8 } } do
      local number, height, level = unpack(waves)
      local edge = torch.mul(x:narrow(1, 1, 1), number * 2):add(row):sin():mul(height):add(level):expandAs(y):clone()
      local mask = inside(edge:add(-1, y), 0.006)
      local dark = 1 - 0.22 * row
      paint(picture, mask, 0.35 * dark, 0.75 * dark, 0.3 * dark)
   end
   -- a fence with a straight edge every 32 pixels
   local post = torch.mul(x, size):div(32):apply(function(v) return v % 1 < 0.25 and -1 or 1 end)
   paint(picture, inside(post, 1):cmul(inside(torch.add(y, -0.97):abs():add(-0.06), 0.004)), 0.8, 0.55, 0.35)
   return picture:clamp(0, 1)
end

local function rings()
   local x, y = places(257, 271)
   local distance = torch.sqrt(torch.add(x, -0.4):pow(2):add(torch.add(y, -0.55):pow(2)))
   local wave = torch.mul(distance, 60)
   for row = 1, wave:size(1) do wave[row]:cos() end -- row by row, because the whole would load PyTorch
   wave:mul(0.35)
   return wave:cmul(torch.add(torch.mul(distance, -1), 1)):add(torch.mul(x, 0.4)):add(0.25):clamp(0, 1)
end

function image.lena() return installed('grace_hopper_512.jpg', 3) or hills() end
function image.fabio() return installed('fabio.jpg', 1) or rings() end
