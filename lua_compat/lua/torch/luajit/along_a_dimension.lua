-- Few elements along a dimension, computed here: sums and extrema of each row, and rows selected by their indices. Each
-- of these gives false, with nothing done, where it is for Python; what the results are, the kernels say.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local apart = require 'torch.core.overlap'
local few = require 'torch.luajit.elementwise'
local blas = require 'torch.luajit.blas'
local compiled = require 'torch.core.templates'
local library = require 'torch.core.library'
local first_places = require 'torch.luajit.find_first'

local count, is_contiguous, is_apart, first_element = memory.count, memory.is_contiguous, apart.is_apart,
   memory.first_element
local copy, tonumber, reads_plainly, last_offset = ffi.copy, tonumber, blas.reads_plainly, apart.last_offset
local band, bor, bnot, arshift, tobit = bit.band, bit.bor, bit.bnot, bit.arshift, bit.tobit

local place = few.place

local along = {}

local function read(p, i) return p[i] end

-- As many elements cost about as much in Python as here: one by one, and several rows at a time; and what PyTorch first
-- makes doubles of, or goes through several times.
local MOST, MOST_IN_ROWS, MOST_IN_STEPS = 8192, 32768, 2 ^ 20

-- A tensor as outer x n x inner elements, n of them along dimension d: the numbers of the other two, and the steps in
-- all three. nil where two loops cannot follow the dimensions on one side of d.
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

-- r = the results over each row of t along d: `result` begins as START, BODY goes on with x at index k (from 0), and
-- WRITE leaves it at p[to].
local LOOPS = [[
   local outer_and_inner, first_element, sqrt = ...
   return function(r, l, t, d)
      local n = t[2 * d - 1]
      local outer, inner, t_outer, step, t_inner = outer_and_inner(t, d)
      local r_outers, r_inners, r_outer, _, r_inner = outer_and_inner(r, d)
      if not outer or r_outers ~= outer or r_inners ~= inner then return false end
      local p, q, positions, get = first_element(r), first_element(t), l and first_element(l), t.T.get
      for o = 0, outer - 1 do
         for i = 0, inner - 1 do
            local from, to = o * t_outer + i * t_inner, o * r_outer + i * r_inner
            local result, place = START, 0
            for k = 0, n - 1 do
               local x = get(q, from + k * step)
               BODY
            end
            WRITE
         end
      end
      return true
   end
]]

-- The same for elements that may be read as they are, eight or four rows at a time: their sums do not wait for each
-- other, and LuaJIT enters fewer loops. BEGIN, GO_ON with the elements at `at` and FINISH are for each row, of which @
-- is the number; READ(place) is an element.
local SEVERAL_ROWS = [[
   local outer_and_inner, first_element, tonumber, start, go_on, finish = ...
   return function(r, t, d)
      local n = t[2 * d - 1]
      local outer, rows, t_outer, step, row = outer_and_inner(t, d)
      local r_outers, r_rows, r_outer, _, r_row = outer_and_inner(r, d)
      if not outer or r_outers ~= outer or r_rows ~= rows or step == 0 then return false end
      if rows == 1 then outer, rows, row, r_row = 1, outer, t_outer, r_outer end
      local p, q = first_element(r), first_element(t)
      for o = 0, outer - 1 do
         local from, to, left = o * t_outer, o * r_outer, rows
         GROUPS
      end
      return true
   end
]]
local GROUP = [[
   while left >= COUNT do
      BEGIN
      for at = from, from + (n - 1) * step, step do
         GO_ON
      end
      FINISH
      from, to, left = from + COUNT * row, to + COUNT * r_row, left - COUNT
   end
]]

-- How elements are read: as numbers; as C computes with whole ones, of which the last bits are what is written.
local function as_number(T) return T.whole and T.size == 8 and 'tonumber(q[%s])' or 'q[%s]' end
local function as_c_does(T) return T.whole and '(q[%s] + 0LL)' or 'q[%s]' end

