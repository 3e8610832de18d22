-- Diagonals, triangles, distances and histograms of small matrices, in LuaJIT. The kernels define the results. Each
-- function returns false, with nothing done, if Python has to compute.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local apart = require 'torch.core.overlap'
local no = require('torch.core.ways').no
local few = require 'torch.luajit.elementwise'
local templates = require 'torch.core.templates'

local count, is_contiguous, first_element = memory.count, memory.is_contiguous, memory.first_element
local in_one_piece, is_apart, min, max, floor = few.in_one_piece, apart.is_apart, math.min, math.max, math.floor

local matrices = {}

-- Copies n elements from q + from, with stride `step`, to p + to, with stride `other`.
local function move(p, to, other, q, from, step, n, get)
   for _ = 1, n do
      p[to] = get(q, from)
      to, from = to + other, from + step
   end
end

-- The offset of the first element of the k-th diagonal (k > 0: above the main one).
local function start_of_diagonal(k, row, column) return k >= 0 and k * column or -k * row end

-- r = the k-th diagonal of the matrix t, or a matrix with the vector t on it; r has its final sizes already.
function matrices.diagonal(r, t, k)
   local T, n = t.T, count(r)
   if r.T ~= T or not T.here or n > few.LIMIT * 4 or few.LIMIT == 0 or not is_apart(r, t) then
      return no 'many elements, other types, or a result that shares memory'
   end
   if t.nd == 2 then
      local first = start_of_diagonal(k, t[2], t[4])
      move(first_element(r), 0, r[2], first_element(t), first, t[2] + t[4], r[1], T.get_moved)
      return true
   end
   if not few.zero(r, n) then return false end
   move(first_element(r), start_of_diagonal(k, r[2], r[4]), r[2] + r[4], first_element(t), 0, t[2], t[1], T.get_moved)
   return true
end

-- The sum of the main diagonal; nil if Python has to compute.
function matrices.trace(t)
   local T, n = t.T, min(t[1], t[3])
   if n > few.LIMIT or few.LIMIT == 0 or not (T.real or T.whole) then return no 'many elements, or halves' end
   local p, get, step, at = first_element(t), T.get_as_c, t[2] + t[4], 0
   local sum = T.whole and 0LL or 0
   for _ = 1, n do sum, at = sum + get(p, at), at + step end
   return tonumber(sum)
end

-- r = t on and below its k-th diagonal, or on and above it, else zero. Each row is two blocks of bytes.
local MOST = 2 ^ 14 -- elements
local function triangle(r, t, k, below)
   local T, n = t.T, count(t)
   if r.T ~= T or not T.here or n > MOST or few.LIMIT == 0 or not is_contiguous(r) then
      return no 'many elements, other types, or a result that is not contiguous'
   end
   if r ~= t and not is_apart(r, t) then return no 'a result that shares memory' end
   local p, q, size, columns = first_element(r), in_one_piece(t, 1, n), T.size, t[3]
   if not q then return no 'elements that are not contiguous' end
   for i = 0, t[1] - 1 do
      -- the first column after the first block
      local column, at = max(0, min(columns, below and i + k + 1 or i + k)), i * columns
      local first, second = column * size, (columns - column) * size
      if below then
         if r ~= t then ffi.copy(p + at, q + at, first) end
         ffi.fill(p + (at + column), second)
      else
         ffi.fill(p + at, first)
         if r ~= t then ffi.copy(p + (at + column), q + (at + column), second) end
      end
   end
   return true
end
function matrices.tril(r, t, k) return triangle(r, t, k, true) end
function matrices.triu(r, t, k) return triangle(r, t, k, false) end

-- The n contiguous numbers at p = gain * the squared distances of `size` finite elements at q from each of n rows of as
-- many at u, four rows at a time: their sums do not depend on each other.
local DISTANCES = [[
   local $each($1){at@} = $each($1){(i + @) * size}
   local $each($1){sum@} = $each($1){0}
   for k = 0, size - 1 do
      local $each($1){x@} = $each($1){q[k] - u[at@ + k]}
      $each($1){sum@} = $each($1){sum@ + x@ * x@}
   end
   $each($1){p[i + @]} = $each($1){gain * sum@}
]]
local distances = templates.compile('torch.luajit.matrices', 'return function(p, n, q, u, size, gain) $fours(i) end',
   { elements = DISTANCES })

-- r = gain * the squared distances between the rows of a and those of b, which may have any number of dimensions.
local MOST_DIFFERENCES = 2 ^ 18
function matrices.squared_distances(r, a, b, gain)
   local T, rows, others = r.T, a[1], b[1]
   local n = count(a) / rows
   if not T.real or few.LIMIT == 0 or rows * count(b) > MOST_DIFFERENCES then
      return no 'many differences, or whole numbers'
   end
   if not (is_contiguous(r) and is_apart(r, a, b)) then return no 'a result that is not contiguous or shares memory' end
   local p, q, u = first_element(r), in_one_piece(a, 1, count(a)), in_one_piece(b, 2, count(b))
   if not (q and u and few.are_finite(T, count(a), q, q) and few.are_finite(T, count(b), u, u)) then
      return no 'numbers that are not finite, or not contiguous'
   end
   for i = 0, rows - 1 do distances(p + i * others, others, q + i * n, u, n, gain) end
   return true
end

-- The smallest and the largest of n finite elements.
local function range(p, n)
   local low, high = p[0], p[0]
   for k = 1, n - 1 do low, high = min(low, p[k]), max(high, p[k]) end
   return low, high
end

-- p[0] to p[bins - 1] = the number of the n finite elements at q in each of `bins` equal parts of low..high; others are
-- not counted. Computed in the elements' precision.
local function count_bins(p, bins, q, n, low, high, cast)
   for k = 0, bins - 1 do p[k] = 0 end
   local width, last = cast(high - low), bins - 1
   for k = 0, n - 1 do
      local x = q[k]
      if x >= low and x <= high then
         local bin = min(last, floor(cast(cast(cast(x - low) / width) * bins)))
         p[bin] = p[bin] + 1
      end
   end
end

-- Each row of r (or r, a vector) = the number of elements of t's row (or of t) in each bin. low, high: the range; if
-- they are equal, that of all elements.
local MOST_COUNTED = 2 ^ 15 -- elements
function matrices.histogram(r, t, low, high)
   local T, n, rows = t.T, count(t), r.nd == 2 and r[1] or 1
   if r.T ~= T or not T.real or n == 0 or n > MOST_COUNTED or few.LIMIT == 0 then
      return no 'many elements, or other types'
   end
   if not (is_contiguous(r) and is_apart(r, t)) then return no 'a result that is not contiguous or shares memory' end
   local p, q, bins, columns = first_element(r), in_one_piece(t, 1, n), r[2 * r.nd - 1], n / rows
   if not (q and few.are_finite(T, n, q, q)) then return no 'numbers that are not finite, or not contiguous' end
   if low == high then low, high = range(q, n) end
   if low == high then low, high = T.cast(low - 1), T.cast(high + 1) end
   if not (low < high) then return no 'bounds without a range' end
   for i = 0, rows - 1 do count_bins(p + i * bins, bins, q + i * columns, columns, low, high, T.cast) end
   return true
end

return matrices
