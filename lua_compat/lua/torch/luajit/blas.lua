-- Products of matrices and vectors by the BLAS that the kernels also use, PyTorch's or NumPy's. The same routine gets
-- the same arguments, so the results have the same bits.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local apart = require 'torch.core.overlap'
local address_of = require('torch.core.blocks').address_of
local few = require 'torch.luajit.elementwise'
local finite = require('torch.luajit.finite').of_type
local templates = require 'torch.core.templates'
local library = require 'torch.core.library'
local python = require('th.python').functions
local room = require 'torch.core.scratch'()
local no = require('torch.core.ways').no

local max, ceil = math.max, math.ceil
local count, is_contiguous, may_overlap, last_offset = memory.count, memory.is_contiguous, apart.may_overlap,
   apart.last_offset

-- enabled: tests turn it off
local blas = { enabled = true }

-- Integer arguments have 32 bits in PyTorch's library and 64 in NumPy's; on a little-endian machine the first half of
-- the latter is the former.
local PARAMETERS = { gemm = 'ccvvvvvvvvvvv', gemv = 'cvvvvvvvvvv', batch = 'ccvvvvvvvvvvvvv', axpy = 'vvvvvv',
   scal = 'vvvv', copy = 'vvvvv' }
local NAMES = { batch = 'gemm_batch' } -- where they are others
-- Larger products go through Python, whose overhead is then negligible.
local MOST_OF_MATRIX = 2 ^ 19 -- elements
local function is_large(elements) return elements > MOST_OF_MATRIX end
local MOST = 2 ^ 16           -- elements of vectors, or of a batch that one thread computes
local MOST_ALONE = 2 ^ 22 -- multiplications; up to this many, one thread computes, as in kernels/openblas.py
-- Up to this many multiplications LuaJIT computes, so that small scripts do not wait for the library to load. Only the
-- size decides, so that equal products have equal bits whatever was computed before.
local FEWEST = 2 ^ 9

-- Whether a product of this many multiplications is left to BLAS.
local function is_enough(work) return work > FEWEST or few.LIMIT == 0 end
blas.is_enough = is_enough

local function whole() return ffi.new('int64_t[1]') end
local m, n, k, lda, ldb, ldc = whole(), whole(), whole(), whole(), whole(), whole()

-- Whether a product of this many multiplications is computed by one thread.
local function is_for_one_thread(work) return work <= MOST_ALONE or library.computes_alone() end

-- The routine for a matrix product of this many multiplications.
local function gemm_for(routine, work)
   return routine.gemm_alone and is_for_one_thread(work) and routine.gemm_alone or routine.gemm
end

-- Returns a function (c, beta, alpha, a, b, rows, inner, columns): c = beta * c + alpha * a * b, for pointers to
-- row-major matrices without gaps. c is rows x columns, a rows x inner and b inner x columns; a matrix of kind 't' is
-- stored transposed.
local function multiplying(routine, a_kind, b_kind)
   return function(c, beta, alpha, a, b, rows, inner, columns)
      -- a row-major product is the column-major transposed product
      m[0], n[0], k[0], ldc[0] = columns, rows, inner, columns
      lda[0], ldb[0] = b_kind == 'n' and columns or inner, a_kind == 'n' and inner or rows
      routine.alpha[0], routine.beta[0] = alpha, beta
      gemm_for(routine, rows * inner * columns)(b_kind, a_kind, m, n, k, routine.alpha, b, lda, a, ldb,
         routine.beta, c, ldc)
   end
end

local routines -- by the name of the type, found when the first product is made
-- Required alignment of factors and of float results: at other addresses the bits differ. Such matrices are copied, as
-- in kernels/alignment.py.
local of_factor, of_float_result
-- PyTorch's library is loaded for what numpy's does not compute: then, not before. A routine that is missing is false.
local function add_pytorchs(routine, letter)
   return setmetatable(routine, { __index = function(_, name)
      if not PARAMETERS[name] then return nil end
      routine[name] = library.routine(letter .. (NAMES[name] or name) .. '_', PARAMETERS[name]) or false
      return routine[name]
   end })
