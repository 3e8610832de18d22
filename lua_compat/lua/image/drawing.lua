-- Drawing text and rectangles, scaling values, and combining many images into one.
local memory = require 'torch.core.memory'
local python = require('th.python').functions
local single = require('torch.core.types').Float.cast

-- Colors are given from 0 to 255.
local function in_units(img, color)
   local unit = img:type() == 'torch.ByteTensor' and 1 or 255
   local units = {}
   for channel = 1, 3 do units[channel] = single(color[channel] / unit) end
   return units
end

local function canvas(src, options)
   assert(torch.isTensor(src) and src:dim() == 3 and src:size(1) == 3,
      'input image has to be a 3D tensor of shape 3 x H x W ')
   return options.inplace and src or src:clone()
end

local WIDTH, HEIGHT, FIRST, LAST = 6, 8, 32, 126 -- of a character; the printable ones
local glyphs -- a byte for each pixel of each character: 0 or 1

-- Draws a character with its corner at (left, top), counted from 0. paper: the background's color, or nil.
local function draw(out, code, left, top, size, ink, paper)
   if code < FIRST or code > LAST then code = ('?'):byte() end
   local r = memory.records[out]
   local p, set = memory.first_element(r), r.T.set
   for y = math.max(0, -top), math.min(size * HEIGHT, r[3] - top) - 1 do
      for x = math.max(0, -left), math.min(size * WIDTH, r[5] - left) - 1 do
         local pixel = ((code - FIRST) * HEIGHT + math.floor(y / size)) * WIDTH + math.floor(x / size)
         local color = glyphs:byte(pixel + 1) == 1 and ink or paper
         for channel = 1, color and 3 or 0 do
            set(p, (channel - 1) * r[2] + (top + y) * r[4] + (left + x) * r[6], color[channel])
         end
      end
   end
end

-- Draws text at (x, y). opts: color {255, 0, 0}, bg (none), size 1, wrap true, inplace false.
function image.drawText(src, text, x, y, opts)
   opts = opts or {}
   local out = canvas(src, opts)
   if not text or text:find('^%s*$') then return out end
   local has_background = opts.bg ~= nil and opts.bg[1] ~= -1 and opts.bg[2] ~= -1 and opts.bg[3] ~= -1
   local ink = in_units(src, opts.color or { 255, 0, 0 })
   local paper = has_background and in_units(src, opts.bg) or nil
   local size, width = math.floor(opts.size or 1), src:size(3)
   local start, top = math.floor(x or 1), math.floor(y or 1)
   if start ~= start or top ~= top or size ~= size then error('image.drawText: x, y and size must be numbers', 2) end
   local left = start
   glyphs = glyphs or python.image_glyphs()
   for k = 1, #text do
      local code = text:byte(k)
      if code == 10 then
         left, top = start, top + size * HEIGHT
      elseif code ~= 13 then
         if opts.wrap ~= false and left + size * WIDTH >= width then left, top = 0, top + size * HEIGHT end
         draw(out, code, left, top, size, ink, paper)
         left = left + size * WIDTH
      end
   end
   return out
end

-- Draws a rectangle's outline. opts: color {255, 0, 0}, lineWidth 1, inplace false.
function image.drawRect(src, x1, y1, x2, y2, opts)
   opts = opts or {}
   local out = canvas(src, opts)
   if not (x1 and y1 and x2 and y2) then return out end
   local width = math.floor(opts.lineWidth or 1)
   local before = math.floor(width / 2) + 1
   local colors = in_units(src, opts.color or { 255, 0, 0 })
   -- positions count from 1: the range of the image that a line at `at` covers
   local function span(at, most) return math.max(0, at - before) + 1, math.min(most, at + width - before) end
   local function fill(left, right, top, bottom)
      if right < left or bottom < top then return end
      for channel = 1, 3 do
         out[channel]:narrow(1, top, bottom - top + 1):narrow(2, left, right - left + 1):fill(colors[channel])
      end
   end
   local left1, right1 = span(x1, src:size(3))
   local left2, right2 = span(x2, src:size(3))
   local top1, bottom1 = span(y1, src:size(2))
   local top2, bottom2 = span(y2, src:size(2))
   fill(left1, right1, top1, bottom2)
   fill(left2, right2, top1, bottom2)
   fill(left1, right2, top1, bottom1)
   fill(left1, right2, top2, bottom2)
   return out
end

