-- Kernels, convolution, and filters based on them.
local arguments = require 'image.arguments'
local single = require('torch.core.types').Float.cast

local function number(name, help, default)
   return { arg = name, type = 'number', help = help, default = default }
end

local function by_default(name, help, other)
   return { arg = name, type = 'number', help = help, defaulta = other }
end

-- The arguments of a 2-D kernel; sigmas and means are fractions of the width and height.
local function shape_arguments(sigma)
   return number('size', 'kernel size (size x size)', 3), number('sigma', 'sigma (horizontal and vertical)', sigma),
      number('amplitude', 'largest value', 1),
      { arg = 'normalize', type = 'boolean', help = 'make the sum 1', default = false },
      by_default('width', 'kernel width', 'size'), by_default('height', 'kernel height', 'size'),
      by_default('sigma_horz', 'horizontal sigma', 'sigma'), by_default('sigma_vert', 'vertical sigma', 'sigma'),
      number('mean_horz', 'horizontal mean', 0.5), number('mean_vert', 'vertical mean', 0.5),
      { arg = 'tensor', type = 'torch.Tensor', help = 'result (width and height are then its own)' }
end

-- A Gaussian, height x width.
function image.gaussian(...)
   local a = dok.unpack({ ... }, 'image.gaussian', 'returns a 2D gaussian kernel', shape_arguments(0.25))
   if a.tensor then
      assert(a.tensor:dim() == 2, 'expecting 2D tensor')
      assert(a.tensor:nElement() > 0, 'expecting non-empty tensor')
   end
   local gauss = a.tensor or torch.Tensor(a.height, a.width)
   -- in the type of the result, but for the exponential
   local round = gauss:type() == 'torch.DoubleTensor' and function(v) return v end or single
   local height, width = gauss:size(1), gauss:size(2)
   local function distances(size, mean, sigma)
      local centre, scale = round(round(round(mean) * size) + 0.5), round(1 / round(round(sigma) * size))
      local squares = {}
      for k = 1, size do squares[k] = round(round(round(k - centre) * scale) ^ 2) end
      return squares
   end
   local across = distances(width, a.mean_horz, a.sigma_horz)
   local down = distances(height, a.mean_vert, a.sigma_vert)
   local amplitude, row, column = round(a.amplitude), 1, 0
   gauss:apply(function()
      column = column + 1
      if column > width then row, column = row + 1, 1 end
      return amplitude * math.exp(-0.5 * round(across[column] + down[row]))
   end)
   if a.normalize then
      local sum = 0
      gauss:apply(function(value) sum = round(sum + value) end)
      gauss:mul(round(1 / sum))
   end
   return gauss
end

function image.gaussian1D(...)
   local a = dok.unpack({ ... }, 'image.gaussian1D', 'returns a 1D gaussian kernel',
      number('size', 'size of the kernel', 3), number('sigma', 'sigma, a part of the size', 0.25),
      number('amplitude', 'largest value', 1),
      { arg = 'normalize', type = 'boolean', help = 'make the sum 1', default = false },
      number('mean', 'mean, a part of the size', 0.5),
      { arg = 'tensor', type = 'torch.Tensor', help = 'result (the size is then its own)' })
   local gauss = a.tensor
   if gauss then
      assert(gauss:dim() == 1, 'expecting 1D tensor')
      assert(gauss:nElement() > 0, 'expecting non-empty tensor')
   else
      gauss = torch.Tensor(a.size)
   end
   local size = gauss:size(1)
   local centre = a.mean * size + 0.5
   for i = 1, size do gauss[i] = a.amplitude * math.exp(-((i - centre) / (a.sigma * size)) ^ 2 / 2) end
   if a.normalize then gauss:div(gauss:sum()) end
   return gauss
end

-- A Laplacian: a peak surrounded by negative values, height x width.
function image.laplacian(...)
   local a = dok.unpack({ ... }, 'image.laplacian', 'returns a 2D Laplacian kernel', shape_arguments(0.1))
   local x0, y0 = a.mean_horz * a.width + 0.5, a.mean_vert * a.height + 0.5
   local laplacian = torch.Tensor(a.height, a.width)
   for i = 1, a.height do
      for j = 1, a.width do
         -- Torch7 uses the horizontal values for rows, too
         local distance = ((i - x0) / (a.sigma_horz * a.width)) ^ 2 / 2
            + ((j - y0) / (a.sigma_vert * a.height)) ^ 2 / 2
         laplacian[i][j] = (1 - distance) * a.amplitude * math.exp(-distance)
      end
   end
   if a.normalize then laplacian:div(laplacian:sum()) end
   return laplacian
end

