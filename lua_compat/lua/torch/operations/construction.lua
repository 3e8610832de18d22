-- New tensors with known contents, and tensors that are joined or cut from others.
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local is_apart = require('torch.core.overlap').is_apart
local errors = require 'torch.core.errors'
local tensors = require 'torch.tensor.tensor'
local few = require 'torch.luajit.elementwise'
local matrices = require 'torch.luajit.matrices'
local triples = require 'torch.luajit.cross_product'
local pointwise = require 'torch.operations.pointwise'
local overloads = require 'torch.tensor.overloads'
local way = require('torch.core.ways').of
local python = require('th.python').functions

local records = memory.records
local handle, resize, resize_as, count, first_element = memory.handle, memory.resize, memory.resize_as, memory.count,
   memory.first_element
local into = pointwise.into
local offsets = require('torch.operations.elements').offsets
local define, define_plain, floating = overloads.define, overloads.define_plain, overloads.floating

-- Whether the arguments are a list of sizes.
local function are_sizes(first, ...)
   if select('#', ...) == 0 and tensors.is_long_storage(first) then return true end
   if not tonumber(first) then return false end
   for k = 1, select('#', ...) do
      if not tonumber((select(k, ...))) then return false end
   end
   return true
end

local SIZES_USAGE = '*%sTensor* (LongStorage | dim1 [dim2...])'

-- Arguments: [result,] sizes... Returns the result's userdata and record, resized; nil if the arguments do not fit.
local function sized_result(T, result, ...)
   local r = records[result]
   local ud, sizes, nd
   if r and r.nd and r.T == T and are_sizes(...) then
      ud = result
      sizes, nd = tensors.read_all_sizes(1, ...)
   elseif are_sizes(result, ...) then
      -- first: a trace that continues after what makes a tensor has no `...`
      sizes, nd = tensors.read_all_sizes(1, result, ...)
      ud, r = memory.new_tensor(T)
   else
      return nil
   end
   resize(r, nd, sizes)
   return ud, r
end

for name, value in pairs{ zeros = 0, ones = 1 } do
   local function filled(method)
      return function(T, ...)
         local ud, r = sized_result(T, ...)
         if not ud then overloads.refuse_result(SIZES_USAGE:format(T.name), method, ...) end
         pointwise.fill(r, value)
         return ud
      end
   end
   define_plain(name, filled(false), nil, filled(true))
end

-- [result,] tensor, sizes...
local RESHAPE_USAGE = '[*%sTensor*] %sTensor (LongStorage | dim1 [dim2...])'
local function reshaping(method)
   return function(T, first, ...)
      local second = records[(...)]
      local ud, source, sizes, nd
      if second and second.nd and second.T == T and are_sizes(select(2, ...)) then
         ud, source = first, second
         sizes, nd = tensors.read_all_sizes(3, select(2, ...))
      elseif are_sizes(...) then
         source = records[first]
         ud = memory.new_tensor(T)
         sizes, nd = tensors.read_all_sizes(2, ...)
      end
      local r = records[ud]
      if not (r and r.nd and r.T == T and source and source.nd and source.T == T) then
         overloads.refuse(RESHAPE_USAGE:format(T.name, T.name), method, first, ...)
      end
      resize(r, nd, sizes)
      pointwise.copy(r, source)
      return ud
   end
end
define_plain('reshape', reshaping(false), nil, reshaping(true))

define('eye', { 'R m m=0', function(r, n, m)
   if n <= 0 then errors.argument(1, 'invalid argument', 'THTensorMath.c') end
   if m <= 0 then m = n end
   resize(r, 2, { n, m })
   pointwise.fill(r, 0)
   local ones = memory.temporary_view(r) -- the diagonal
   ones[1], ones[2], ones.nd = math.min(n, m), r[2] + r[4], 1
   pointwise.fill(ones, 1)
end })

-- Sets each element of r, which is in main memory, to value(i, a, b, c, cast), with i from 0.
local function fill_each(r, value, a, b, c)
   local p, set, cast, n = first_element(r), r.T.set, r.T.cast, count(r)
   if memory.is_contiguous(r) then
      for i = 0, n - 1 do set(p, i, value(i, a, b, c, cast)) end
      return
   end
   local i = 0
   p = r.S.p
   for at in offsets(r) do
      set(p, at, value(i, a, b, c, cast))
      i = i + 1
   end
end

local function term(i, from, step) return i * step + from end
local function sequence(r, from, step)
   if not r.T.here then return python.arithmetic_sequence(handle(r), from, step) end
   fill_each(r, term, from, step)
