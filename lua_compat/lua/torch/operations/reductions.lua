-- Sums, extrema and sorting, over all elements or along a dimension, which keeps size 1.
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local errors = require 'torch.core.errors'
local tensors = require 'torch.tensor.tensor'
local overloads = require 'torch.tensor.overloads'
local few = require 'torch.luajit.elementwise'
local blas = require 'torch.luajit.blas'
local along = require 'torch.luajit.along_a_dimension'
local norms = require 'torch.luajit.norms'
local matrices = require 'torch.luajit.matrices'
local masks = require 'torch.luajit.masks'
local ordering = require 'torch.luajit.sorting.quicksort'
local is_apart = require('torch.core.overlap').is_apart
local pointwise = require 'torch.operations.pointwise'
local ways = require 'torch.core.ways'
local python = require('th.python').functions

local shaped_like, copy, into, beside = pointwise.shaped_like, pointwise.copy, pointwise.into, pointwise.beside
local handle, resize, resize_plain, resize_as, count = memory.handle, memory.resize, memory.resize_plain,
   memory.resize_as, memory.count
local define, floating = overloads.define, overloads.floating
local no, way = ways.no, ways.of

local function check_dimension(t, d, what, where, position)
   if not (d >= 1 and d <= t.nd) then errors.argument(position or 2, what:format(d), where) end
end

-- Resizes r to the sizes of t, with n elements in dimension d.
local function resize_along(r, t, d, n)
   local nd = t.nd
   if nd == 2 and resize_plain(r, 2, d == 1 and n or t[1], d == 2 and n or t[3]) then return end
   if nd == 1 and resize_plain(r, 1, n, 1) then return end
   local sizes = tensors.sizes_of(t)
   sizes[d] = n
   resize(r, nd, sizes)
end

local function reduction(kernel, what, where, position)
   local in_lua = way(kernel, along[kernel])
   local function compute(r, t, d, option)
      if in_lua(r, nil, t, d, option) then return end
      if option == nil then
         python[kernel](handle(r), handle(t), d)
      else
         python[kernel](handle(r), handle(t), d, option)
      end
   end
   return function(r, t, d, option)
      check_dimension(t, d, what or 'dimension %d out of range', where, position)
      resize_along(r, t, d, 1)
      into(r, compute, t, d, option)
   end
end

local function of_all(kernel, empty, what)
   return function(t, ...)
      if t.nd == 0 then
         if empty == nil then errors.argument(1, what or 'tensor must have one dimension', 'THTensorMath.c:576') end
         return empty
      end
      return python[kernel](handle(t), ...)
   end
end

-- Few elements, and floats, are added up in order, as in Torch7; many doubles in the order of BLAS.
local add_up = few.reduction('result = result + $x', 'IN_64_BITS', 'FLOATS')
local sum_of_many = of_all('sum_all', 0)
local function adding_up(name)
   local in_luajit, by_blas = way(name, add_up), way(name, blas.sum, 'blas')
   return function(t) return in_luajit(t, t, 0) or t.nd > 0 and by_blas(t) end
end
local sum_here, sum_for_mean = adding_up 'sum_all', adding_up 'mean_all'
local function sum_all(t) return sum_here(t) or sum_of_many(t) end

define('sum', { 'T', sum_all, 'r T i', reduction('sum', nil, 'THTensorMath.c:1713') })
local multiply_all = way('prod_all', few.reduction('result = result * $x', 'IN_64_BITS', 'REALS'))
local product_of_many = of_all('prod_all', 1)
define('prod', { 'T', function(t) return multiply_all(t, t, 1) or product_of_many(t) end, 'r T i',
   reduction('prod', nil, 'THTensorMath.c:1798') })
local mean_of_many = of_all('mean_all', nil, 'empty Tensor')
local function mean_all(t)
   local sum = sum_for_mean(t)
   return sum and sum / count(t) or mean_of_many(t)
end
define('mean', { 'T', mean_all, 'r T i', reduction('mean', 'invalid dimension %d', 'THTensorMath.c:2964') },
   floating)
