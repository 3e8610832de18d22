-- Average-pooling of images and volumes of few elements.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local ways = require 'torch.core.ways'
local gates = require 'nn.shared.luajit.gates'
local rooms = require 'nn.shared.luajit.scratch'
local window_sums = require 'nn.shared.luajit.window_sums'

local luajit, no = ways.luajit, ways.no
local first_element = memory.first_element
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
      divisors[k] = g.kt * rows * columns
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

local function means(out, x, g)
   if not g then return false end
   x = rooms.in_one_piece(x)
   if not (gates.typed(x.T, x, out) and gates.apart(out, x) and gates.plain(x, x.T)
      and window_sums.begin(g, out, x)) then
      return false
   end
   average(x.T, g.taps, window_sums.reads_plainly(x))(g, first_element(out), window_sums.elements(g, x), nil,
      g.divisors)
   return true
end

local function slopes(gradient, x, grad_output, g)
   if not g or not window_sums.are_results(g, grad_output, x) then return false end
   grad_output = rooms.in_one_piece(grad_output)
   if not (gates.typed(x.T, x, gradient) and gates.apart(gradient, grad_output) and gates.plain(grad_output, x.T)
      and gates.resized_as(gradient, x)) then
      return false
   end
   local p = window_sums.zeros(g, gradient)
   distribute(x.T, g.taps, window_sums.reads_plainly(grad_output))(g, p, first_element(grad_output), nil, g.divisors)
   window_sums.write(g, gradient, p)
   return true
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