end
local function find_all()
   local found = {}
   of_factor, of_float_result = python.blas_alignments()
   for name, row in pairs{ Double = { 'd', 'double' }, Float = { 's', 'float' } } do
      local letter, ctype = unpack(row)
      local function product(of) return library.product(letter .. of, PARAMETERS[of]) end
      local routine = add_pytorchs({ alpha = ffi.new(ctype .. '[1]'), beta = ffi.new(ctype .. '[1]'),
         result = ffi.new(ctype .. '[1]'), is_double = letter == 'd', gemm_alone = product 'gemm' or false,
         gemv_alone = product 'gemv' or false, axpy = product 'axpy', scal = product 'scal', copy = product 'copy' },
         letter)
      routine.multiply, routine.multiply_transposed = multiplying(routine, 'n', 'n'), multiplying(routine, 'n', 't')
      routine.transpose_and_multiply = multiplying(routine, 't', 'n')
      if routine.gemm_alone and routine.gemv_alone or routine.gemm and routine.gemv then found[name] = routine end
   end
   return found
end
-- (A function of its own: LuaJIT compiles no return from one in which closures are made.)
local function find()
   if not routines then routines = find_all() end
end
templates.on_first_use(function()
   find()
   for _, routine in pairs(routines) do
      for name in pairs(PARAMETERS) do local _ = routine[name] end
   end
end)

-- How the routine, which is column-major, sees the transpose of a matrix: 'n' or 't', and the leading dimension; nil if
-- the elements are contiguous in neither direction.
local function seen(rows, row, columns, column)
   if column == 1 and row >= columns then return 'n', row end
   if row == 1 and column >= rows then return 't', column end
end

local byte_pointer = ffi.typeof('char *')
local function aligned(p, multiple) return address_of(p) % multiple == 0 end

-- A pointer to the elements of a matrix or vector: in place if aligned, else to a copy in a scratch buffer. nil if they
-- are too widely spaced to copy here.
local function readable(t, name)
   local p = t.S.p + t.off
   if aligned(p, of_factor) then return p end
   local extent = last_offset(t) - t.off + 1
   if extent > 2 * count(t) then return no 'elements that are widely spaced' end
   local size = t.T.size
   local q = ffi.cast(t.T.pointer, room(name, extent * size))
   ffi.copy(q, p, extent * size)
   return q
end

-- Copies t to r. Returns whether it could.
local function begin_with(r, t)
   if may_overlap(r, t) then return no 'a result that shares memory with what is read' end
   return few.copy(r, t, count(r))
end

-- The routine for the product of a vector and a matrix of this many elements: NumPy's accepts any address.
local function gemv_alone(routine, elements)
   return routine.gemv_alone and is_for_one_thread(elements) and routine.gemv_alone
end

-- Sets the n numbers at s, s_step apart, to zero: some versions of NumPy's routine multiply a NaN by zero.
local function clear(T, s, s_step, n_numbers)
   if s_step == 1 then
      ffi.fill(s, n_numbers * T.size)
   else
      for i = 0, n_numbers - 1 do T.set(s, i * s_step, 0) end
   end
end

-- The routines for rows of numbers of type T at any address, with pointers of any type, and the products of
-- `multiplying`. nil if there are none.
function blas.of_rows(T)
   if not blas.enabled or not T.real or not library.counts_threads() then
      return no 'no BLAS for the type, or several threads'
   end
   find()
   local routine = routines[T.host.name]
   return routine and routine.axpy and routine.copy and routine.scal and routine
end

-- y = y + alpha * the row sums or column sums of a contiguous matrix. ones: as many ones as there are terms in a sum.
local function add_sums(kind)
   return function(routine, y, alpha, p, rows, columns, ones)
      m[0], n[0], lda[0], ldb[0], ldc[0] = columns, rows, columns, 1, 1
      routine.alpha[0], routine.beta[0] = alpha, 1
      local gemv = gemv_alone(routine, rows * columns) or routine.gemv
      gemv(kind, m, n, routine.alpha, p, lda, ones, ldb, routine.beta, y, ldc)
   end
end
blas.add_rows, blas.add_columns = add_sums 't', add_sums 'n'

-- Copies n numbers from x to y, with strides x_step and y_step.
function blas.copy(routine, n_numbers, x, x_step, y, y_step)
   n[0], lda[0], ldb[0] = n_numbers, x_step, y_step
   routine.copy(n, x, lda, y, ldb)
end

-- Multiplies the n numbers at x by alpha, which is not 0.
function blas.scale(routine, n_numbers, x, alpha)
   n[0], lda[0], routine.alpha[0] = n_numbers, 1, alpha
   routine.scal(n, routine.alpha, x, lda)
end

-- Adds alpha (nil: 1) times the n numbers at x to those at y.
function blas.add(routine, n_numbers, x, y, alpha)
   n[0], lda[0], routine.alpha[0] = n_numbers, 1, alpha or 1
   routine.axpy(n, routine.alpha, x, lda, y, lda)
