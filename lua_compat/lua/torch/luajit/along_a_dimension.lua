-- Operations along a dimension in LuaJIT, for few elements: sums and extrema of each row, and selection by index. Each
-- function returns false, with nothing done, if Python has to compute. The kernels define the results.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local apart = require 'torch.core.overlap'
local few = require 'torch.luajit.elementwise'
local blas = require 'torch.luajit.blas'
local templates = require 'torch.core.templates'
local library = require 'torch.core.library'
local no = require('torch.core.ways').no
local first_places = require 'torch.luajit.find_first'

local count, is_contiguous, is_apart, first_element = memory.count, memory.is_contiguous, apart.is_apart,
   memory.first_element
local copy, reads_plainly = ffi.copy, blas.reads_plainly
local bor = bit.bor

local place = few.place

local along = {}

-- Up to this many elements LuaJIT is about as fast as Python: element by element; several rows at a time; and for
-- operations that PyTorch computes in several passes or after converting to doubles.
local MOST, MOST_IN_ROWS, MOST_IN_STEPS = 8192, 32768, 2 ^ 20

-- Views a tensor as outer x n x inner elements, with n along dimension d. Returns outer and inner, and the strides in
-- all three. nil if two loops cannot traverse the dimensions on one side of d.
local function outer_and_inner(t, d)
   local nd = t.nd
   if nd == 1 then return 1, 1, 0, t[2], 0 end
   if nd == 2 then
      if d == 1 then return 1, t[3], 0, t[2], t[4] end
      return t[1], 1, t[2], t[4], 0
   end
   if not is_contiguous(t) then return nil end
   local inner = 1
   for k = d + 1, nd do inner = inner * t[2 * k - 1] end
   local n = t[2 * d - 1]
   return count(t) / (inner * n), inner, n * inner, inner, 1
end
along.outer_and_inner = outer_and_inner

-- Writes to r a result for each row of t along d, of n elements. $begin declares the result, $go_on updates it with an
-- element $x of index k (from 0), and $write stores it at p[to].
local LOOPS = [[
   return function(r, l, t, d, biased)
      local n = t[2 * d - 1]
      local outer, inner, t_outer, step, t_inner = outer_and_inner(t, d)
      local r_outers, r_inners, r_outer, r_step, r_inner = outer_and_inner(r, d)
      if not outer or r_outers ~= outer or r_inners ~= inner then
         return no 'dimensions that two loops cannot follow'
      end
      local p, q, positions, get, to_type = first_element(r), first_element(t), l and first_element(l), t.T.get,
         t.T.cast
      for o = 0, outer - 1 do
         for i = 0, inner - 1 do
            local from, to = o * t_outer + i * t_inner, o * r_outer + i * r_inner
            $begin
            for k = 0, n - 1 do
               local x = get(q, from + k * step)
               $go_on
            end
            $write
         end
      end
      return true
   end
]]
local ONE_BY_ONE = {
   begin = 'local result = $start', go_on = 'result = $next(result, x)', write = 'p[to] = $result(result)',
   result = '$1', zero = 0, one = 1,
}

-- The same for elements that can be read directly, several rows at a time: their sums do not depend on each other, and
-- LuaJIT enters fewer loops. $begin, $go_on (with the elements at `at`) and $write are given for each row of a group.
local SEVERAL_ROWS = [[
   return function(r, t, d, biased)
      local n = t[2 * d - 1]
      local outer, rows, t_outer, step, row = outer_and_inner(t, d)
      local r_outers, r_rows, r_outer, _, r_row = outer_and_inner(r, d)
      if not outer or r_outers ~= outer or r_rows ~= rows or step == 0 then
         return no 'dimensions that two loops cannot follow'
      end
      if rows == 1 then outer, rows, row, r_row = 1, outer, t_outer, r_outer end
      local p, q = first_element(r), first_element(t)
      for o = 0, outer - 1 do
         local from, to, left = o * t_outer, o * r_outer, rows
         $groups
      end
      return true
   end
]]
local SEVERAL = {
   groups = '$group(8) $group(4) $group(1)', group = [[
      while left >= $1 do
         $begin($1)
         for at = from, from + (n - 1) * step, step do
            $go_on($1)
         end
         $write($1)
         from, to, left = from + $1 * row, to + $1 * r_row, left - $1
      end
   ]],
   begin = 'local $each($1){a@} = $each($1){$start}', result = '$1', first = '$read(from + @ * row)',
   go_on = '$each($1){a@} = $each($1){$next(a@, $x)}', x = '$read(at + @ * row)',
   write = '$each($1){p[to + @ * r_row]} = $each($1){$result(a@)}',
}

