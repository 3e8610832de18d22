-- LAPACK's functions for small matrices: PyTorch's library routines, which the kernels also use, with the same
-- arguments but without the call through Python, which takes ten times as long. Matrices are column-major there. Each
-- function returns false, with nothing done, if Python has to compute: large matrices, numbers that are not finite, and
-- inputs that the routine rejects (Python raises the error).
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local blas = require 'torch.luajit.blas'
local few = require 'torch.luajit.elementwise'
local library = require 'torch.core.library'
local templates = require 'torch.core.templates'
local kind = require('torch.tensor.overlapping').kind
local luajit, no = require('torch.core.ways').of_kernels()
local room = require 'torch.core.scratch'()

local min, max = math.min, math.max
local count, is_contiguous, first_element, resize = memory.count, memory.is_contiguous, memory.first_element,
   memory.resize

local MOST = 2 ^ 14 -- elements of a matrix; for larger ones the call of Python is negligible

-- The routines' parameters (core/library.lua).
local TAKEN = { getrf = 'vvvvvv', getrs = 'cvvvvvvvv', potrf = 'cvvvv', potrs = 'cvvvvvvv', potri = 'cvvvv',
   syevd = 'ccvvvvvvvvv', gesdd = 'cvvvvvvvvvvvvv', geqrf = 'vvvvvvvv', orgqr = 'vvvvvvvvv' }

local found -- by type name; false if the library lacks one
local function find()
   if found then return end
   local all = {}
   for name, letter in pairs{ Double = 'd', Float = 's' } do
      local routines, are_complete = {}, true
      for routine, taken in pairs(TAKEN) do
         routines[routine] = library.routine(letter .. routine .. '_', taken)
         are_complete = are_complete and routines[routine]
      end
      all[name] = are_complete and routines
   end
   found = all
end
templates.on_first_use(find)

-- The routines for matrices (records); nil if Python has to compute.
local function routines_for(a, b)
   local T = a.T
   if not blas.enabled or few.LIMIT == 0 or not T.real or a.nd ~= 2 or count(a) > MOST then
      return no 'a matrix that is large, or whole numbers'
   end
   if b and (b.T ~= T or b.nd > 2 or count(b) > MOST or not blas.reads_plainly(b)) then
      return no 'a second matrix that is large, or numbers that are not finite'
   end
   if not blas.reads_plainly(a) or not library.counts_threads() then
      return no 'numbers that are not finite, or several threads'
   end
   find()
   return found[T.host.name] or no 'no LAPACK for the type'
end

-- Integer arguments for the routines. They have 32 bits in this library, perhaps 64 in another; the first half of the
-- latter is the former.
local wholes = {}
for k = 1, 6 do wholes[k] = ffi.new('int64_t[1]') end
local function whole(k, value)
   wholes[k][0] = value
   return wholes[k]
end
local info = ffi.new('int32_t[2]')

local function numbers(T, name, n) return ffi.cast(T.pointer, room(name, max(n, 1) * T.size)) end
local function indices(name, n) return room(name, 8 * max(n, 1)) end

-- A column-major copy of a matrix, or of a vector as a column.
local function columns_of(t, name)
   local rows, columns, row, column = t[1], 1, t[2], 0
   if t.nd == 2 then columns, column = t[3], t[4] end
   local p, q = numbers(t.T, name, rows * columns), first_element(t)
   if row == 1 and (columns == 1 or column == rows) then
      ffi.copy(p, q, rows * columns * t.T.size)
      return p, rows, columns
   end
   local i, j = 0, 0
   for k = 0, rows * columns - 1 do
      p[k] = q[i * row + j * column]
      i = i + 1
      if i == rows then i, j = 0, j + 1 end
   end
   return p, rows, columns
end