-- By type, a function(r, t, d), with traces of its own; parts: BEGIN, GO_ON, FINISH.
local function several_rows(parts, reading, ...)
   local functions = { ... }
   return compiled.for_each(types, function(T)
      local groups = {}
      for k, rows in ipairs{ 8, 4, 1 } do
         local text = GROUP:gsub('%f[%w]%u%u[%u_]*%f[%W]', parts):gsub('READ(%b())',
            function(place) return reading(T):format(place:sub(2, -2)) end)
         groups[k] = compiled.written_out(text:gsub('COUNT', rows), rows)
      end
      return compiled.from_text(SEVERAL_ROWS:gsub('GROUPS', table.concat(groups)),
         'torch.luajit.along_a_dimension')(outer_and_inner, first_element, tonumber, unpack(functions))
   end)
end

-- Whether all elements may be read as numbers.
local EXACT = 2 ^ 53
local largest = few.reduction('local x = abs(X) if x > result then result = x end', true)
local function are_numbers(t)
   if t.T.size < 8 then return true end
   local bound = largest(t, t, 0)
   return bound and bound < EXACT
end

-- Once r holds the extrema: l = the positions of the first elements that equal them, which r becomes (zeros have
-- signs). By type, as above.
local PLACES = [[
   local outer_and_inner, first_element, find = ...
   return function(r, l, t, d)
      local n = t[2 * d - 1]
      local outer, inner, t_outer, step, t_inner = outer_and_inner(t, d)
      local p, q, positions = first_element(r), first_element(t), first_element(l)
      local from, to, i = 0, 0, 0
      for _ = 1, outer * inner do
         local at, extreme, k = from, p[to], 1
         if find and step == 1 and extreme ~= 0 then
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
local places_of = compiled.for_each(types, function(T)
   return compiled.from_text(PLACES, 'torch.luajit.along_a_dimension')(outer_and_inner, first_element,
      first_places.search(T))
end)

-- Functions(r, l, t, d) that do so; l is nil where there are no positions. reading: of the elements, for several rows.
local function loops(parts, start, go_on, finish, reading)
   local one_by_one = compiled.from_text(LOOPS:gsub('%f[%w]%u%u%u%u+%f[%W]', parts),
      'torch.luajit.along_a_dimension')(outer_and_inner, first_element, math.sqrt)
   local by_rows = several_rows({
      BEGIN = 'local EACH(a@) = EACH(start(READ(from + @ * row)))',
      GO_ON = 'EACH(a@) = EACH(go_on(a@, READ(at + @ * row)))',
      FINISH = 'EACH(p[to + @ * r_row]) = EACH(finish(a@, n))',
   }, reading or as_number, start, go_on, finish)
   return function(r, l, t, d)
      local T, elements = t.T, count(t)
      local most = not l and T.real and T.size < 8 and MOST_IN_STEPS or MOST_IN_ROWS
      if elements > most or not (T.real or reading and T.whole) or few.LIMIT == 0 or not is_apart(r, t) then
         return false
      end
      local plain
      if T.real then plain = reads_plainly(t, elements > MOST) else plain = reading == as_c_does or are_numbers(t) end
      if plain and by_rows(T)(r, t, d) then return not l or places_of(T)(r, l, t, d) end
      return T.real and elements <= MOST and one_by_one(r, l, t, d)
   end
end

-- Functions(t, n) of n neighbouring elements, at least four, that may be read as they are: the largest or smallest, of
-- which zeros are of any sign.
local ALL = [[
   local first_element, go_on = ...
   return function(t, n)
      local q = first_element(t)
      local a, b, c, e = q[0], q[1], q[2], q[3]
      for i = 4, n - 4, 4 do a, b, c, e = go_on(a, q[i]), go_on(b, q[i + 1]), go_on(c, q[i + 2]), go_on(e, q[i + 3]) end
      for i = n - n % 4, n - 1 do a = go_on(a, q[i]) end
      return go_on(go_on(a, b), go_on(c, e))
   end
]]

-- The largest and the smallest element: function(t); nil where that is not for this.
local FEWEST_OF_ALL = 64 -- elements; fewer are as fast one by one
for name, go_on in pairs{ max_of_all = math.max, min_of_all = math.min } do
   local compute = compiled.from_text(ALL, 'torch.luajit.along_a_dimension')(first_element, go_on)
   along[name] = function(t)
      local n = count(t)
      if n < FEWEST_OF_ALL or not t.T.real or not few.is_dense(t) or not few.fits_for_now(n)
         or not reads_plainly(t) then
         return nil
      end
      local extreme = compute(t, n)
      return extreme ~= 0 and extreme or nil
   end
end

local function zero(x) return x - x end -- of x's kind
local function one(x) return x - x + 1 end
local function itself(x) return x end
local function add(a, x) return a + x end
local function multiply(a, x) return a * x end

-- r = the sums, products, means of t along d: function(r, nil, t, d).
along.sum = loops({ START = '0', BODY = 'result = result + x', WRITE = 'p[to] = result' }, zero, add, itself, as_c_does)
along.prod = loops({ START = '1', BODY = 'result = result * x', WRITE = 'p[to] = result' }, one, multiply, itself,
   as_c_does)
along.mean = loops({ START = '0', BODY = 'result = result + x', WRITE = 'p[to] = result / n' },
   zero, add, function(a, n) return a / n end)

-- r = the sums of the absolute values of t's rows along d
local abs = math.abs
along.absolutes = loops({ START = '0', BODY = 'result = result + (x < 0 and -x or x)', WRITE = 'p[to] = result' },
   zero, function(a, x) return a + abs(x) end, itself)

-- r = the Euclidean lengths of t's rows along d
local sqrt = math.sqrt
along.length = loops({ START = '0', BODY = 'result = result + x * x', WRITE = 'p[to] = sqrt(result)' },
   zero, function(a, x) return a + x * x end, sqrt)

-- r = the extrema, l = their positions, both contiguous: function(r, l, t, d). A NaN counts as greater and as less than
-- anything, the first of equal elements comes first.
for name, relation in pairs{ max = '<=', min = '>=' } do
   local run = loops({ START = 'get(q, from)',
      BODY = ('if not (x %s result) and result == result then result, place = x, k end'):format(relation),
      WRITE = 'p[to], positions[to] = result, place + 1' }, itself, math[name], itself, as_number)
   along[name] = function(r, l, t, d) return is_contiguous(r) and is_contiguous(l) and run(r, l, t, d) end
end

-- r = the variances of t's rows along d, or their roots: from the sums and the sums of squares, as the kernel. biased:
-- divided by n instead of n - 1. Function(r, nil, t, d, biased).
local VARIANCES = [[
   local outer_and_inner, first_element, sqrt = ...
   return function(r, t, d, biased)
      local T, n = t.T, t[2 * d - 1]
      local outer, inner, t_outer, step, t_inner = outer_and_inner(t, d)
      local r_outers, r_inners, r_outer, _, r_inner = outer_and_inner(r, d)
      if not outer or r_outers ~= outer or r_inners ~= inner then return false end
      local p, q, get, cast = first_element(r), first_element(t), T.get, T.cast
      local fewer = biased and n or n > 1 and n - 1 or 0 / 0
      local factor = biased and 1 or cast(n / fewer)
      for o = 0, outer - 1 do
         for i = 0, inner - 1 do
            local at, sum, squares = o * t_outer + i * t_inner, 0, 0
            for _ = 1, n do
               local x = get(q, at)
               sum, squares, at = sum + x, squares + cast(x * x), at + step
            end
            local mean = sum / n
            local result = squares / fewer - factor * mean * mean
            if result < 0 then result = 0 end
            p[o * r_outer + i * r_inner] = FINISH
         end
      end
      return true
   end
]]
-- The same for elements that may be read as they are, four rows at a time, as above.
local VARIANCES_OF_FOUR = [[
   local outer_and_inner, first_element, finish = ...
   return function(r, t, d, biased)
      local n, cast = t[2 * d - 1], t.T.cast
      local outer, rows, t_outer, step, row = outer_and_inner(t, d)
      local r_outers, r_rows, r_outer, _, r_row = outer_and_inner(r, d)
      if not outer or r_outers ~= outer or r_rows ~= rows then return false end
      if rows == 1 then outer, rows, row, r_row = 1, outer, t_outer, r_outer end
      if step == 0 then return false end
      local p, q, row2, row3 = first_element(r), first_element(t), 2 * row, 3 * row
      for o = 0, outer - 1 do
         local from, to = o * t_outer, o * r_outer
         for _ = 1, rows - 3, 4 do
            local a, b, c, e, a2, b2, c2, e2 = 0, 0, 0, 0, 0, 0, 0, 0
            for at = from, from + (n - 1) * step, step do
               local w, x, y, z = q[at], q[at + row], q[at + row2], q[at + row3]
               a, b, c, e = a + w, b + x, c + y, e + z
               a2, b2, c2, e2 = a2 + cast(w * w), b2 + cast(x * x), c2 + cast(y * y), e2 + cast(z * z)
            end
            p[to], p[to + r_row] = finish(a, a2, n, biased, cast), finish(b, b2, n, biased, cast)
            p[to + 2 * r_row], p[to + 3 * r_row] = finish(c, c2, n, biased, cast), finish(e, e2, n, biased, cast)
            from, to = from + 4 * row, to + 4 * r_row
         end
         for _ = 1, rows % 4 do
            local a, a2 = 0, 0
            for at = from, from + (n - 1) * step, step do
               local w = q[at]
               a, a2 = a + w, a2 + cast(w * w)
            end
            p[to] = finish(a, a2, n, biased, cast)
            from, to = from + row, to + r_row
         end
      end
      return true
   end
]]

-- The variance that follows from the sums of a row and of its squares.
local function variance_of(sum, squares, n, biased, cast)
   local fewer = biased and n or n > 1 and n - 1 or 0 / 0
   local factor, mean = biased and 1 or cast(n / fewer), sum / n
   local result = squares / fewer - factor * mean * mean
   return result < 0 and 0 or result
end
local finishing = {
   var = variance_of,
   std = function(sum, squares, n, biased, cast) return sqrt(cast(variance_of(sum, squares, n, biased, cast))) end,
}

for name, finish in pairs{ var = 'result', std = 'sqrt(cast(result))' } do
   local run = compiled.from_text(VARIANCES:gsub('FINISH', finish), 'torch.luajit.along_a_dimension')(outer_and_inner,
      first_element, sqrt)
   local four_rows = compiled.from_text(VARIANCES_OF_FOUR, 'torch.luajit.along_a_dimension')(outer_and_inner,
      first_element, finishing[name])
   along[name] = function(r, _, t, d, biased)
      local elements = count(t)
      if not t.T.real or few.LIMIT == 0 or elements > MOST_IN_STEPS or not is_apart(r, t) then return false end
      return reads_plainly(t, elements > MOST) and four_rows(r, t, d, biased) or elements <= MOST
         and run(r, t, d, biased)
   end
end

-- Whether two tensors of the same sizes lie in memory in the same way.
local function same_steps(r, t)
   for d = 2, 2 * t.nd, 2 do
      if r[d] ~= t[d] then return false end
   end
   return true
end

-- r, of t's sizes, = the sums or products of the elements of each row along d up to each of them: function(r, nil, t,
-- d).
local RUNNING = [[
   local outer_and_inner, first_element = ...
   return function(r, t, d)
      local outer, inner, t_outer, step, t_inner = outer_and_inner(t, d)
      local r_outers, _, r_outer, r_step, r_inner = outer_and_inner(r, d)
      if not outer or not r_outers then return false end
      local p, q, get, n = first_element(r), first_element(t), t.T.get, t[2 * d - 1]
      for o = 0, outer - 1 do
         for i = 0, inner - 1 do
            local at, to, result = o * t_outer + i * t_inner, o * r_outer + i * r_inner, START
            for _ = 1, n do
               result = result OPERATOR get(q, at)
               p[to], at, to = result, at + step, to + r_step
            end
         end
      end
      return true
   end
]]
for name, row in pairs{ cumsum = { '0', '+', zero, add }, cumprod = { '1', '*', one, multiply } } do
   local start, operator, start_of_rows, go_on = unpack(row)
   local run = compiled.from_text(RUNNING:gsub('%u%u%u+', { START = start, OPERATOR = operator }),
      'torch.luajit.along_a_dimension')(outer_and_inner, first_element)
   local by_rows = several_rows({
      BEGIN = 'local EACH(a@) = EACH(start(READ(from + @ * row)))',
      GO_ON = 'EACH(a@) = EACH(go_on(a@, READ(at + @ * row))) EACH(p[at + @ * row]) = EACH(a@)',
      FINISH = '',
   }, as_c_does, start_of_rows, go_on)
   along[name] = function(r, _, t, d)
      local T, n = t.T, count(t)
      if not (T.real or T.whole) or few.LIMIT == 0 or not is_apart(r, t) then return false end
      local are_few = n <= MOST or library.saves_pytorch(n)
      if not are_few and n > MOST_IN_ROWS then return false end
      if (T.whole or reads_plainly(t)) and same_steps(r, t) and by_rows(T)(r, t, d) then return true end
      if T.real then return are_few and run(r, t, d) end
      local in_order = is_contiguous(r) and few.contiguous(t, 1, n)
      return in_order and same_steps(r, in_order) and by_rows(T)(r, in_order, d)
   end
end

-- Whether the indices, Longs, are few, or as many as PyTorch is not to be loaded for, and elements of t can be moved
-- here. (PyTorch first takes 1 from each, and looks at all: those of a matrix in one piece are faster here.)
local MOST_IN_ONE_PIECE = 16 -- times few.LIMIT
local function few_indices(t, index)
   local n, times = count(index), index.nd <= 2 and is_contiguous(index) and MOST_IN_ONE_PIECE or 1
   return index.T.host == types.Long and (t.T.real or t.T.whole) and few.LIMIT > 0
      and (n <= times * few.LIMIT or few.fits_for_now(n))
end

-- Whether n indices, read as their halves, are of 1 to last.
local function in_range(halves, n, last)
   local signs, high, k = 0, 0, 0 -- of all differences; the high halves of all
   for _ = 1, n - 3, 4 do
      local a, b, c, d = halves[k], halves[k + 2], halves[k + 4], halves[k + 6]
      signs = bor(signs, a - 1, last - a, b - 1, last - b, c - 1, last - c, d - 1, last - d)
      high, k = bor(high, halves[k + 1], halves[k + 3], halves[k + 5], halves[k + 7]), k + 8
   end
   for _ = 1, n % 4 do
      signs, high, k = bor(signs, halves[k] - 1, last - halves[k]), bor(high, halves[k + 1]), k + 2
   end
   return signs >= 0 and high == 0
end

-- How far apart the elements of t, a vector or matrix, are along dimension d; how far they go on from one index to the
-- next, and behind each `columns` of them.
local function steps_along(t, d, columns)
   if t.nd == 1 then return t[2], 0, 0 end
   if d == 2 then return t[4], 0, t[2] end
   return t[2], t[4], -columns * t[4]
end

-- How the loops over indices, outer x n x inner of them along dimension d, go through a tensor: as outer_and_inner has
-- it; nil also where the dimensions that it folds have other sizes.
local function beside(t, d, outer, inner)
   local outers, inners, outer_step, step, inner_step = outer_and_inner(t, d)
   if not outers or t.nd > 2 and (outers ~= outer or inners ~= inner) then return nil end
   return outer_step, step, inner_step
end

local cells = few.cells
local function cells_of(t) return ffi.cast(cells[t.T.size], first_element(t)) end

-- Functions for elements of each size, seen as whole numbers (NaNs keep their bits); traces are for one size. In the
-- first two no branch is taken at the end of a row, all sums are of 32 bits, and indices are read as their halves; the
-- other two take any layout.
local INDEXED = [[
   local band, bor, bnot, arshift, tobit, first_element, cells_of, outer_and_inner, beside, place = ...
   -- The elements of p, in the order that n indices lie in, = those of q at them, `q_column` apart; from one index to
   -- the next q goes on by `step`, behind each `columns` of them by `jump` more. Gives whether all indices were of 1 to
   -- last.
   local function gather(p, q, halves, n, columns, last, q_column, step, jump)
      columns, last, q_column, step, jump = tobit(columns), tobit(last), tobit(q_column), tobit(step), tobit(jump)
      local j, base = 0, tobit(-q_column)
      for k = 0, n - 1 do
         local at = halves[k + k]
         if bor(arshift(at - 1, 31), arshift(last - at, 31), halves[k + k + 1]) ~= 0 then return false end
         p[k] = q[tobit(base + tobit(at * q_column))]
         j = tobit(j + 1)
         local in_row = arshift(tobit(j - columns), 31) -- -1 or 0
         j = band(j, in_row)
         base = tobit(base + step + band(jump, bnot(in_row)))
      end
      return true
   end
   -- The elements of p, `p_column` apart, at n indices = those of q, in the order that the indices lie in; both go on
   -- as q does above.
   local function scatter(p, q, halves, n, columns, last, p_column, step, jump, q_step, q_jump)
      columns, last, p_column, step, jump, q_step, q_jump = tobit(columns), tobit(last), tobit(p_column), tobit(step),
         tobit(jump), tobit(q_step), tobit(q_jump)
      local j, base, from = 0, tobit(-p_column), 0
      for k = 0, n - 1 do
         local at = halves[k + k]
         if bor(arshift(at - 1, 31), arshift(last - at, 31), halves[k + k + 1]) ~= 0 then return false end
         p[tobit(base + tobit(at * p_column))] = q[from]
         j = tobit(j + 1)
         local in_row = arshift(tobit(j - columns), 31)
         j = band(j, in_row)
         base, from = tobit(base + step + band(jump, bnot(in_row))), tobit(from + q_step + band(q_jump, bnot(in_row)))
      end
      return true
   end
   -- The same of longer rows, `columns` of n indices each: there are loops for the rows, and four indices are looked at
   -- together.
   local function gather_rows(p, q, halves, n, columns, last, q_column, step, jump)
      local row = step * columns + jump
      for i = 0, n / columns - 1 do
         local base, k = i * row - q_column, i * columns
         for _ = 1, columns - 3, 4 do
            LOAD_FOUR
            if OUTSIDE then return false end
            p[k], p[k + 1], p[k + 2], p[k + 3] = q[base + a0 * q_column], q[base + step + a1 * q_column],
               q[base + 2 * step + a2 * q_column], q[base + 3 * step + a3 * q_column]
            base, k = base + 4 * step, k + 4
         end
         for _ = 1, columns % 4 do
            LOAD_ONE
            if OUTSIDE then return false end
            p[k] = q[base + a0 * q_column]
            base, k = base + step, k + 1
         end
      end
      return true
   end
   local function scatter_rows(p, q, halves, n, columns, last, p_column, step, jump, q_step, q_jump)
      local row, q_row = step * columns + jump, q_step * columns + q_jump
      for i = 0, n / columns - 1 do
         local base, from, k = i * row - p_column, i * q_row, i * columns
         for _ = 1, columns - 3, 4 do
            LOAD_FOUR
            if OUTSIDE then return false end
            p[base + a0 * p_column] = q[from]
            p[base + step + a1 * p_column] = q[from + q_step]
            p[base + 2 * step + a2 * p_column] = q[from + 2 * q_step]
            p[base + 3 * step + a3 * p_column] = q[from + 3 * q_step]
            base, from, k = base + 4 * step, from + 4 * q_step, k + 4
         end
         for _ = 1, columns % 4 do
            LOAD_ONE
            if OUTSIDE then return false end
            p[base + a0 * p_column] = q[from]
            base, from, k = base + step, from + q_step, k + 1
         end
      end
      return true
   end
   -- Whether r could become the elements of t at the indices of dimension d.
   local function gather_apart(r, t, d, index)
      local outer, inner, i_outer, i_step, i_inner = outer_and_inner(index, d)
      if not outer then return false end
      local t_outer, t_step, t_inner = beside(t, d, outer, inner)
      local r_outer, r_step, r_inner = beside(r, d, outer, inner)
      if not (t_outer and r_outer) then return false end
      local p, q, places, n, last = cells_of(r), cells_of(t), first_element(index), index[2 * d - 1], t[2 * d - 1]
      for o = 0, outer - 1 do
         for i = 0, inner - 1 do
            local to, from, where = o * r_outer + i * r_inner, o * t_outer + i * t_inner, o * i_outer + i * i_inner
            for _ = 1, n do
               local at = tonumber(places[where])
               if not (at >= 1 and at <= last) then return false end
               p[to] = q[from + (at - 1) * t_step]
               to, where = to + r_step, where + i_step
            end
         end
      end
      return true
   end
   -- Whether the elements of r at the indices (which are in range) of dimension d could become those of t, or if there
   -- is none that of q.
   local function scatter_apart(r, t, q, d, index)
      local outer, inner, i_outer, i_step, i_inner = outer_and_inner(index, d)
      if not outer then return false end
      local r_outer, r_step, r_inner = beside(r, d, outer, inner)
      local t_outer, t_step, t_inner = 0, 0, 0
      if t then t_outer, t_step, t_inner = beside(t, d, outer, inner) end
      if not (r_outer and t_outer) then return false end
      local p, places, n, last = cells_of(r), first_element(index), index[2 * d - 1], r[2 * d - 1]
      for o = 0, outer - 1 do
         for i = 0, inner - 1 do
            local to, from, where = o * r_outer + i * r_inner, o * t_outer + i * t_inner, o * i_outer + i * i_inner
            for k = 0, n - 1 do
               p[to + (place(places, where + k * i_step, last) - 1) * r_step] = q[from + k * t_step]
            end
         end
      end
      return true
   end
   return { gather = gather, scatter = scatter, gather_rows = gather_rows, scatter_rows = scatter_rows,
      gather_apart = gather_apart, scatter_apart = scatter_apart }
]]

-- Reads so many indices from the k-th on, and what is true where any of them is none of 1 to last.
local function looked_at(count)
   return compiled.written_out('local EACH(a@) = EACH(halves[k + k + 2 * @])', count),
      compiled.written_out('bor(EACH(a@ - 1), EACH(last - a@)) < 0 or bor(EACH(halves[k + k + 1 + 2 * @]), 0) ~= 0',
         count)
end
local load_four, outside_four = looked_at(4)
local load_one, outside_one = looked_at(1)
local INDEXED_ROWS = INDEXED:gsub('LOAD_FOUR(%s+if )OUTSIDE',
   function(between) return load_four .. between .. outside_four end)
   :gsub('LOAD_ONE(%s+if )OUTSIDE', function(between) return load_one .. between .. outside_one end)

local LONG_ROW = 16 -- indices

local indexed = {}
for size in pairs(cells) do
   indexed[size] = compiled.from_text(INDEXED_ROWS, 'torch.luajit.along_a_dimension')(band, bor, bnot, arshift, tobit,
      first_element, cells_of, outer_and_inner, beside, place)
end

-- The halves of indices in one piece, and how many there are, of elements of t, a vector or matrix; nil where they are
-- no such.
local halves, MOST_OFFSET = ffi.typeof 'int32_t *', 2 ^ 30
local function halves_of(t, index)
   if index.nd > 2 or not is_contiguous(index) or last_offset(t) >= MOST_OFFSET or not ffi.abi 'le' then return nil end
   return ffi.cast(halves, first_element(index)), count(index)
end

-- r = the elements of t at the indices of dimension d: function(r, t, d, index). False also where an index is out of
-- range.
function along.gather(r, t, d, index)
   if t.T ~= r.T or not few_indices(t, index) or not is_apart(r, t, index) then return false end
   local moves, at, n = indexed[t.T.size], halves_of(t, index)
   if not at or not is_contiguous(r) then return moves.gather_apart(r, t, d, index) end
   local columns = index[2 * index.nd - 1]
   local compute = columns >= LONG_ROW and moves.gather_rows or moves.gather
   return compute(cells_of(r), cells_of(t), at, n, columns, t[2 * d - 1], steps_along(t, d, columns))
end

local number_cell = ffi.new 'int64_t[1]'

-- Where the elements lie that are scattered into r: those of t, or if there is none a number of r's type. Nil where
-- that is for Python.
local function scattered(r, index, t, number)
   local T = r.T
   if t and t.T ~= T or not few_indices(r, index) or not is_apart(r, index, t) then return nil end
   if t then return cells_of(t) end
   local q = ffi.cast(cells[T.size], number_cell)
   ffi.cast(T.pointer, q)[0] = number
   return q
end

-- The elements of r at the indices of dimension d become those of t, or the number: function(r, d, index, t, number).
-- False also where an index is out of range.
function along.scatter(r, d, index, t, number)
   local q, at, n = scattered(r, index, t, number), halves_of(r, index)
   if not (q and at) or t and last_offset(t) >= MOST_OFFSET then return false end
   local columns, last, q_step, q_jump = index[2 * index.nd - 1], r[2 * d - 1], 0, 0
   if not in_range(at, n, last) then return false end
   if t then
      q_step = t[2 * t.nd]
      if t.nd == 2 then q_jump = t[2] - columns * q_step end
   end
   local r_column, step, jump = steps_along(r, d, columns)
   local moves = indexed[r.T.size]
   local compute = columns >= LONG_ROW and moves.scatter_rows or moves.scatter
   if not compute(cells_of(r), q, at, n, columns, last, r_column, step, jump, q_step, q_jump) then
      error('an index that lies where a result is written became invalid', 0)
   end
   return true
end

-- The same of any layout, and of indices that are in range.
function along.scatter_apart(r, d, index, t, number)
   local q = scattered(r, index, t, number)
   return q and indexed[r.T.size].scatter_apart(r, t, q, d, index)
end

-- r = the slices of t at the indices (which are in range) of dimension d.
local COPIED_AT_ONCE = 2 ^ 16 -- bytes
local BLOCK = 64 -- bytes; fewer are faster one by one
function along.select(r, t, d, index)
   local T, n = r.T, index[1]
   if not T.here or index.T.host ~= types.Long or few.LIMIT == 0 or not is_contiguous(r)
      or not is_apart(r, t, index) then
      return false
   end
   local elements = count(r)
   if (n > few.LIMIT or elements * T.size > COPIED_AT_ONCE) and not few.fits_for_now(elements) then return false end
   local places, place_step = first_element(index), index[2]
   local p, q, last = first_element(r), first_element(t), t[2 * d - 1]
   local outer, inner = outer_and_inner(r, d)
   if is_contiguous(t) and (d == 1 or inner * T.size >= BLOCK) then
      for o = 0, outer - 1 do
         for k = 0, n - 1 do
            copy(p + (o * n + k) * inner, q + (o * last + place(places, k * place_step, last) - 1) * inner,
               inner * T.size)
         end
      end
      return true
   end
   if t.nd ~= 2 or elements > few.LIMIT or not (T.real or T.whole) then return false end
   local get, rows, columns, row, column = T.real and T.get or read, r[1], r[3], t[2], t[4]
   for i = 0, rows - 1 do
      for j = 0, columns - 1 do
         local at = place(places, (d == 1 and i or j) * place_step, last) - 1
         p[i * columns + j] = d == 1 and get(q, at * row + j * column) or get(q, i * row + at * column)
      end
   end
   return true
end

return along
