-- Products of vectors and matrices, and LAPACK's functions.
local memory = require 'torch.core.memory'
local apart = require 'torch.core.overlap'
local errors = require 'torch.core.errors'
local pointwise = require 'torch.operations.pointwise'
local overloads = require 'torch.tensor.overloads'
local few = require 'torch.luajit.elementwise'
local matrices = require 'torch.luajit.matrices'
local blas = require 'torch.luajit.blas'
local way = require('torch.core.ways').of
local signed = require('torch.core.arguments').signed
local python = require('th.python').functions
local kernel = require('torch.core.kernels').of_records

local handle, resize, resize_as, count = memory.handle, memory.resize, memory.resize_as, memory.count
local define, floating = overloads.define, overloads.floating
local size_text, into, copy_of, beside = pointwise.size_text, pointwise.into, pointwise.copy_of, pointwise.beside

local add_up_products = few.reduction('result = result + $x * $y', 'IN_64_BITS')
local dot_by_blas = way('dot', blas.dot, 'blas')
local dot_here = way('dot', function(a, b) return add_up_products(a, b, 0) end)
define('dot', { 'T T', function(a, b)
   pointwise.check_pair(a, b, 'tensor', 'src')
   return count(a) == 0 and 0 or dot_by_blas(a, b) or dot_here(a, b) or python.dot(handle(a), handle(b))
end })

-- Torch7's errors for sizes that do not fit.
local function mismatch(a, b, where)
   errors.raise(('size mismatch, m1: %s, m2: %s'):format(size_text(a), size_text(b)), where)
end

local function mismatched_sum(t, a, b, where)
   errors.raise(('size mismatch, t: %s, m1: %s, m2: %s'):format(size_text(t), size_text(a), size_text(b)), where)
end

local function mismatched_outer(t, a, b)
   errors.raise(('size mismatch, t: %s, vec1: %s, vec2: %s'):format(size_text(t), size_text(a), size_text(b)),
      'THTensorMath.c:1418')
end

local function mismatched_vector(t, m)
   errors.raise(('size mismatch, t: %s, mat: %s'):format(size_text(t), size_text(m)), 'THTensorMath.c:1204')
end

-- Written without loops, which LuaJIT does not inline into a caller's trace.
local function has_size(t, nd, n1, n2, n3)
   return t.nd == nd and t[1] == n1 and (nd < 2 or t[3] == n2) and (nd < 3 or t[5] == n3)
end

-- Each fit_... function returns the number of dimensions of the product and its sizes; it raises if the factors do not
-- fit.
local function fit_mv(m, v)
   if m[3] ~= v[1] then
      errors.raise(('size mismatch, %s, %s'):format(size_text(m), size_text(v)), 'THTensorMath.c:1218')
   end
   return 1, m[1]
end
local function fit_mm(a, b)
   if a[3] ~= b[1] then mismatch(a, b, 'THTensorMath.c:1293') end
   return 2, a[1], b[3]
end
local function fit_ger(a, b) return 2, a[1], b[1] end
local function fit_bmm(a, b)
   if a[1] ~= b[1] then
      errors.argument(2, ('equal number of batches expected, got %d, %d'):format(a[1], b[1]), 'THTensorMath.c')
   end
   if a[5] ~= b[3] then
      errors.argument(2, ('wrong matrix size, batch1: %dx%d, batch2: %dx%d'):format(a[3], a[5], b[3], b[5]),
         'THTensorMath.c')
   end
   return 3, a[1], a[3], b[5]
end
local function fit_addbmm(a, b)
   local _, _, rows, columns = fit_bmm(a, b)
   return 2, rows, columns
end

-- The ways of computing such a product: of matrices and vectors, or of batches.
local function products(name)
   if not name:find 'bmm$' then return way(name, blas.product, 'blas'), way(name, few.product) end
   return way(name, blas.batched_product, 'blas'), way(name, few.batched_product)
end

-- r = product of a and b. A given result must already have the product's size.
local function product(name, fit, letters, wrong_size)
   local by_blas, in_luajit = products(name)
   local function multiply(r, a, b)
      if by_blas(r, 0, r, 1, a, b) or in_luajit(r, 0, r, 1, a, b) then return end
      python[name](handle(r), handle(a), handle(b))
   end
   local function compute(r, a, b) into(r, multiply, beside(r, a), beside(r, b)) end
   local function into_new(r, a, b)
      local nd, n1, n2, n3 = fit(a, b)
      resize(r, nd, { n1, n2, n3 })
      compute(r, a, b)
   end
   local function into_given(r, a, b)
      local nd, n1, n2, n3 = fit(a, b)
      if not has_size(r, nd, n1, n2, n3) then wrong_size(r, a, b) end
      compute(r, a, b)
   end
   define(name, { 'o ' .. letters, into_given, 'N ' .. letters, into_new }, nil, { 'R ' .. letters, into_given })
end
product('mv', fit_mv, 'T2 T1', function(r, m)
   if r.nd ~= 1 then errors.raise(('vector expected, got t: %dD'):format(r.nd), 'THTensorMath.c:1199') end
   mismatched_vector(r, m)
end)
product('mm', fit_mm, 'T2 T2', function(r, a, b)
   if r.nd ~= 2 then errors.raise(('matrix expected, got %dD tensor for t'):format(r.nd), 'THTensorMath.c:1297') end
   mismatched_sum(r, a, b, 'THTensorMath.c:1303')
end)
product('bmm', fit_bmm, 'T3 T3', function()
   errors.argument(1, 'output tensor of incorrect size', 'THTensorMath.c:1518')
end)
product('ger', fit_ger, 'T1 T1', function(r, a, b)
   if r.nd ~= 2 then errors.raise(('expected matrix, got %dD tensor for t'):format(r.nd), 'THTensorMath.c:1412') end
   mismatched_outer(r, a, b)
end)

