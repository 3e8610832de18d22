-- Products of two matrices by the BLAS that PyTorch itself calls, without the way through Python: the same routine of the
-- same library with the same arguments, so the same bits. Where its library does not export them (macOS, ARM), products
-- go through Python.
local ffi = require 'ffi'
local memory = require 'torch.memory'
local compiled = require 'torch.compiled'
local shared = require 'th.python'
local python = shared.functions

local is_contiguous = memory.is_contiguous

-- enabled: tests turn it off
local blas = { enabled = true }

-- Under names of our own: a script may declare the routines, too.
local ROUTINE = [[void th_%s(const char *transa, const char *transb, const int *m, const int *n, const int *k,
   const %s *alpha, const %s *a, const int *lda, const %s *b, const int *ldb, const %s *beta, %s *c, const int *ldc) __asm__("%s");]]
-- Larger products go through Python, whose way costs nothing beside them.
local MOST = 2 ^ 16 -- elements of a matrix
local ALIGNMENT = 16 -- bytes; other addresses give other bits: kernels/alignment.py copies such matrices

local gemm -- by the name of the type, found when the first product is made
local function find()
   if gemm then return end
   gemm = {}
   local path = python.blas_library()
   local loaded, library = pcall(ffi.load, path)
   if path == '' or not loaded then return end
   for name, row in pairs{ Double = { 'dgemm_', 'double' }, Float = { 'sgemm_', 'float' } } do
      local symbol, ctype = unpack(row)
      ffi.cdef(ROUTINE:format(symbol, ctype, ctype, ctype, ctype, ctype, symbol))
      local found, routine = pcall(function() return library['th_' .. symbol] end)
      if found then gemm[name] = { call = routine, alpha = ffi.new(ctype .. '[1]'), beta = ffi.new(ctype .. '[1]') } end
   end
end
compiled.on_first_use(find)

local m, n, k, lda, ldb, ldc = ffi.new('int[1]'), ffi.new('int[1]'), ffi.new('int[1]'), ffi.new('int[1]'),
   ffi.new('int[1]'), ffi.new('int[1]')

-- How the routine, for which columns lie one after the other, sees the transposed matrix: 'n' or 't', and the step to the
-- next column; nil where elements lie apart in both directions.
local function seen(a)
   local rows, row, columns, column = a[1], a[2], a[3], a[4]
   if column == 1 and row >= columns then return 'n', row end
   if row == 1 and column >= rows then return 't', column end
end

local address_type = ffi.typeof('uintptr_t')
local function aligned(p) return tonumber(ffi.cast(address_type, p) % ALIGNMENT) == 0 end

-- r = beta * r + alpha * a * b, of matrices that have fitting sizes and no memory in common. Gives false, with nothing
-- done, where that is for Python: vectors, many elements, other types and layouts.
function blas.product(r, beta, alpha, a, b)
   local T = r.T
   if not blas.enabled or not T.floating or T.device or a.T ~= T or b.T ~= T then return false end
   if a.nd ~= 2 or b.nd ~= 2 or r.nd ~= 2 or not is_contiguous(r) then return false end
   local rows, inner, columns = a[1], a[3], b[3]
   if rows == 1 or columns == 1 or inner == 1 then return false end
   if rows * inner > MOST or inner * columns > MOST or rows * columns > MOST then return false end
   if shared.threads and not shared.pytorch then return false end -- PyTorch sets their number when it is loaded
   find()
   local routine = gemm[T.name]
   if not routine then return false end
   local a_kind, a_step = seen(a)
   local b_kind, b_step = seen(b)
   if not a_kind or not b_kind then return false end
   local p, q, s = a.S.p + a.off, b.S.p + b.off, r.S.p + r.off
   if not (aligned(p) and aligned(q) and aligned(s)) then return false end
   -- row by row is column by column of the transposed product
   m[0], n[0], k[0], lda[0], ldb[0], ldc[0] = columns, rows, inner, b_step, a_step, columns
   routine.alpha[0], routine.beta[0] = alpha, beta
   routine.call(b_kind, a_kind, m, n, k, routine.alpha, q, lda, p, ldb, routine.beta, s, ldc)
   return true
end

return blas