end
define('range', { 'R a a a=1', function(r, from, to, step)
   if not (step > 0 or step < 0) then errors.argument(3, 'step must be a non-null number', 'THTensorMath.c:2022') end
   if not ((step > 0 and to >= from) or (step < 0 and to <= from)) then
      errors.argument(2, 'upper bound and larger bound incoherent with step sign', 'THTensorMath.c:2024')
   end
   local n = math.floor((to - from) / step + 1)
   if count(r) ~= n then resize(r, 1, { n }) end
   into(r, sequence, from, step)
end })

-- from + i * (to - from) / (n - 1), rounded to the tensor's type after each step
local function even_term(i, from, all, steps, cast) return from + cast(cast(i * all) / steps) end
local function power_of_ten(i, from, all, steps, cast) return 10 ^ cast(even_term(i, from, all, steps, cast)) end
local function fill_evenly(r, value, from, to, n)
   local cast = r.T.cast
   from = cast(from)
   fill_each(r, value, from, cast(cast(to) - from), math.max(n - 1, 1))
end
local function even_sequence(r, from, to, n)
   if not r.T.here then return python.even_sequence(handle(r), from, to) end
   fill_evenly(r, even_term, from, to, n)
end
local function powers_of_ten(r, from, to, n)
   if not r.T.here then return python.powers_of_ten(handle(r), from, to) end
   fill_evenly(r, power_of_ten, from, to, n)
end
local function spaced(fill)
   return function(r, from, to, n)
      if not (n > 1 or (n == 1 and from == to)) then
         errors.argument(3, 'invalid number of points', 'THTensorMath.c')
      end
      if count(r) ~= n then resize(r, 1, { n }) end
      into(r, fill, from, to, n)
   end
end
define('linspace', { 'R n n m=100', spaced(even_sequence) }, floating)
define('logspace', { 'R n n m=100', spaced(powers_of_ten) }, floating)

local function triangle(kernel)
   local in_lua = way(kernel, matrices[kernel])
   local function compute(r, t, k)
      if not in_lua(r, t, k) then python[kernel](handle(r), handle(t), k) end
   end
   return function(r, t, k)
      if t.nd ~= 2 then errors.argument(1, 'expected a matrix', 'THTensorMath.c') end
      resize_as(r, t)
      into(r, compute, t, k)
   end
end
define('tril', { 'r T k=0', triangle('tril') })
define('triu', { 'r T k=0', triangle('triu') })

local diagonal_here = way('diag', matrices.diagonal)
local function diagonal(r, t, k)
   if not diagonal_here(r, t, k) then python.diag(handle(r), handle(t), k) end
end
define('diag', { 'r T m=0', function(r, t, k)
   if t.nd ~= 1 and t.nd ~= 2 then errors.argument(1, 'matrix or a vector expected', 'THTensorMath.c') end
   if t.nd == 1 then
      local n = t[1] + math.abs(k)
      resize(r, 2, { n, n })
   else
      local n = k >= 0 and math.min(t[1], t[3] - k) or math.min(t[1] + k, t[3])
      if n <= 0 then errors.argument(2, 'dimension 1 out of range of 0D tensor', 'THTensor.c:23') end
      resize(r, 1, { n })
   end
   into(r, diagonal, t, k)
end })

local cross_here = way('cross', triples.cross)
local function cross(r, a, b, d)
   if not cross_here(r, a, b, d) then python.cross(handle(r), handle(a), handle(b), d) end
end
define('cross', { 'r T T i=0', function(r, a, b, d)
   if a.nd ~= b.nd then
      errors.raise(('inconsistent tensor dimension %dD, %dD'):format(a.nd, b.nd), 'THTensorMath.c')
   end
   if not memory.same_size(a, b) then
      errors.raise(('inconsistent tensor sizes %s, %s'):format(pointwise.size_text(a), pointwise.size_text(b)),
         'THTensorMath.c')
   end
   if d == 0 then
      for k = a.nd, 1, -1 do
         if a[2 * k - 1] == 3 then d = k end
      end
      if d == 0 then
         errors.raise(('no dimension of size 3 in a: %s'):format(pointwise.size_text(a)), 'THTensorMath.c')
      end
   end
   if d > a.nd then errors.argument(3, ('dimension %d out of range'):format(d), 'THTensorMath.c') end
   if a[2 * d - 1] ~= 3 then errors.argument(3, ('dimension %d does not have size 3'):format(d), 'THTensorMath.c') end
   resize_as(r, a)
   into(r, cross, a, b, d)
end })