local add_up_distances = few.reduction('local z = $x - v result = result + z * z', false, 'OF_LAYER')
for _, name in ipairs{ 'std', 'var' } do
   local of_many = of_all(name .. '_all', nil, 'empty Tensor')
   local of_few = way(name .. '_all', function(t, biased)
      local n = count(t)
      local sum = few.fits_for_now(n) and sum_for_mean(t)
      local squares = sum and add_up_distances(t, t, 0, sum / n)
      if not squares then return false end
      local variance = squares / (biased and n or n > 1 and n - 1 or 0 / 0)
      return name == 'std' and math.sqrt(variance) or variance
   end)
   define(name, {
      'T B=false', function(t, biased) return of_few(t, biased) or of_many(t, biased) end,
      'r T i B=false', reduction(name, 'invalid dimension %d', 'THTensorMath.c:2972', 3),
   }, floating)
end
local add_up_squares = few.reduction('local x = $x result = result + x * x', false, 'FLOATS')
local add_up_absolutes, count_others = few.reduction('result = result + abs($x)'),
   few.reduction('if $x ~= 0 then result = result + 1 end')
local norm_of_many = of_all('norm_all', 0)
-- Whether the p-norm is a root of a sum of powers. For other p, Python gives Torch7's results.
local function is_power(p) return p ~= 0 and p - p == 0 end
local add_up_powers = few.reduction('result = result + abs($x) ^ v')
local norm_here = way('norm_all', function(t, p)
   local sum
   if p == 2 then sum = add_up_squares(t, t, 0)
   elseif p == 1 or p == 0 then sum = (p == 1 and add_up_absolutes or count_others)(t, t, 0)
   else sum = is_power(p) and add_up_powers(t, t, 0, p) or not is_power(p) and no 'a power without a root' end
   return sum and norms.of_sum(sum, p)
end)
local norm_by_blas = way('norm_all', function(t, p)
   local squares = (p == 2 and t.nd > 0 or no 'a norm other than 2') and blas.sum(t, true)
   return squares and math.sqrt(squares)
end, 'blas')
local function norm_all(t, p) return norm_here(t, p) or norm_by_blas(t, p) or norm_of_many(t, p) end
local norm_along_here = way('norm', function(r, t, p, d)
   return p == 2 and along.length(r, nil, t, d) or p == 1 and along.absolutes(r, nil, t, d) or norms.along(r, t, p, d)
end)
local function norm_along(r, t, p, d)
   if not norm_along_here(r, t, p, d) then python.norm(handle(r), handle(t), d, p) end
end
define('norm', {
   'T n=2', norm_all,
   'r T n i', function(r, t, p, d)
      check_dimension(t, d, 'invalid dimension %d', 'THTensorMath.c:3083', 3)
      resize_along(r, t, d, 1)
      into(r, norm_along, t, p, d)
   end,
}, floating)
local renorm_here = way('renorm', norms.renorm)
local function renorm_into(r, t, p, d, maximum)
   if not renorm_here(r, t, p, d, maximum) then python.renorm(handle(r), handle(t), p, d, maximum) end
