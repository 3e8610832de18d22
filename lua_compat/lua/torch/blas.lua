-- Products of a matrix and a matrix or a vector by the BLAS that PyTorch itself calls: the same routine of the same
-- library with the same arguments, so the same bits.
local ffi = require 'ffi'
local memory = require 'torch.memory'
local few = require 'torch.few'
local compiled = require 'torch.compiled'
local library = require 'torch.library'

local count, may_overlap = memory.count, memory.may_overlap

-- enabled: tests turn it off
local blas = { enabled = true }

local GEMM = [[void %s(const char *transa, const char *transb, const int *m, const int *n, const int *k, const REAL *alpha,
   const REAL *a, const int *lda, const REAL *b, const int *ldb, const REAL *beta, REAL *c, const int *ldc)]]
local GEMV = [[void %s(const char *trans, const int *m, const int *n, const REAL *alpha, const REAL *a, const int *lda,
   const REAL *x, const int *incx, const REAL *beta, REAL *y, const int *incy)]]
-- Larger products go through Python, whose way costs nothing beside them.
local MOST = 2 ^ 16 -- elements of a matrix
local ALIGNMENT = 16 -- bytes; other addresses give other bits: kernels/alignment.py copies such matrices

local routines -- by the name of the type, found when the first product is made
local function find()
   if routines then return end
   routines = {}
   for name, row in pairs{ Double = { 'd', 'double' }, Float = { 's', 'float' } } do
      local letter, ctype = unpack(row)
      local gemm = library.routine(letter .. 'gemm_', GEMM, ctype)
      local gemv = library.routine(letter .. 'gemv_', GEMV, ctype)
      if gemm and gemv then
         routines[name] = { gemm = gemm, gemv = gemv, alpha = ffi.new(ctype .. '[1]'), beta = ffi.new(ctype .. '[1]') }
      end
   end
end
compiled.on_first_use(find)

local m, n, k, lda, ldb, ldc = ffi.new('int[1]'), ffi.new('int[1]'), ffi.new('int[1]'), ffi.new('int[1]'),
   ffi.new('int[1]'), ffi.new('int[1]')

-- How the routine, for which columns lie one after the other, sees the transposed matrix: 'n' or 't', and the step to the
-- next column; nil where elements lie apart in both directions.
local function seen(rows, row, columns, column)
   if column == 1 and row >= columns then return 'n', row end
   if row == 1 and column >= rows then return 't', column end
end

local address_type = ffi.typeof('uintptr_t')
local function aligned(p) return tonumber(ffi.cast(address_type, p) % ALIGNMENT) == 0 end

-- Makes r what t holds; whether it could.
local function begin_with(r, t)
   return not may_overlap(r, t) and few.copy(r, t, count(r))
end

-- The same for a matrix (at a), a vector x and the elements of r, y_step apart.
local function matrix_vector(routine, r, y_step, beta, t, alpha, a, rows, row, columns, column, x, x_step)
   local by_columns = row == 1 and column >= rows
   if x_step < 1 or y_step < 1 or not (by_columns or column == 1 and row >= columns) then return false end
   if t ~= r and beta ~= 0 and not begin_with(r, t) then return false end
   if by_columns then m[0], n[0], lda[0] = rows, columns, column else m[0], n[0], lda[0] = columns, rows, row end
   ldb[0], ldc[0] = x_step, y_step
   routine.alpha[0], routine.beta[0] = alpha, beta
   routine.gemv(by_columns and 'n' or 't', m, n, routine.alpha, a, lda, x, ldb, routine.beta, r.S.p + r.off, ldc)
   return true
end

-- r = beta * t + alpha * a * b, of matrices, or a matrix and a vector, that have fitting sizes; the factors have no memory
-- in common with r. Gives false, with nothing done, where that is for Python: many elements, other types and layouts.
function blas.product(r, beta, t, alpha, a, b)
   local T = r.T
   if not blas.enabled or not T.floating or T.device or a.T ~= T or b.T ~= T or a.nd ~= 2 or b.nd > 2 then return false end
   if not library.counts_threads() then return false end
   local rows, inner, columns, column = a[1], a[3], 1, 1
   if b.nd == 2 then columns, column = b[3], b[4] end
   if rows * inner > MOST or inner * columns > MOST or rows * columns > MOST then return false end
   find()
   local routine = routines[T.name]
   if not routine then return false end
   local p, q, s = a.S.p + a.off, b.S.p + b.off, r.S.p + r.off
   if not (aligned(p) and aligned(q) and aligned(s)) then return false end
   -- As kernels/alignment.py: a single column or row is a vector.
   if columns == 1 and (b.nd == 1 or rows > 1) then
      if rows == 1 or inner == 1 then return false end
      return matrix_vector(routine, r, r[2], beta, t, alpha, p, rows, a[2], inner, a[4], q, b[2])
   end
   if inner == 1 or r.nd ~= 2 then return false end
   if rows == 1 then
      if columns == 1 then return false end
      return matrix_vector(routine, r, r[4], beta, t, alpha, q, columns, column, inner, b[2], p, a[4])
   end
   local a_kind, a_step = seen(rows, a[2], inner, a[4])
   local b_kind, b_step = seen(inner, b[2], columns, column)
   if not a_kind or not b_kind or r[4] ~= 1 or r[2] < columns then return false end
   if t ~= r and beta ~= 0 and not begin_with(r, t) then return false end
   -- row by row is column by column of the transposed product
   m[0], n[0], k[0], lda[0], ldb[0], ldc[0] = columns, rows, inner, b_step, a_step, r[2]
   routine.alpha[0], routine.beta[0] = alpha, beta
   routine.gemm(b_kind, a_kind, m, n, k, routine.alpha, q, lda, p, ldb, routine.beta, s, ldc)
   return true
end

return blas