-- r = a matrix at p with strides `row` and `column`. As from the kernels, r becomes column-major, unless it already has
-- these sizes and is not contiguous. by_rows: r keeps its layout, or becomes row-major, as where Torch7 has LAPACK work
-- on a copy: for a result that replaces an argument. Returns true, to callers in parentheses: tail calls are slower.
local function write(r, p, rows, columns, row, column, by_rows)
   if r.nd ~= 2 or r[1] ~= rows or r[3] ~= columns or not by_rows and is_contiguous(r) then
      resize(r, 2, { rows, columns }, not by_rows and { 1, rows } or nil)
   end
   local q, r_row, r_column, i, j = first_element(r), r[2], r[4], 0, 0
   if row == 1 and r_row == 1 and r_column == column and column == rows then
      ffi.copy(q, p, rows * columns * r.T.size)
      return true
   end
   for _ = 1, rows * columns do
      q[i * r_row + j * r_column] = p[i * row + j * column]
      i = i + 1
      if i == rows then i, j = 0, j + 1 end
   end
   return true
end

local function write_vector(r, p, n)
   resize(r, 1, { n })
   local q, step = first_element(r), r[2]
   for i = 0, n - 1 do q[i * step] = p[i] end
end

local function are_plain(r, s, t)
   return not (kind(r) or s and kind(s) or t and kind(t)) or no 'a result on a device or of another kind'
end

-- Sets the n x n column-major numbers at p, of `size` bytes each, to zero above the diagonal, or below it.
local function clear_triangle(p, n, size, below)
   for j = 0, n - 1 do
      if below then ffi.fill(p + (j * n + j + 1), (n - j - 1) * size) else ffi.fill(p + j * n, j * size) end
   end
end

-- A routine's work buffer, whose size it returned when queried.
local query = { Double = ffi.new 'double[1]', Float = ffi.new 'float[1]' }
local function room_for_work(T, k)
   local n = query[T.host.name][0]
   return numbers(T, 'work', n), whole(k, n)
end

-- Whether the routine has done what was asked.
local function succeeded() return info[0] == 0 or no 'the routine refuses' end

-- Replaces the `sides` columns at x by the solutions of a * solution = x. Returns the factors of a; nil if it is
-- singular.
local function solve(routines, a, x, sides)
   local lu, n = columns_of(a, 'a')
   local order, pivots = whole(1, n), indices('pivots', n)
   routines.getrf(order, order, lu, order, pivots, info)
   if not succeeded() then return nil end
   routines.getrs('N', order, whole(2, sides), lu, order, pivots, x, order, info)
   return lu
end

function luajit.gesv(solution, factors, b, a)
   local routines = are_plain(solution, factors) and routines_for(a, b)
   if not routines then return false end
   local x, n, sides = columns_of(b, 'b')
   local lu = solve(routines, a, x, sides)
   return lu and write(solution, x, n, sides, 1, n, solution == b) and write(factors, lu, n, n, 1, n, factors == a)
end

function luajit.inverse(r, a)
   local routines = are_plain(r) and routines_for(a)
   if not routines then return false end
   local n = a[1]
   local x = numbers(a.T, 'b', n * n)
   ffi.fill(x, n * n * a.T.size)
   for i = 0, n - 1 do x[i * (n + 1)] = 1 end
   return solve(routines, a, x, n) and write(r, x, n, n, 1, n, r == a)
end

function luajit.potrf(r, a, uplo)
   local routines = are_plain(r) and routines_for(a)
   if not routines then return false end
   local factor, n = columns_of(a, 'a')
   local order = whole(1, n)
   routines.potrf(uplo, order, factor, order, info)
   if not succeeded() then return false end
   clear_triangle(factor, n, a.T.size, uplo == 'U')
   return (write(r, factor, n, n, 1, n, r == a))
end

function luajit.potrs(r, b, a, uplo)
   local routines = are_plain(r) and (a[1] == b[1] or no 'matrices of different sizes') and routines_for(a, b)
   if not routines then return false end
   local factor, n = columns_of(a, 'a')
   local x, _, sides = columns_of(b, 'b')
   local order = whole(1, n)
   routines.potrs(uplo, order, whole(2, sides), factor, order, x, order, info)
   return succeeded() and write(r, x, n, sides, 1, n, r == b)
end