local CONVOLVE = '[destination,] source, kernel [, mode full | valid | same]'

-- Convolves every channel with a 2-D kernel, or each channel with its own from a 3-D kernel.
function image.convolve(...)
   local list, n = { ... }, select('#', ...)
   if not torch.isTensor(list[3]) then table.insert(list, 1, false) end
   local dst, src, filter, mode = unpack(list, 1, n + 1)
   if not torch.isTensor(src) or not torch.isTensor(filter) then arguments.wrong('image.convolve', CONVOLVE) end
   mode = arguments.choice('image.convolve', 'mode', mode, { 'valid', 'full', 'same' })
   if filter:dim() == 2 and src:dim() == 3 then
      filter = filter:typeAs(src):contiguous():view(1, filter:size(1), filter:size(2)):expand(src:size(1),
         filter:size(1), filter:size(2)):contiguous()
   end
   local result = torch.conv2(src, filter, mode == 'valid' and 'V' or 'F')
   if mode == 'same' then
      for d = result:dim() - 1, result:dim() do
         result = result:narrow(d, math.ceil(filter:size(d) / 2), src:size(d))
      end
   end
   return dst and dst:resizeAs(result):copy(result) or result
end

-- [destination,] source, scales: a list of images, smoothed one after another before scaling
function image.gaussianpyramid(...)
   local dst, src, scales = ...
   if select('#', ...) == 2 then dst, src, scales = {}, ... end
   if type(dst) ~= 'table' or not torch.isTensor(src) or type(scales) ~= 'table' then
      arguments.wrong('image.gaussianpyramid', '[destination,] source, scales')
   end
   if src:dim() ~= 2 and src:dim() ~= 3 then dok.error('src image must be 2D or 3D', 'image.gaussianpyramid') end
   local smoothing = image.gaussian{ width = 3, normalize = true }:typeAs(src)
   local smooth = src
   for i, scale in ipairs(scales) do
      local sizes = src:size()
      for d = src:dim() - 1, src:dim() do sizes[d] = src:size(d) * scale end
      dst[i] = (dst[i] or src.new()):resize(sizes)
      if scale == 1 then dst[i]:copy(smooth) else image.scale(dst[i], smooth, 'simple') end
      smooth = image.convolve(dst[i], smoothing, 'same')
   end
   return dst
end

-- Local contrast normalization of a grey image with a kernel (default: a 9 x 9 Gaussian). Each neighbourhood gets mean
-- 0 and, if its deviation is larger, deviation 1.
function image.lcn(img, filter)
   filter = filter or image.gaussian{ size = 9, sigma = 1.591 / 9, normalize = true }
   if not (img:dim() == 2 or (img:dim() == 3 and img:size(1) == 1)) then error('grayscale image expected', 2) end
   local x = img:double():clone()
   if x:dim() == 3 then x = x[1] end
   x:add(-x:mean()):div(x:std())
   filter = filter:double()
   local mean = torch.conv2(x, filter)
   local variance = torch.conv2(torch.cmul(x, x), filter):add(-1, torch.cmul(mean, mean))
   local deviation = variance:clamp(0, math.huge):sqrt():clamp(1, math.huge)
   local middle = x:narrow(1, math.floor(filter:size(1) / 2) + 1, mean:size(1)):narrow(2,
      math.floor(filter:size(2) / 2) + 1, mean:size(2))
   return middle:clone():add(-1, mean):cdiv(deviation)
end

-- The image with a border of `value`, as wide as the filter requires.
local function framed(img, filter, value)
   local rows, columns = (filter:size(1) - 1) / 2, (filter:size(2) - 1) / 2
   local frame = img.new(img:size(1) + 2 * rows, img:size(2) + 2 * columns):fill(value)
   frame:narrow(1, rows + 1, img:size(1)):narrow(2, columns + 1, img:size(2)):copy(img)
   return frame
end

local function filter_for(img, filter) return filter or torch.ones(3, 3):typeAs(img) end

-- Morphology of images of 0 and 1, with a kernel of odd size (default: 3 x 3 ones); pad: the value outside.
function image.erode(img, filter, pad)
   if not torch.isTensor(img) then arguments.wrong('image.erode', 'image [, kernel [, pad]]') end
   filter = filter_for(img, filter)
   return framed(img, filter, pad or 1):conv2(filter):eq(filter:sum()):typeAs(img)
end

function image.dilate(img, filter, pad)
   if not torch.isTensor(img) then arguments.wrong('image.dilate', 'image [, kernel [, pad]]') end
   filter = image.hflip(image.vflip(filter_for(img, filter)))
   return framed(img, filter, pad or 0):conv2(filter):gt(0):typeAs(img)
end