-- Concatenates tensors along dimension d; those without elements are skipped.
local function concatenate(r, list, d)
   local nd = 0
   for _, t in ipairs(list) do nd = math.max(nd, t.nd) end
   if #list == 0 then errors.raise('invalid number of inputs 0', 'THTensorMath.c:2711') end
   if d == -1 then d = math.max(nd, 1) end
   if d < 1 then errors.argument(4, ('invalid dimension %d'):format(d), 'THTensorMath.c:2712') end
   local full = math.max(nd, d)
   local sizes, total = {}, 0
   local filled = {} -- selected now, because r may be one of the empty ones, and is about to get elements
   for _, t in ipairs(list) do
      if t.nd > 0 then
         filled[#filled + 1] = t
         for k = 1, full do
            local size = k <= t.nd and t[2 * k - 1] or 1
            if k == d then
               total = total + size
            elseif sizes[k] and sizes[k] ~= size then
               errors.raise('inconsistent tensor sizes', 'THTensorMath.c:2729')
            else
               sizes[k] = size
            end
         end
      end
   end
   if total == 0 then return end
   sizes[d] = total
   for _, t in ipairs(filled) do
      if not is_apart(r, t) then -- resizing r must not change what is still to be read
         local fresh = memory.temporary(r.T)
         concatenate(fresh, list, d)
         resize(r, full, sizes)
         return pointwise.copy(r, fresh)
      end
   end
   resize(r, full, sizes)
   local first = 0
   for _, t in ipairs(filled) do
      local size = d <= t.nd and t[2 * d - 1] or 1
      local part = memory.temporary_view(r)
      part.off = r.off + first * r[2 * d]
      part[2 * d - 1] = size
      pointwise.copy(part, t)
      first = first + size
   end
end

define('cat', {
   'r T T i=-1', function(r, a, b, d) concatenate(r, { a, b }, d) end,
   'r A i=-1', function(r, list, d)
      local sources = {}
      for i, ud in ipairs(list) do
         local t = records[ud]
         if not (t and t.nd and t.T == r.T) then
            errors.raise(('expected %sTensor in tensor array'):format(r.T.name))
         end
         sources[i] = t
      end
      concatenate(r, sources, d)
   end,
})

-- Writes t to r, repeated as `times` says, if Lua can: both are viewed with the repetitions and the size of each
-- dimension as separate dimensions.
local repeat_in_lua = way('repeat_tensor', function(r, t, times, nd)
   local of_r, of_t, skipped = memory.copy_view(r), memory.copy_view(t), nd - t.nd
   of_r.nd, of_t.nd = 2 * nd, 2 * nd
   for d = 1, nd do
      local k = d - skipped
      local size, step = k >= 1 and t[2 * k - 1] or 1, k >= 1 and t[2 * k] or 0
      local at = 4 * d - 3
      of_r[at], of_r[at + 1], of_r[at + 2], of_r[at + 3] = times[d], r[2 * d] * size, size, r[2 * d]
      of_t[at], of_t[at + 1], of_t[at + 2], of_t[at + 3] = times[d], 0, size, step
   end
   return few.copy(of_r, of_t, count(r))
end)

-- result:repeatTensor(tensor, times...) or tensor:repeatTensor(times...)
local function repeat_tensor(result, tensor, ...)
   if type(tensor) == 'number' or tensors.is_long_storage(tensor) then
      return repeat_tensor(memory.new_tensor(tensors.check(result, 1).T), result, tensor, ...)
   end
   local r, t = tensors.check(result, 1), tensors.check(tensor, 2)
   local times, nd = { ... }, select('#', ...)
   if tensors.is_long_storage(times[1]) then times, nd = tensors.long_list(times[1]) end
   if nd < t.nd then
      error('Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor', 2)
   end
   local sizes = {}
   for d = 1, nd do
      local k, n = d - (nd - t.nd), errors.whole(times[d], d + 1)
      times[d], sizes[d] = n, n * (k >= 1 and t[2 * k - 1] or 1)
   end
   if not is_apart(r, t) then t = pointwise.copy_of(t) end
   resize(r, nd, sizes)
   for d = 1, nd do -- raises Torch7's errors, which come from unfolding the result along each dimension
      if times[d] < 1 then
         errors.raise(d == 1 and "calling 'unfold' on bad self (cannot unfold an empty tensor at THTensor.c:502)"
            or "bad argument #2 to 'unfold' (out of range at THTensor.c:504)")
      end
   end
   if count(t) > 0 and not repeat_in_lua(r, t, times, nd) then
      python.repeat_tensor(handle(r), handle(t), unpack(times, 1, nd))
   end
   return result
end

for code = 1, types.count do types[code].tensor_metatable.repeatTensor = repeat_tensor end

return { sized_result = sized_result, repeat_tensor = repeat_tensor }