-- How elements are read: as numbers, or like C's whole numbers, of which the low bits are written.
local function reading(T, as_c)
   if as_c and T.whole then return { read = '(q[$1] + 0LL)', zero = '0LL', one = '1LL' } end
   return { read = T.whole and T.size == 8 and 'tonumber(q[$1])' or 'q[$1]', zero = 0, one = 1 }
end

local function merged(...)
   local all = {}
   for _, t in ipairs{ ... } do
      for name, value in pairs(t) do all[name] = value end
   end
   return all
end

-- Both loops for a row of formulas: the initial result ($start), its update with an element, and the final value; or
-- parts of the texts above. The second is one function for each type, with its own traces.
local function both_ways(row)
   local function compile(text, ...)
      return templates.compile('torch.luajit.along_a_dimension', text,
         { outer_and_inner = outer_and_inner, first_element = first_element, no = no }, merged(...))
   end
   return templates.on_first_call(function()
      return compile(LOOPS, ONE_BY_ONE, row, row.one_by_one or {})
   end), templates.for_each(types, function(T)
      return compile(SEVERAL_ROWS, SEVERAL, reading(T, row.as_c), { to_type = T.cast }, row, row.several or {})
   end)
end

-- Whether all elements can be read as numbers without rounding.
local EXACT = 2 ^ 53
local largest = few.reduction('local x = abs($x) if x > result then result = x end', true)
local function are_numbers(t)
   if t.T.size < 8 then return true end
   local bound = largest(t, t, 0)
   return bound and bound < EXACT
end

-- Given the extrema in r: sets l to the positions of the first elements equal to them, and r to those elements (zeros
-- have signs). One function for each type, as above.
local PLACES = [[
   return function(r, l, t, d)
      local n = t[2 * d - 1]
      local outer, inner, t_outer, step, t_inner = outer_and_inner(t, d)
      local p, q, positions = first_element(r), first_element(t), first_element(l)
      local from, to, i = 0, 0, 0
      for _ = 1, outer * inner do
         local at, extreme, k = from, p[to], 1
         if $searches and step == 1 and extreme ~= 0 then
            k = find(p, to, q, at, n) + 1
         else
            while k <= n - 3 do
               if q[at] == extreme or q[at + step] == extreme or q[at + 2 * step] == extreme
                  or q[at + 3 * step] == extreme then
                  break
               end
               at, k = at + 4 * step, k + 4
            end
            while k < n and q[at] ~= extreme do at, k = at + step, k + 1 end
            p[to] = q[at]
         end
         positions[to], to = k, to + 1
         from, i = from + t_inner, i + 1
         if i == inner then from, i = from + t_outer - inner * t_inner, 0 end
      end
      return true
   end
]]
local places_of = templates.for_each(types, function(T)
   local find = first_places.search(T)
   return templates.compile('torch.luajit.along_a_dimension', PLACES, { outer_and_inner = outer_and_inner,
      first_element = first_element, searches = find ~= nil, find = find })
end)

-- Functions(r, l, t, d) from such rows of formulas; l is nil if there are no positions.
local function loops(row)
   local one_by_one, several_rows = both_ways(row)
   return function(r, l, t, d, biased)
      local T, elements = t.T, count(t)
      local most = row.most or not l and T.real and T.size < 8 and MOST_IN_STEPS or MOST_IN_ROWS
      if elements > most or not (T.real or row.of_whole and T.whole) or few.LIMIT == 0 or not is_apart(r, t) then
         return no 'many elements, other types, or a result that shares memory'
      end
      local plain
      if T.real then plain = reads_plainly(t) else plain = row.as_c or are_numbers(t) end
      if plain and several_rows(T)(r, t, d, biased) then return not l or places_of(T)(r, l, t, d) end
      return T.real and elements <= MOST and one_by_one(r, l, t, d, biased)
   end
end

-- Functions(t, n) of n contiguous elements, at least four, that can be read directly: the largest or the smallest. If
-- that is zero, its sign is arbitrary.
local ALL = [[
   return function(t, n)
      local q = first_element(t)
      local a, b, c, e = q[0], q[1], q[2], q[3]
      for i = 4, n - 4, 4 do
         a, b, c, e = $most(a, q[i]), $most(b, q[i + 1]), $most(c, q[i + 2]), $most(e, q[i + 3])
      end
      for i = n - n % 4, n - 1 do a = $most(a, q[i]) end
      return $most($most(a, b), $most(c, e))
   end
]]