end

-- At least n ones of type T: a row's dot product with them is its sum. (They are kept only once all are there: Ctrl-C
-- may come before.)
local FEWEST_ONES = 2 ^ 12
local ones = {}
function blas.ones(T, n)
   local found = ones[T]
   if not found or found.n < n then
      found = { n = max(n, FEWEST_ONES) }
      found.numbers = T.array(found.n)
      for i = 0, found.n - 1 do found.numbers[i] = 1 end
      ones[T] = found
   end
   return found.numbers
end

-- The dot product of n numbers at x and y, of type T, as the product of a matrix with one row.
local function dot(routine, T, n_numbers, x, y)
   m[0], n[0], lda[0], ldb[0], ldc[0] = n_numbers, 1, n_numbers, 1, 1
   routine.alpha[0], routine.beta[0] = 1, 0
   local gemv = gemv_alone(routine, n_numbers) or routine.gemv
   gemv('t', m, n, routine.alpha, x, lda, y, ldb, routine.beta, routine.result, ldc)
   return T.get(routine.result, 0)
end
blas.dot_of = dot

-- The same for two tensors with the same number of elements; nil if BLAS does not apply.
function blas.dot(a, b)
   local T, n = a.T, count(a)
   if b.T ~= T or n > MOST or not (is_contiguous(a) and is_contiguous(b)) or not is_enough(n) then
      return no 'few or many elements, or elements that are not contiguous'
   end
   local routine = blas.of_rows(T)
   return routine and dot(routine, T, n, a.S.p + a.off, b.S.p + b.off)
end

-- The sum of the elements of t, which are many doubles, or of their squares: partial sums are added up. nil if Python
-- has to compute.
local PART = 512
function blas.sum(t, of_squares)
   local T = t.T
   if few.LIMIT == 0 or not T.real or T.size < 8 or not is_contiguous(t) then
      return no 'floats or whole numbers, or elements that are not contiguous'
   end
   local routine = blas.of_rows(T)
   if not routine then return no 'no BLAS for the type' end
   local p, left, sum, factors = t.S.p + t.off, count(t), 0, blas.ones(T, PART)
   while left > 0 do
      local length = left < PART and left or PART
      sum = sum + dot(routine, T, length, p, of_squares and p or factors)
      p, left = p + length, left - length
   end
   return sum
end

-- Whether the n numbers at x, of type T, are all finite. It adds up their squares, so numbers above the square root of
-- the largest also give false.
function blas.all_finite(routine, T, count_of_numbers, x)
   local sum = dot(routine, T, count_of_numbers, x, x)
   return sum - sum == 0
end

-- Whether the n numbers of type T at p and at q are all finite. If the sum of their products is, so are they.
function few.are_finite(T, count_of_numbers, p, q)
   local routine = library.is_worth_for_products(count_of_numbers) and blas.of_rows(T)
   if routine then
      local sum = dot(routine, T, count_of_numbers, p, q)
      return sum - sum == 0
   end
   local all_finite = finite(T.host.code)
   return all_finite(p, count_of_numbers) and (q == p or all_finite(q, count_of_numbers))
end

-- Whether all elements of a tensor are finite, so that LuaJIT may read them without checking for NaNs with other bits
-- than its own. Also false if checking is not worth it.
function blas.reads_plainly(t)
   local n, nd = count(t), t.nd
   local extent = n -- the distance from the first to the last element, plus 1
   if not is_contiguous(t) then
      if nd > 2 then return false end
      extent = 1 + (t[1] - 1) * t[2] + (nd == 2 and (t[3] - 1) * t[4] or 0)
      if extent > 2 * n then return false end
   end
   if n == 0 or not t.T.real then return false end
   local p = t.S.p + t.off
   return few.are_finite(t.T, extent, p, p)
end

-- The same for two contiguous tensors with the same number of elements, or one tensor passed twice.
function few.reads_plainly(t, s)
   if s == t or s.T ~= t.T then return blas.reads_plainly(t) and (s == t or blas.reads_plainly(s)) end
   return t.T.real and few.are_finite(t.T, count(t), t.S.p + t.off, s.S.p + s.off)
end