end
define('renorm', { 'R t n i n', function(r, t, p, d, maximum)
   if not (d >= 1 and d <= t.nd) then errors.argument(3, ('invalid dimension %d'):format(d), 'THTensorMath.c') end
   if p <= 0 then errors.argument(2, 'non-positive-norm not supported', 'THTensorMath.c') end
   if t.nd < 2 then
      errors.argument(1, ('need at least 2 dimensions, got %d dimensions'):format(t.nd), 'THTensorMath.c')
   end
   resize_as(r, t)
   into(r, renorm_into, r == t and t or beside(r, t), p, d, maximum)
end }, floating)
-- By norm; other norms use powers
local differences = {
   few.reduction('result = result + abs($x - $y)'),
   few.reduction('local z = $x - $y result = result + z * z'),
}
local powers_of_differences = few.reduction('result = result + abs($x - $y) ^ v')
local dist_here = way('dist', function(a, b, p)
   local add_up_differences = differences[p] or is_power(p) and powers_of_differences
   local sum = (add_up_differences or no 'a power without a root') and add_up_differences(a, b, 0, p)
   return sum and norms.of_sum(sum, p)
end)
define('dist', { 'T T n=2', function(a, b, p)
   pointwise.check_pair(a, b, 'tensor', 'src')
   local distance = dist_here(a, b, p)
   if distance then return distance end
   b = shaped_like(a, b)
   return python.dist(handle(a), handle(b), p)
end }, floating)
-- All CUDA types have them.
local truth_types = { types.Byte }
for code = 1, types.count do
   if types[code].device then truth_types[#truth_types + 1] = types[code] end
end
local count_zeros = few.reduction('if $x == 0 then result = result + 1 end', true)
local all_here = way('all_nonzero', function(t)
   local done, all = masks.all(t)
   if done then return done, all end
   local zeros = count_zeros(t, t, 0)
   return zeros, zeros == 0
end)
local any_here = way('any_nonzero', function(t)
   local done, any = masks.any(t)
   if done then return done, any end
   local zeros = count_zeros(t, t, 0)
   return zeros, zeros and zeros < count(t)
end)
define('all', { 'T', function(t)
   if t.nd == 0 then errors.argument(1, 'empty Tensor', 'THTensorMath.c') end
   local done, all = all_here(t)
   if done then return all end
   return python.all_nonzero(handle(t))
end }, truth_types)
define('any', { 'T', function(t)
   if t.nd == 0 then errors.argument(1, 'empty Tensor', 'THTensorMath.c') end
   local done, any = any_here(t)
   if done then return any end
   return python.any_nonzero(handle(t))
end }, truth_types)
define('numel', { 'T', count })
local trace_here = way('trace', matrices.trace)
define('trace', { 'T', function(t)
   if t.nd ~= 2 then errors.argument(1, 'expected a matrix', 'THTensorMath.c') end
   return trace_here(t) or python.trace(handle(t))
end })

for _, name in ipairs{ 'cumsum', 'cumprod' } do
   local in_lua = way(name, along[name])
   local function in_python(r, t, d)
      if not in_lua(r, nil, t, d) then python[name](handle(r), handle(t), d) end
   end
   define(name, { 'r T i=1', function(r, t, d)
      check_dimension(t, d, 'dimension %d out of range', 'THTensorMath.c:1855')
      resize_as(r, t)
      into(r, in_python, t, d)
   end })
end

-- Values and their positions along a dimension
local function with_positions(kernel, what, where)
   local in_lua = way(kernel, along[kernel])
   local function compute(r, l, t, d)
      if not in_lua(r, l, t, d) then python[kernel](handle(r), handle(l), handle(t), d) end
   end
   return function(r, l, t, d)
      d = d or t.nd
      check_dimension(t, d, what, where)
      resize_along(r, t, d, 1)
      resize_as(l, r)
      into(r, compute, l, t, d)
   end
end

for name, row in pairs{ max = { '>', -math.huge }, min = { '<', math.huge } } do
   local relation, start = unpack(row)
   local of_plain = along[name .. '_of_all']
   local extreme = few.reduction(('local x = $x if x %s result or x ~= x then result = x end'):format(relation), true,
      'SAME_BITS')
   local of_many = of_all(name .. '_all', nil, (name == 'std' or name == 'var') and 'empty Tensor' or nil)
   local of_any = way(name .. '_all', function(t) return of_plain(t) or extreme(t, t, start) end)
   define(name, {
      'T', function(t) return of_any(t) or of_many(t) end,
      'r l T i', with_positions(name, 'dimension %d out of range', 'THTensorMath.c:1555'),
   })
end
-- Results that depend on the order of a row: with Torch7's algorithm, on a device with its kernel.
local function by_order(name)
   local compute = ways.alone(name, ordering[name])
   return function(r, l, t, d, count, k, largest, sorted)
      if t == r or t == l then t = pointwise.copy_of(t) end -- a result is resized before the elements are read
      resize_along(r, t, d, count)
      resize_as(l, r)
      if t.T.device then
         if sorted ~= nil then
            python[name](handle(r), handle(l), handle(t), d, k, largest, sorted)
         elseif k then
            python[name](handle(r), handle(l), handle(t), d, k)
         else
            python[name](handle(r), handle(l), handle(t), d)
         end
      else
         compute(r, l, t, d, k, largest, sorted)
      end
   end
end
local mode, kthvalue, topk = by_order 'mode', by_order 'kthvalue', by_order 'topk'

define('mode', { 'r l T i=nil', function(r, l, t, d)
   d = d or t.nd
   check_dimension(t, d, 'dimension out of range', 'THTensorMath.c:2434', 3)
   mode(r, l, t, d, 1)
end })
define('median', { 'r l T i=nil', function(r, l, t, d)
   d = d or t.nd
   check_dimension(t, d, 'dimension out of range', 'THTensorMath.c:2547', 3)
   kthvalue(r, l, t, d, 1, math.floor((t[2 * d - 1] + 1) / 2))
end })
define('kthvalue', { 'r l T m i=nil', function(r, l, t, k, d)
   d = d or t.nd
   check_dimension(t, d, 'dimension out of range', 'THTensorMath.c:2504', 3)
   if not (k > 0 and k <= t[2 * d - 1]) then
      errors.argument(2, 'selected index out of range', 'THTensorMath.c:2505')
   end
   kthvalue(r, l, t, d, 1, k)
end })
local sort = ways.alone('sort', ordering.sort)
define('sort', { 'r l T i=nil B=false', function(r, l, t, d, descending)
   d = d or t.nd
   check_dimension(t, d, 'invalid dimension %d', 'THTensorMath.c:2290')
   resize_as(r, t)
   resize_as(l, t)
   if t.T.device then
      python.sort(handle(r), handle(l), handle(t), d, descending)
   else
      if not is_apart(r, t) then
         copy(r, t) -- a result that shares its elements then holds what Torch7 sorts
         t = r
      end
      sort(r, l, t, d, descending)
   end
end })
define('topk', { 'r l T m=1 i=nil B=false B=false', function(r, l, t, k, d, largest, sorted)
   d = d or t.nd
   check_dimension(t, d, 'dim not in range', 'THTensorMath.c:2567', 3)
   if not (k > 0 and k <= t[2 * d - 1]) then
      errors.argument(2, 'k not in range for dimension', 'THTensorMath.c:2570')
   end
   topk(r, l, t, d, k, k, largest, sorted)
end })

local function count_bins(kernel)
   local function in_python(r, t, low, high) python[kernel](handle(r), handle(t), low, high) end
   return function(r, t, low, high)
      low, high = t.T.cast(low), t.T.cast(high)
      if r.nd > 0 and not matrices.histogram(r, t, low, high) then into(r, in_python, t, low, high) end
   end
end
local histogram, histograms = count_bins 'histc', count_bins 'bhistc'
define('histc', { 'r T m=100 d=0 d=0', function(r, t, bins, low, high)
   if t.nd == 0 and low == high then errors.argument(1, 'tensor must have one dimension', 'THTensorMath.c:558') end
   resize(r, 1, { bins })
   histogram(r, t, low, high)
end }, floating)
define('bhistc', { 'r T m=100 d=0 d=0', function(r, t, bins, low, high)
   if t.nd ~= 2 then
      local text = t.nd > 2 and 'invalid dimension %d, the input must be a 2d tensor' or 'invalid dimension %d'
      errors.argument(2, text:format(t.nd > 2 and t.nd or 2), 'THTensorMath.c:3281')
   end
   resize(r, 2, { t[1], bins })
   if r.nd < 2 then -- no bins
      local text = 'inconsistent tensor size, expected tensor [%d x %d] and hist [%d] to have the same number of '
      errors.raise((text .. 'dimensions'):format(t[1], t[3], t[1]))
   end
   histograms(r, t, low, high)
end }, floating)