-- The largest or smallest of all elements: function(t); nil if this way does not apply.
local FEWEST_OF_ALL = 64 -- elements; below that, one by one is as fast
for name, most in pairs{ max_of_all = 'max($1, $2)', min_of_all = 'min($1, $2)' } do
   local compute = templates.compile('torch.luajit.along_a_dimension', ALL,
      { first_element = first_element, most = most })
   along[name] = function(t)
      local n = count(t)
      if n < FEWEST_OF_ALL or not t.T.real or not few.is_dense(t) or not few.fits_for_now(n)
         or not reads_plainly(t) then
         return no 'many elements, or NaNs'
      end
      local extreme = compute(t, n)
      return extreme ~= 0 and extreme or nil
   end
end

-- The variance from the sum of a row and the sum of its squares, as the kernel computes it. biased: divided by n
-- instead of n - 1.
local function variance_of(sum, squares, n, biased, to_type)
   local fewer = biased and n or n > 1 and n - 1 or 0 / 0
   local factor, mean = biased and 1 or to_type(n / fewer), sum / n
   local result = squares / fewer - factor * mean * mean
   return result < 0 and 0 or result
end

local MOMENTS = {
   most = MOST_IN_STEPS, variance_of = variance_of,
   one_by_one = {
      begin = 'local sum, squares = 0, 0', go_on = 'sum, squares = sum + x, squares + to_type(x * x)',
      write = 'p[to] = $result', variance = 'variance_of(sum, squares, n, biased, to_type)',
   },
   several = {
      groups = '$group(4) $group(1)',
      begin = 'local $each($1){a@} = $each($1){0} local $each($1){b@} = $each($1){0}', go_on = [[
         $each($1, ;){local x@ = $x}
         $each($1){a@} = $each($1){a@ + x@}
         $each($1){b@} = $each($1){b@ + to_type(x@ * x@)}
      ]],
      write = '$each($1){p[to + @ * r_row]} = $each($1){$result}',
      variance = 'variance_of(a@, b@, n, biased, to_type)',
   },
}

-- Sets r to the sums, products, means, sums of absolute values or Euclidean norms of t's rows along d: function(r, nil,
-- t, d). Variances and standard deviations: function(r, nil, t, d, biased).
for name, row in pairs{
   sum = { start = '$zero', next = '$1 + $2', as_c = true, of_whole = true },
   prod = { start = '$one', next = '$1 * $2', as_c = true, of_whole = true },
   mean = { start = '$zero', next = '$1 + $2', result = '$1 / n' },
   absolutes = { start = '$zero', next = '$1 + abs($2)' },
   length = { start = '$zero', next = '$1 + $2 * $2', result = 'sqrt($1)' },
   var = merged(MOMENTS, { result = '$variance' }), std = merged(MOMENTS, { result = 'sqrt(to_type($variance))' }),
} do
   along[name] = loops(row)
end

-- Sets r to the extrema and l to their positions; both are contiguous: function(r, l, t, d). NaN wins every comparison;
-- of equal elements the first is taken.
for name, relation in pairs{ max = '<=', min = '>=' } do
   local run = loops{
      start = '$first', next = name .. '($1, $2)', of_whole = true,
      one_by_one = { begin = 'local result, place = get(q, from), 0', relation = relation,
         go_on = 'if not (x $relation result) and result == result then result, place = x, k end',
         write = 'p[to], positions[to] = result, place + 1' },
   }
   along[name] = function(r, l, t, d)
      if not (is_contiguous(r) and is_contiguous(l)) then return no 'a result that is not contiguous' end
      return run(r, l, t, d)
   end
end

-- Whether two tensors of the same sizes have the same layout in memory.
local function same_steps(r, t)
   for d = 2, 2 * t.nd, 2 do
      if r[d] ~= t[d] then return false end
   end
   return true
end