-- r = beta * t + alpha * the outer product of the vectors a and b, row by row. Returns false, with nothing done, if
-- Python has to compute. (A row multiplied by zero is skipped, so b must then be finite.)
local MOST_ROWS = 1024
local function outer_product(r, beta, t, alpha, a, b)
   local T, rows, columns, row, column = r.T, a[1], b[1], r[2], r[4]
   if column ~= 1 then
      if row ~= 1 then return no 'a result that is not contiguous' end
      a, b, rows, columns, row = b, a, columns, rows, column
   end
   if beta ~= 0 and beta ~= 1 or rows > 1 and row < columns or rows > MOST_ROWS or is_large(rows * columns)
      or b[2] < 1 then
      return no 'an outer product that is large or has another layout'
   end
   local routine = routines[T.host.name]
   if not (routine and routine.axpy) then return no 'no routine for rows' end
   local get, factors, step, other = T.get, a.S.p + a.off, a[2], b.S.p + b.off
   for i = 0, rows - 1 do
      if alpha * get(factors, i * step) == 0 then
         if b[2] == 1 and columns > 1 and blas.all_finite(routine, T, columns, other) then break end
         return no 'a row times zero where numbers may not be finite'
      end
   end
   if t ~= r and beta ~= 0 and not begin_with(r, t) then return false end
   n[0], m[0], k[0] = columns, b[2], 1
   local p, axpy, factor, bytes = r.S.p + r.off, routine.axpy, routine.alpha, columns * T.size
   for i = 0, rows - 1 do
      if beta == 0 then ffi.fill(p + i * row, bytes) end
      factor[0] = alpha * get(factors, i * step)
      axpy(n, factor, other, m, p + i * row, k)
   end
   return true
end

-- A matrix with one column (d = 1) or one row (d = 2), as a vector.
local function vector(t, d) return { t[2 * d - 1], t[2 * d], T = t.T, S = t.S, off = t.off, nd = 1 } end

-- r = beta * t + alpha * a * b, for matrices, a matrix and a vector, or two vectors (the outer product) whose sizes
-- fit. The factors share no memory with r. Returns false, with nothing done, if Python has to compute: many elements,
-- other types or layouts.
function blas.product(r, beta, t, alpha, a, b)
   local T = r.T
   if not blas.enabled or not T.real or a.T ~= T or b.T ~= T or a.nd > 2 or b.nd > 2 then return no 'other types' end
   local work = count(a) * (b.nd == 2 and b[3] or a.nd == 1 and b[1] or 1)
   if not is_enough(work) or not library.counts_threads() then return no 'few products' end
   find()
   if a.nd == 1 then return outer_product(r, beta, t, alpha, a, b) end
   local rows, inner, columns, column = a[1], a[3], 1, 1
   if b.nd == 2 then columns, column = b[3], b[4] end
   if inner == 1 and (beta ~= 0 or alpha ~= 1) then
      return alpha == 1 and rows > 1 and columns > 1 and outer_product(r, beta, t, alpha, vector(a, 1), vector(b, 2))
   end
   if is_large(rows * inner) or is_large(inner * columns) or is_large(rows * columns) then return no 'many elements' end
   local routine = routines[T.host.name]
   if not routine then return no 'no routine for the type' end
   -- As in kernels/alignment.py, a single column or row is a vector.
   local times_vector, from_row = columns == 1 and (b.nd == 1 or rows > 1), b.nd == 2 and rows == 1
   local a_kind, a_step = seen(rows, a[2], inner, a[4])
   local b_kind, b_step = 'n', b[2]
   if times_vector then
      if rows == 1 or b_step < 1 or r[2] < 1 then return no 'a single row, or other steps' end
   else
      b_kind, b_step = seen(inner, b[2], columns, column)
      if r.nd ~= 2 then return no 'other sizes' end
      if from_row then
         if columns == 1 or a[4] < 1 or r[4] < 1 then return no 'a single column, or other steps' end
         a_kind = 'n'
      elseif r[4] ~= 1 or r[2] < columns then
         return no 'a result that is not contiguous'
      end
   end
   if not a_kind or not b_kind then return no 'a matrix that is contiguous in neither direction' end
   local of_vector = times_vector or from_row
   local alone = of_vector and gemv_alone(routine, work)
   local in_place = alone or aligned(r.S.p + r.off, routine.is_double and of_factor or of_float_result)
   local in_rows = not in_place and not is_contiguous(r) -- same row stride in the scratch buffer
   if in_rows and (of_vector or is_large(rows * r[2])) then return no 'a result that is not contiguous' end
   -- a matrix multiplied by a vector is only copied if its rows are contiguous
   local p = (alone or times_vector and a_kind == 't') and a.S.p + a.off or readable(a, 'a')
   local q = (alone or from_row and b_kind == 'n') and b.S.p + b.off or readable(b, 'b')
   if not p or not q then return false end
   if t ~= r and beta ~= 0 and not begin_with(r, t) then return false end
   local s, bytes = r.S.p + r.off, (in_rows and last_offset(r) - r.off + 1 or rows * columns) * T.size
   local target = s
   if not in_place then
      s = ffi.cast(T.pointer, room('r', bytes))
      if beta ~= 0 then ffi.copy(s, target, bytes) end
   end
   if alone and beta == 0 then clear(T, s, times_vector and r[2] or r[4], rows * columns) end
   routine.alpha[0], routine.beta[0] = alpha, beta
   if of_vector then
      -- a matrix with strides `row` and `column`, and a vector x
      local matrix, length, row, width, x, x_step, s_step = p, rows, a[2], inner, q, b[2], r[2]
      column = a[4]
      if from_row then
         matrix, length, row, width, column, x, x_step, s_step = q, columns, b[4], inner, b[2], p, a[4], r[4]
      end
      local by_columns = row == 1 and column >= length
      m[0], n[0], lda[0], ldb[0], ldc[0] = by_columns and length or width, by_columns and width or length,
         by_columns and column or row, x_step, s_step
      local gemv = alone or routine.gemv
      gemv(by_columns and 'n' or 't', m, n, routine.alpha, matrix, lda, x, ldb, routine.beta, s, ldc)
   else
      m[0], n[0], k[0], lda[0], ldb[0], ldc[0] = columns, rows, inner, b_step, a_step, r[2]
      gemm_for(routine, work)(b_kind, a_kind, m, n, k, routine.alpha, q, lda, p, ldb, routine.beta, s, ldc)
   end
   if in_rows then
      for i = 0, rows - 1 do ffi.copy(target + i * r[2], s + i * r[2], columns * T.size) end
   elseif not in_place then
      ffi.copy(target, s, bytes)
   end
   return true