function luajit.potri(r, a, uplo)
   local routines = are_plain(r) and routines_for(a)
   if not routines then return false end
   local p, n = columns_of(a, 'a')
   local order = whole(1, n)
   routines.potri(uplo, order, p, order, info)
   if not succeeded() then return false end
   for j = 0, n - 1 do
      for i = 0, j - 1 do
         if uplo == 'U' then p[i * n + j] = p[j * n + i] else p[j * n + i] = p[i * n + j] end
      end
   end
   return (write(r, p, n, n, 1, n, r == a))
end

function luajit.symeig(values, vectors, a, job, uplo)
   local routines = are_plain(values, vectors) and routines_for(a)
   if not routines then return false end
   local T, p, n = a.T, columns_of(a, 'a')
   local order, found_values = whole(1, n), numbers(T, 'values', n)
   local asked, count_of_whole = query[T.host.name], ffi.new('int32_t[2]')
   routines.syevd(job, uplo, order, p, order, found_values, asked, whole(2, -1), count_of_whole, whole(3, -1), info)
   local work, size = room_for_work(T, 2)
   routines.syevd(job, uplo, order, p, order, found_values, work, size, indices('whole work', count_of_whole[0]),
      whole(3, count_of_whole[0]), info)
   if not succeeded() then return false end
   if job ~= 'V' then ffi.fill(p, n * n * T.size) end
   write_vector(values, found_values, n)
   return (write(vectors, p, n, n, 1, n, vectors == a))
end

function luajit.svd(u, s, v, a, job)
   local routines = are_plain(u, s, v) and routines_for(a)
   if not routines then return false end
   local T, p, rows, columns = a.T, columns_of(a, 'a')
   local fewer = min(rows, columns)
   local left_columns, right_rows = job == 'A' and rows or fewer, job == 'A' and columns or fewer
   local values, left, right = numbers(T, 'values', fewer), numbers(T, 'left', rows * left_columns),
      numbers(T, 'right', right_rows * columns)
   local m, n, right_step, whole_work = whole(1, rows), whole(2, columns), whole(3, right_rows),
      indices('whole work', 8 * fewer)
   routines.gesdd(job, m, n, p, m, values, left, m, right, right_step, query[T.host.name], whole(4, -1), whole_work,
      info)
   local work, size = room_for_work(T, 4)
   routines.gesdd(job, m, n, p, m, values, left, m, right, right_step, work, size, whole_work, info)
   if not succeeded() then return false end
   write(u, left, rows, left_columns, 1, rows)
   write_vector(s, values, fewer)
   return (write(v, right, columns, right_rows, right_rows, 1, true))
end

-- The packed QR factorisation of a: a pointer to it, its scales, and its sizes.
local function factorize(routines, a)
   local T, p, rows, columns = a.T, columns_of(a, 'a')
   local scales, m, n = numbers(T, 'scales', min(rows, columns)), whole(1, rows), whole(2, columns)
   routines.geqrf(m, n, p, m, scales, query[T.host.name], whole(3, -1), info)
   local work, size = room_for_work(T, 3)
   routines.geqrf(m, n, p, m, scales, work, size, info)
   return p, scales, rows, columns
end

function luajit.geqrf(packed, tau, a)
   local routines = are_plain(packed, tau) and routines_for(a)
   if not routines then return false end
   local p, scales, rows, columns = factorize(routines, a)
   write_vector(tau, scales, min(rows, columns))
   return (write(packed, p, rows, columns, 1, rows, packed == a))
end

function luajit.qr(q, r, a)
   local routines = are_plain(q, r) and routines_for(a)
   if not routines then return false end
   local T, p, scales, rows, columns = a.T, factorize(routines, a)
   local fewer = min(rows, columns)
   local triangle = numbers(T, 'triangle', fewer * columns)
   for j = 0, columns - 1 do
      for i = 0, fewer - 1 do triangle[j * fewer + i] = i <= j and p[j * rows + i] or 0 end
   end
   local m, k = whole(1, rows), whole(2, fewer)
   routines.orgqr(m, k, k, p, m, scales, query[T.host.name], whole(3, -1), info)
   local work, size = room_for_work(T, 3)
   routines.orgqr(m, k, k, p, m, scales, work, size, info)
   write(q, p, rows, fewer, 1, rows)
   return (write(r, triangle, fewer, columns, 1, fewer, true))
end