-- Sets r, of t's sizes, to the cumulative sums or products along d: function(r, nil, t, d).
for name, row in pairs{ cumsum = { start = '$zero', next = '$1 + $2' },
   cumprod = { start = '$one', next = '$1 * $2' } } do
   row.as_c, row.write = true, ''
   row.one_by_one = { go_on = ONE_BY_ONE.go_on .. ' p[to], to = result, to + r_step' }
   row.several = { groups = '$group(4) $group(1)', -- more rows do not fit into the registers
      go_on = SEVERAL.go_on .. ' $each($1){p[at + @ * row]} = $each($1){a@}' }
   local run, by_rows = both_ways(row)
   along[name] = function(r, _, t, d)
      local T, n = t.T, count(t)
      if not (T.real or T.whole) or few.LIMIT == 0 or not is_apart(r, t) then
         return no 'other types, or a result that shares memory'
      end
      local are_few = n <= MOST or library.saves_pytorch(n)
      if not are_few and n > MOST_IN_ROWS then return no 'many elements' end
      if (T.whole or reads_plainly(t)) and same_steps(r, t) and by_rows(T)(r, t, d) then return true end
      if T.real then return (are_few or no 'many elements') and run(r, nil, t, d) end
      local in_order = is_contiguous(r) and few.contiguous(t, 1, n)
      return (in_order and same_steps(r, in_order) or no 'elements that are not contiguous')
         and by_rows(T)(r, in_order, d)
   end
end

-- Whether LuaJIT should handle these indices (Longs): they are few, or worth avoiding the loading of PyTorch, and t's
-- elements can be moved here. (PyTorch first subtracts 1 from each index and checks all; for a contiguous matrix LuaJIT
-- is faster.)
local MOST_IN_ONE_PIECE = 16 -- times few.LIMIT
local function few_indices(t, index)
   local n, times = count(index), index.nd <= 2 and is_contiguous(index) and MOST_IN_ONE_PIECE or 1
   return index.T.host == types.Long and (t.T.real or t.T.whole) and few.LIMIT > 0
      and (n <= times * few.LIMIT or few.fits_for_now(n)) or no 'many indices, or other types'
end

local count_outside = few.reduction('if not ($x >= 1 and $x <= v) then result = result + 1 end', true, 'WHOLE')
-- 0 if all indices are in 1..last, otherwise another number.
function along.outside(index, last)
   if index.T.host ~= types.Long or not index.T.here or few.LIMIT == 0 or not is_contiguous(index) then
      return count_outside(index, index, 0, last)
   end
   local places = first_element(index)
   for k = 0, count(index) - 1 do
      local at = places[k]
      if bor(at - 1, last - at) < 0 then return 1 end -- 64-bit whole numbers, all of them
   end
   return 0
end

-- How a loop over outer x inner indices along dimension d traverses another tensor, as in outer_and_inner. nil also if
-- the merged dimensions have other sizes there.
local function beside(t, d, outer, inner)
   local outers, inners, outer_step, step, inner_step = outer_and_inner(t, d)
   if not outers or t.nd > 2 and (outers ~= outer or inners ~= inner) then
      return no 'dimensions that two loops cannot follow'
   end
   return outer_step, step, inner_step
end

local cells = types.cells
local function cells_of(t) return ffi.cast(cells[t.T.size], first_element(t)) end

-- For each element size, a function that moves elements between a whole tensor, at indices along dimension d, and p:
-- the elements of `other` at the places of the indices, or one element for all (nil). Returns whether all indices were
-- in range. Elements are handled as whole numbers, so that NaNs keep their bits; traces are for one size.
local MOVING = [[
   return function(whole, p, d, index, other)
      local outer, inner, i_outer, i_step, i_inner = outer_and_inner(index, d)
      if not outer then return no 'dimensions that two loops cannot follow' end
      local q_outer, column, q_inner = beside(whole, d, outer, inner)
      local p_outer, p_step, p_inner = 0, 0, 0
      if other then p_outer, p_step, p_inner = beside(other, d, outer, inner) end
      if not (q_outer and p_outer) then return no 'dimensions that two loops cannot follow' end
      local q, places, last, n, q_step = cells_of(whole), first_element(index), whole[2 * d - 1], index[2 * d - 1], 0
      -- The innermost loop, of n, is the last dimension's or, if that is short, the longest: entering one takes time.
      if inner > 1 and (inner > SHORT or inner > n) then
         n, q_step, p_step, i_step, inner, q_inner, p_inner, i_inner = inner, q_inner, p_inner, i_inner, n, q_step,
            p_step, i_step
      end
      if n <= SHORT and outer > n then
         n, q_step, p_step, i_step, outer, q_outer, p_outer, i_outer = outer, q_outer, p_outer, i_outer, n, q_step,
            p_step, i_step
      end
      for o = 0, outer - 1 do
         for i = 0, inner - 1 do
            local base, from = o * q_outer + i * q_inner - column, o * p_outer + i * p_inner
            local k = o * i_outer + i * i_inner
            for _ = 1, n - 3, 4 do
               $look(4)
               $move(q[base + a0 * column], from)
               $move(q[base + q_step + a1 * column], from + p_step)
               $move(q[base + 2 * q_step + a2 * column], from + 2 * p_step)
               $move(q[base + 3 * q_step + a3 * column], from + 3 * p_step)
               base, from, k = base + 4 * q_step, from + 4 * p_step, k + 4 * i_step
            end
            for _ = 1, n % 4 do
               $look(1)
               $move(q[base + a0 * column], from)
               base, from, k = base + q_step, from + p_step, k + i_step
            end
         end
      end
      return true
   end
]]
-- Reads a group of indices from the k-th on; false if one of them is not in 1..last.
local LOOK = [[
   local $each($1){a@} = $each($1){places[k + @ * i_step]}
   if bor($each($1){a@ - 1}, $each($1){last - a@}) < 0 then return no 'an index that is out of range' end
]]