-- The squared distances between the rows of a and those of b, times a number. Further dimensions are flattened.
local distances_here = way('squared_distances', matrices.squared_distances)
define('match', { 'R T T n=1', function(r, a, b, gain)
   if a.nd == 0 or b.nd == 0 then errors.argument(2, 'empty Tensor', 'THTensorMath.c') end
   if count(a) / a[1] ~= count(b) / b[1] then
      errors.argument(3, 'm1 and m2 must have the same inner vector dim', 'THTensorMath.c:1259')
   end
   a, b = beside(r, a), beside(r, b)
   resize(r, 2, { a[1], b[1] })
   if not distances_here(r, a, b, gain) then
      python.squared_distances(handle(r), handle(a), handle(b), gain)
   end
end })

-- r = beta * t + alpha * product of a and b
local function sum_with_product(name, fit)
   local by_blas, in_luajit = products(name)
   -- q: receives the result
   local function multiply(q, r, beta, t, alpha, a, b)
      if t == r then t = q end
      if by_blas(q, beta, t, alpha, a, b) or in_luajit(q, beta, t, alpha, a, b) then return end
      python[name](handle(q), signed(beta), handle(t), signed(alpha), handle(a), handle(b))
   end
   return function(r, beta, t, alpha, a, b)
      if not has_size(t, fit(a, b)) then
         if name == 'addr' then mismatched_outer(t, a, b) end
         if a.nd == 3 then errors.argument(1, 'output tensor of incorrect size', 'THTensorMath.c') end
         if b.nd == 1 then mismatched_vector(t, a) end
         mismatched_sum(t, a, b, 'THTensorMath.c')
      end
      a, b = beside(r, a), beside(r, b)
      if t ~= r and apart.may_overlap(r, t) then t = copy_of(t) end
      resize_as(r, t)
      into(r, multiply, r, beta, t, alpha, a, b)
   end
end
for name, dims in pairs{ addmv = { 1, 2, 1, fit_mv }, addmm = { 2, 2, 2, fit_mm }, addr = { 2, 1, 1, fit_ger },
   addbmm = { 2, 3, 3, fit_addbmm }, baddbmm = { 3, 3, 3, fit_bmm } } do
   local d, da, db, fit = unpack(dims)
   local compute = sum_with_product(name, fit)
   local operands = (' n=1 T%d T%d'):format(da, db)
   define(name, { ('r n=1 T%d'):format(d) .. operands, compute }, nil, {
      -- t:name(alpha, ...) and t:name(beta, alpha, ...): a single number is alpha
      ('R%d t%d'):format(d, d) .. operands, function(r, t, alpha, a, b) return compute(r, 1, t, alpha, a, b) end,
      ('R%d n t%d n T%d T%d'):format(d, d, da, db), compute,
   })
end

-- LAPACK functions torch.name(...), with given or new results.
local function lapack(name, results, arguments, check, name_in_python)
   local run = kernel[name_in_python or name]
   local function compute(...)
      if check then check(select(results + 1, ...)) end
      return run(...)
   end
   define(name, {
      ('o '):rep(results) .. arguments, compute,
      ('M '):rep(results) .. arguments, compute,
   }, floating, false)
end

local function square(position, where)
   return function(...)
      local a = select(position, ...)
      if a.nd ~= 2 then errors.argument(position, 'A should be 2 dimensional', where) end
      if a[1] ~= a[3] then errors.argument(position, 'A should be square', where) end
   end
end
local function matrix(a)
   if a.nd ~= 2 then errors.argument(1, 'A should be 2 dimensional', 'THTensorLapack.c') end
end

-- b may be a vector in gesv, gels and trtrs.
local function system(needs_square)
   return function(b, a)
      if a.nd ~= 2 then
         errors.argument(2, ('A should have 2 dimensions, but has %d'):format(a.nd), 'THTensorLapack.c')
      end
      if b.nd ~= 1 and b.nd ~= 2 then
         errors.argument(1, ('B should have 1 or 2 dimensions, but has %d'):format(b.nd), 'THTensorLapack.c')
      end
      if needs_square and a[1] ~= a[3] then
         errors.argument(2, ('A should be square, but is %dx%d'):format(a[1], a[3]), 'THTensorLapack.c')
      end
      if a[1] ~= b[1] then
         errors.argument(2, ('A,B size incompatible - A has %d rows, B has %d'):format(a[1], b[1]), 'THTensorLapack.c')
      end
   end
end

lapack('gesv', 2, 'T T', system(true))
lapack('gels', 2, 'T T', system(false))
lapack('trtrs', 2, 'T T c:UL="U" c:NT="N" c:NU="N"', system(true))
lapack('symeig', 2, 'T c:NV="N" c:UL="U"', square(1, 'THTensorLapack.c'))
lapack('eig', 2, 'T c:NV="N"', square(1, 'THTensorLapack.c'))
lapack('svd', 3, 'T c:AS="S"', matrix)
lapack('inverse', 1, 'T', square(1, 'THTensorLapack.c:484'))
lapack('potrf', 1, 'T c:UL="U"', square(1, 'THTensorLapack.c'))
lapack('potrs', 1, 'T T c:UL="U"', system(true))
lapack('potri', 1, 'T c:UL="U"', square(1, 'THTensorLapack.c'))
lapack('qr', 2, 'T', matrix)
lapack('geqrf', 2, 'T', matrix)
lapack('orgqr', 1, 'T T', matrix)
lapack('ormqr', 1, 'T T T c:LR="L" c:NT="N"', matrix)
define('pstrf', {
   'o J T c:UL="U" n=-1', kernel.pstrf,
   'M K T c:UL="U" n=-1', kernel.pstrf,
}, floating, false)