end

-- How the routine sees the transposed matrices of a batch. (The stride of a dimension of size 1 does not matter.)
local function seen_in_batch(t)
   local rows, row, columns, column = t[3], t[4], t[5], t[6]
   if rows == 1 then row = column == 1 and columns or 1 end
   if columns == 1 then row, column = max(row, 1), 1 end
   return seen(rows, row, columns, column)
end

-- Whether the matrices of a batch, `step` elements apart, are all aligned to `multiple` bytes.
local function all_aligned(t, step, multiple)
   return aligned(t.S.p + t.off, multiple) and (step * t.T.size) % multiple == 0
end

local LINE = 64 -- bytes: the largest alignment that a matrix can require

-- Copies n matrices of `bytes` bytes each from p, p_step bytes apart, to q, q_step bytes apart.
local function copy_matrices(p, p_step, q, q_step, n, bytes)
   for i = 0, n - 1 do ffi.copy(p + i * p_step, q + i * q_step, bytes) end
end

-- Arrays of MOST_MATRICES pointers to matrices, for each of the three batches of a product.
local MOST_MATRICES = 2 ^ 10
local function new_pointers() return ffi.new('int64_t[?]', MOST_MATRICES) end
local a_pointers, b_pointers, r_pointers = new_pointers(), new_pointers(), new_pointers()
local function point(n, p, p_step, q, q_step, s, s_step)
   p, q, s = address_of(p), address_of(q), address_of(s)
   for i = 0, n - 1 do a_pointers[i], b_pointers[i], r_pointers[i] = p + i * p_step, q + i * q_step, s + i * s_step end
end

-- Copies n vectors at q, whose elements are `apart` apart, contiguously into a scratch buffer.
local function vectors_in_one_piece(routine, q, q_step, apart, n_vectors, length, size)
   local p, bytes = room('b', n_vectors * length * size), length * size
   for i = 0, n_vectors - 1 do blas.copy(routine, length, q + i * q_step, apart, p + i * bytes, 1) end
   return p
end

local matrices, one_group = whole(), whole()
one_group[0] = 1