-- Scales values to 0..1. args: tensor, min, max (default: the tensor's), symm (min = -max), inplace, saturate (clamp
-- values outside the given range), tensorOut.
function image.minmax(args)
   local tensor, min, max = args.tensor, args.min, args.max
   local saturate = args.saturate and (min ~= nil or max ~= nil)
   local out
   if args.tensorOut then
      out = args.tensorOut:resize(tensor:size()):copy(tensor)
   elseif args.inplace then
      out = tensor
   else
      out = torch.Tensor(tensor:size()):copy(tensor)
   end
   local reach = 0
   if min == nil then
      if args.symm then
         reach = math.max(math.abs(out:min()), math.abs(out:max()))
         min = -reach
      else
         min = out:min()
      end
   end
   if min ~= 0 then out:add(-min) end
   if max ~= nil then
      max = max - min
   elseif args.symm then
      max = reach * 2
   else
      max = out:max()
   end
   if max ~= 0 then out:div(max) end
   if saturate then out:clamp(0, torch.type(out) == 'torch.ByteTensor' and 255 or 1) end
   return out
end

-- A list of images of equal size as one tensor.
local function packed_list(images)
   local first = images[1]
   local channels = first:dim() == 2 and 1 or first:size(1)
   local packed = torch.Tensor(#images, channels, first:size(first:dim() - 1), first:size(first:dim()))
   for i, img in ipairs(images) do packed[i]:copy(img) end
   return packed
end

-- images: n x [channels x] height x width, arranged on a grid.
local function on_a_grid(images, padding, nrow)
   local n, d = images:size(1), images:dim()
   local columns = math.min(nrow, n)
   local rows = math.ceil(n / columns)
   local height, width = images:size(d - 1) + padding, images:size(d) + padding
   local sizes = { height * rows, width * columns }
   if d == 4 then table.insert(sizes, 1, images:size(2)) end
   local grid = torch.Tensor(unpack(sizes)):fill(images:max())
   for k = 0, n - 1 do
      local top, left = math.floor(k / columns) * height, k % columns * width
      grid:narrow(d - 2, math.floor(top + 1 + padding / 2), height - padding)
         :narrow(d - 1, math.floor(left + 1 + padding / 2), width - padding):copy(images[k + 1])
   end
   return grid
end

-- Prepares images for viewing: one (height x width, 1 or 3 channels), or many as a tensor (n x height x width, n x 1 or
-- 3 x height x width) or a list. Many are arranged on a grid; values are scaled to 0..1.
function image.toDisplayTensor(...)
   local a = dok.unpack({ ... }, 'image.toDisplayTensor',
      'given a pack of tensors, returns a single tensor that contains a grid of all in the pack',
      { arg = 'input', type = 'torch.Tensor | table', help = 'HxW or KxHxW or Kx3xHxW, or a list', req = true },
      { arg = 'padding', type = 'number', help = 'pixels between images', default = 0 },
      { arg = 'nrow', type = 'number', help = 'images in a row', default = 6 },
      { arg = 'scaleeach', type = 'boolean', help = 'each image has a range of its own', default = false },
      { arg = 'min', type = 'number', help = 'lower bound of the range' },
      { arg = 'max', type = 'number', help = 'upper bound of the range' },
      { arg = 'symmetric', type = 'boolean', help = 'a range around 0, for filters', default = false },
      { arg = 'saturate', type = 'boolean', help = 'cut what is outside of the range', default = true })
   local packed
   if torch.isTensor(a.input) then
      packed = torch.Tensor(a.input:size()):copy(a.input)
   elseif type(a.input) == 'table' then
      packed = packed_list(a.input)
   else
      error('Unknown or incompatible type of input: ' .. torch.type(a.input), 2)
   end
   local function rescale(tensor)
      return image.minmax{ tensor = tensor, inplace = true, min = a.min, max = a.max, symm = a.symmetric,
         saturate = a.saturate }
   end
   local d = packed:dim()
   local channels = d > 2 and packed:size(d - 2)
   local few = channels == 1 or channels == 3
   if d == 2 or (d == 3 and few) then return rescale(packed) end
   if not (d == 3 or (d == 4 and few)) then
      xerror('packed must be a HxW or KxHxW or Kx3xHxW tensor, or a list of tensors', 'image.toDisplayTensor')
   end
   if a.scaleeach then
      for i = 1, packed:size(1) do rescale(packed[i]) end
      return on_a_grid(packed, a.padding, a.nrow)
   end
   return rescale(on_a_grid(packed, a.padding, a.nrow))
end

function image.display()
   error('image.display: th has no window; image.save(filename, image.toDisplayTensor(images)) writes what it would '
      .. 'show', 2)
end

function image.window() error('image.window: th has no window', 2) end