local gathering, scattering, SHORT = {}, {}, 8
for functions, move in pairs{ [gathering] = 'p[$2] = $1', [scattering] = '$1 = p[$2]' } do
   for size in pairs(cells) do
      functions[size] = templates.compile('torch.luajit.along_a_dimension', MOVING, { look = LOOK, move = move,
         first_element = first_element, cells_of = cells_of, beside = beside, no = no, SHORT = SHORT,
         outer_and_inner = outer_and_inner })
   end
end

-- Gathers: r = the elements of t at the indices along dimension d. function(r, t, d, index). Also false if an index is
-- out of range.
function along.gather(r, t, d, index)
   if t.T ~= r.T or not few_indices(t, index) or not is_apart(r, t, index) then
      return no 'many indices, other types, or a result that shares memory'
   end
   return gathering[t.T.size](t, cells_of(r), d, index, r)
end

local number_cell = ffi.new 'int64_t[1]'

-- Scatters: sets the elements of r at the indices (known to be in range) along dimension d to those of t, or to the
-- number; r lies apart from both. function(r, d, index, t, number)
function along.scatter(r, d, index, t, number)
   local T = r.T
   if t and t.T ~= T or not few_indices(r, index) then return no 'many indices, or other types' end
   local q = t and cells_of(t) or ffi.cast(cells[T.size], number_cell)
   if not t then ffi.cast(T.pointer, q)[0] = number end
   return scattering[T.size](r, q, d, index, t)
end

-- r = the slices of t at the indices (known to be in range) along dimension d.
local COPIED_AT_ONCE = 2 ^ 21 -- bytes; above that, several threads are faster
local BLOCK = 64 -- bytes; smaller blocks are copied faster element by element
function along.select(r, t, d, index)
   local T, n = r.T, index[1]
   if not T.here or index.T.host ~= types.Long or few.LIMIT == 0 or not is_contiguous(r)
      or not is_apart(r, t, index) then
      return no 'other types, or a result that is not contiguous or shares memory'
   end
   local elements = count(r)
   if elements * T.size > COPIED_AT_ONCE and not few.fits_for_now(elements) then
      return no 'many elements'
   end
   local places, place_step = first_element(index), index[2]
   local p, q, last = first_element(r), first_element(t), t[2 * d - 1]
   local outer, inner = outer_and_inner(r, d)
   if is_contiguous(t) and (d == 1 or inner * T.size >= BLOCK) then
      local bytes = inner * T.size
      for o = 0, outer - 1 do
         local to, from = p + o * n * inner, q + (o * last - 1) * inner
         for k = 0, n - 1 do copy(to + k * inner, from + place(places, k * place_step, last) * inner, bytes) end
      end
      return true
   end
   if t.nd ~= 2 or elements > few.LIMIT or not (T.real or T.whole) then return no 'slices with many short rows' end
   local get, rows, columns, row, column = T.get_moved, r[1], r[3], t[2], t[4]
   for i = 0, rows - 1 do
      for j = 0, columns - 1 do
         local at = place(places, (d == 1 and i or j) * place_step, last) - 1
         p[i * columns + j] = d == 1 and get(q, at * row + j * column) or get(q, i * row + at * column)
      end
   end
   return true
end

return along