-- r = beta * t + alpha * the products of the matrices in batches a and b; if r is a matrix, their sum. Returns false as
-- above. PyTorch calls the same routine, or that for a matrix and a vector if b's matrices have one column. Where
-- NumPy's BLAS is the faster one, it computes small matrices one by one, at any address, whether or not PyTorch is
-- loaded.
function blas.batched_product(r, beta, t, alpha, a, b)
   local T = r.T
   if not blas.enabled or not T.real or a.T ~= T or b.T ~= T then return no 'other types' end
   local count_of_matrices, rows, inner, columns = a[1], a[3], a[5], b[5]
   if not is_enough(count_of_matrices * rows * inner * columns) or not library.counts_threads() then
      return no 'few products'
   end
   local elements = max(rows * inner, inner * columns, rows * columns) -- in the largest matrix
   if count_of_matrices > MOST_MATRICES or is_large(elements) then return no 'many elements' end
   find()
   local routine = routines[T.host.name]
   local alone = routine and r.nd == 3 and elements <= MOST
      and is_for_one_thread(count_of_matrices * rows * inner * columns) and routine.gemm_alone
   if not (alone or routine and routine.batch) then return no 'no routine for batches' end
   local adds_up, size = r.nd == 2, T.size
   local r_step, r_row, r_column = r[2], r[4], r[6]
   if adds_up then r_step, r_row, r_column = 0, r[2], r[4] end
   local a_kind, a_row = seen_in_batch(a)
   local b_kind, b_row = seen_in_batch(b)
   if not a_kind or not b_kind then return no 'a matrix that is contiguous in neither direction' end
   if not (alone or all_aligned(a, a[2], of_factor) and all_aligned(b, b[2], of_factor)) then
      return no 'matrices at other addresses'
   end
   local of_columns = columns == 1 and rows > 1
   if adds_up and (of_columns and b[4] ~= 1 or rows == 1 and a[6] ~= 1) then return no 'non-contiguous vectors' end
   if of_columns then
      if r_row ~= 1 then return no 'a result that is not contiguous' end
   elseif r_column ~= 1 or r_row < columns and rows > 1 then
      return no 'a result that is not contiguous'
   end
   local bytes = rows * columns * size
   local in_place = alone or all_aligned(r, r_step, routine.is_double and of_factor or of_float_result)
   if not (in_place or of_columns or r_row == columns or rows == 1) then return no 'a result that is not contiguous' end
   if t ~= r and beta ~= 0 and not begin_with(r, t) then return false end
   local target, target_step = ffi.cast(byte_pointer, r.S.p + r.off), r_step * size
   local s, s_step, s_row, kept = target, target_step, max(r_row, columns), adds_up and 1 or count_of_matrices
   if not in_place then
      s_step = adds_up and 0 or ceil(bytes / LINE) * LINE
      s, s_row = room('r', adds_up and bytes or s_step * count_of_matrices), columns
      if beta ~= 0 then copy_matrices(s, s_step, target, target_step, kept, bytes) end
   end
   local p, q, p_step, q_step = ffi.cast(byte_pointer, a.S.p + a.off), ffi.cast(byte_pointer, b.S.p + b.off),
      a[2] * size, b[2] * size
   if of_columns and b[4] ~= 1 then
      q, q_step = vectors_in_one_piece(routine, q, q_step, b[4], count_of_matrices, inner, size), inner * size
   elseif rows == 1 and a[6] ~= 1 then
      p, p_step = vectors_in_one_piece(routine, p, p_step, a[6], count_of_matrices, inner, size), inner * size
      a_kind, a_row = 'n', inner
   end
   routine.alpha[0], routine.beta[0] = alpha, beta
   if of_columns then
      -- column-major, as they are stored
      m[0], n[0], k[0], lda[0], ldb[0], ldc[0] = rows, 1, inner, a_row, inner, rows
      a_kind, b_kind = a_kind == 'n' and 't' or 'n', 'n'
   else
      -- a row-major product is the column-major transposed product
      m[0], n[0], k[0], lda[0], ldb[0], ldc[0] = columns, rows, inner, b_row, a_row, s_row
      a_kind, b_kind, p, q, p_step, q_step = b_kind, a_kind, q, p, q_step, p_step
   end
   if adds_up or alone then
      local gemm = alone or routine.gemm
      for i = 0, count_of_matrices - 1 do
         gemm(a_kind, b_kind, m, n, k, routine.alpha, p + i * p_step, lda, q + i * q_step, ldb, routine.beta,
            s + i * s_step, ldc)
         if adds_up then routine.beta[0] = 1 end
      end
   else
      matrices[0] = count_of_matrices
      point(count_of_matrices, p, p_step, q, q_step, s, s_step)
      routine.batch(a_kind, b_kind, m, n, k, routine.alpha, a_pointers, lda, b_pointers, ldb, routine.beta, r_pointers,
         ldc, one_group, matrices)
   end
   if not in_place then copy_matrices(target, target_step, s, s_step, kept, bytes) end
   return true
end

return blas
