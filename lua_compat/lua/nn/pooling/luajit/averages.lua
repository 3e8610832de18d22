-- Average-pooling of images and volumes of few elements.
local ffi = require 'ffi'
local luajit, no = require('torch.core.ways').of_kernels()
local window_sums = require 'nn.shared.luajit.window_sums'

local min, max = math.min, math.max

-- Pooling: p = the means of q. Its gradient: the elements of p receive their shares of the gradients q. a: the divisor
-- of each window of all planes. Sums and quotients are rounded to the type after each step, as in Torch7.
local average = window_sums.sums '$each($1){p[k + @]} = $each($1){s@ / a[k + @]}'
local distribute = window_sums.loop{ window = 'local s = to_type($read(q, k) / a[k]) $all(p[$at] = $read(p, $at) + s)' }

-- The geometry of windows, and their divisors: the numbers of their elements, with or without those of the border.
local function complete(g, x)
   if not window_sums.complete(g, x) then return false end
   local divisors, of_image = ffi.new('int32_t[?]', g.n), not g.volumes and not g.with_border
   local above, before = of_image and g.ph or 0, of_image and g.pw or 0
   local bottom, right = g.height + 2 * g.ph - above, g.width + 2 * g.pw - before
   local row, column = 0, 0
   for k = 0, g.n - 1 do
      local top, left = row * g.dh, column * g.dw
      local rows, columns = min(top + g.kh, bottom) - max(top, above), min(left + g.kw, right) - max(left, before)
      divisors[k] = (g.kt or 1) * rows * columns
      column = column + 1
      if column == g.columns then column, row = 0, row + 1 end
      if row == g.rows then row = 0 end
   end
   g.divisors, g.bytes = divisors, g.bytes + 4 * g.n
   return g
end
local of_images = window_sums.geometry_of('kw, kh, dw, dh, pw, ph, by_ceil, with_border', complete, 'divisors')
local of_plain_volumes = window_sums.geometry_of('kt, kw, kh, dt, dw, dh', complete, 'with_border, divisors')

-- Windows of a volume with a border, or in ceil mode, are left to Python.
local function of_volumes(x, kt, kw, kh, dt, dw, dh, ...)
   for k = 1, select('#', ...) do
      if select(k, ...) ~= 0 then return no 'windows of volumes with a border, or in ceil mode' end
   end
   return of_plain_volumes(x, kt, kw, kh, dt, dw, dh)
end

local function means(out, x, g) return window_sums.reduce(average, g, out, x, g and g.divisors) end
local function slopes(gradient, x, grad_output, g)
   return window_sums.distribute(distribute, g, gradient, x, grad_output, g and g.divisors)
end

function luajit.spatial_average_pooling(out, x, kw, kh, dw, dh, pw, ph, by_ceil, with_border)
   return means(out, x, of_images(x, kw, kh, dw, dh, pw, ph, by_ceil, with_border))
end
function luajit.spatial_average_pooling_grad_input(gradient, x, grad_output, kw, kh, dw, dh, pw, ph, by_ceil,
   with_border)
   return slopes(gradient, x, grad_output, of_images(x, kw, kh, dw, dh, pw, ph, by_ceil, with_border))
end
function luajit.volumetric_average_pooling(out, x, ...) return means(out, x, of_volumes(x, ...)) end
function luajit.volumetric_average_pooling_gradient(gradient, x, grad_output, ...)
   return slopes(gradient, x, grad_output, of_volumes(x, ...))
end
