-- Products of matrices and vectors, LAPACK, correlations.
local h = require 'harness'
local blas = require 'torch.luajit.blas'
local tensors_of, LONG, BYTE, FLOATING, whole_numbers, both_ways = h.tensors_of, h.LONG, h.BYTE, h.FLOATING,
   h.whole_numbers, h.both_ways
local random, sample, matrix, same_bits_by_blas, BLAS_IS_STEADY, IS_STEADY_FOR_VECTORS = h.random, h.sample, h.matrix,
   h.same_bits_by_blas, h.BLAS_IS_STEADY, h.IS_STEADY_FOR_VECTORS
local counted = h.counted

local function products(T)
   local a, b = sample(T, 2), sample(T, 2)
   b = torch.randn(a:size(2), random(1, 6)):type(T)
   if random(1, 2) == 1 then b = b:t():clone():t() end
   local y, beta, alpha, factor = torch.randn(a:size(1), 2 * b:size(2)):type(T):narrow(2, 1, b:size(2)), random(0, 2),
      3 * random(0, 1) - 1, random(1, 2)
   local u, v = a:select(2, 1), torch.randn(random(1, 70), 2):type(T):select(2, random(1, 2))
   if random(1, 3) == 1 and FLOATING[T] then v[random(1, v:size(1))] = ({ 0, 0 / 0, 1 / 0 })[random(1, 3)] end
   if random(1, 3) == 1 then u = u:clone():fill(random(0, 1)) end
   local sum = torch.randn(u:size(1), v:size(1)):type(T)
   if random(1, 3) == 1 then sum = sum:t():clone():t() end
   for _, with_blas in ipairs{ true, false } do
      both_ways(T .. ' product', function()
         blas.enabled = blas.enabled and with_blas
         return a * b, a:t() * a, a * b:select(2, 1), y:clone():addmm(beta, alpha, a, b),
            y:select(2, 1):clone():addmv(alpha, a, b:select(2, 1)),
            torch.ger(u, v), sum:clone():addr(beta, factor, u, v), torch.addr(sum, factor, u, v),
               torch.zeros(u:size(1), 2 * v:size(1))
               :type(T):narrow(2, 2, v:size(1)):addr(factor, u, v)
      end)
   end
end

-- Batches of the layouts of sample, and some of which the matrices lie side by side.
local function batched_products(T)
   local n, rows, inner, columns = random(1, 5), random(1, 12), random(1, 12), random(1, 20)
   local function batch(first, second)
      local layout = random(1, 4)
      if layout == 1 then return torch.randn(n, second, first):type(T):transpose(2, 3) end
      if layout == 2 then return torch.randn(first, n, second):type(T):transpose(1, 2) end
      if layout == 3 then return torch.randn(1, first, second):type(T):expand(n, first, second) end
      return torch.randn(n, first, second):type(T)
   end
   local a, b, t = batch(rows, inner), batch(inner, columns), batch(rows, columns)
   local beta, alpha = random(0, 2), torch.uniform(-2, 2)
   both_ways(T .. ' products of batches', function()
      local sum = torch.randn(rows, n, columns):type(T):transpose(1, 2)
      return torch.bmm(a, b), torch.baddbmm(beta, t, alpha, a, b), t:clone():baddbmm(beta, alpha, a, b),
         sum:baddbmm(beta, alpha, a, b), sum:clone():bmm(a, b),
            a:clone():baddbmm(alpha, a, torch.bmm(a:transpose(2, 3), a))
   end)
end

local function larger_products(T) -- of more than 512 multiplications also where one is a vector: fewer are LuaJIT's
   local rows, inner, columns = random(23, 70), random(23, 70), random(23, 70)
   local a, b, t = matrix(T, rows, inner), matrix(T, inner, columns), torch.randn(rows, columns):type(T)
   local beta, alpha = random(0, 2), torch.uniform(-2, 2)
   local bias = torch.randn(1, columns):type(T):expand(rows, columns)
   same_bits_by_blas(T .. ' larger product', function()
      local part = torch.randn(rows, columns + 4):type(T):fill(2):narrow(2, random(0, 1) * 2 + 1, columns)
      return { torch.mm(a, b), t:clone():addmm(beta, alpha, a, b), torch.addmm(beta, t, alpha, a, b),
         torch.addmm(bias, a, b),
         part:addmm(beta, alpha, a, b), part:mm(a, b), part:addmm(bias, a, b),
            matrix(T, rows, columns):addmm(beta, alpha, a, b),
         matrix(T, rows, columns):mm(a, b) }
   end)
   local column_of_rows, row_of_columns = matrix(T, rows, 2):narrow(2, random(1, 2), 1),
      matrix(T, 2, columns):narrow(1, random(1, 2), 1)
   same_bits_by_blas(T .. ' a column times a row', function()
      return { column_of_rows * row_of_columns, torch.mm(column_of_rows:clone(), row_of_columns:clone()),
         torch.mm(row_of_columns:clone():t(), column_of_rows:t()),
         torch.addmm(t, column_of_rows, row_of_columns), t:t():clone():t():addmm(column_of_rows, row_of_columns) }
   end)
   local factors, added = torch.ones(rows):type(T), matrix(T, 2, columns)[random(1, 2)]
   if random(1, 3) == 1 then factors[rows] = 2 end
   same_bits_by_blas(T .. ' a vector added to rows', function()
      return { t:clone():addr(1, factors, added), matrix(T, rows, columns):addr(factors, added),
         t:clone():t():addr(added, factors) }
   end)
   local x, y = matrix(T, 2, 70 * inner)[1]:narrow(1, 1, 70 * inner),
      torch.randn(rows, 3):type(T):select(2, random(1, 3))
   if random(1, 2) == 1 then x = x:narrow(1, 1, inner) else x = torch.randn(inner, 2):type(T):select(2, 1) end
   local row, column = x:contiguous():view(1, inner), x:contiguous():view(inner, 1)
   same_bits_by_blas(T .. ' matrix and vector', function()
      return { a * x, y:clone():addmv(beta, alpha, a, x), torch.addmv(beta, y, alpha, a, x), row * b, a * column,
         b:t() * x,
         t:clone():select(1, 1):addmv(alpha, b:t(), x) }
   end, IS_STEADY_FOR_VECTORS)
end

-- Batches of matrices that are each BLAS's, in one piece, transposed, beside one another, all the same, and at any
-- address.
local function larger_batched_products(T)
   local n, rows, inner, columns = random(1, 6), random(8, 30), random(8, 40), random(8, 30)
   local kind = random(1, 4)
   if kind == 1 then
      columns, rows, inner = 1, rows + 20, inner + 20
   elseif kind == 2 then
      rows, inner, columns = 1, inner + 20, columns + 20
   end
   if kind == 3 then rows, inner, columns = rows + 20, 1, columns + 20 end
   local function batch(first, second)
      local layout = random(1, 6)
      if layout == 1 then return torch.randn(n, second, first):type(T):transpose(2, 3) end
      if layout == 2 then return torch.randn(first, n, second):type(T):transpose(1, 2) end
      if layout == 3 then return torch.randn(1, first, second):type(T):expand(n, first, second) end
      if layout == 4 then
         return torch.randn(n * first * second + 1):type(T):narrow(1, 2, n * first * second):view(n, first, second)
      end
      if layout == 5 then return torch.randn(n, first, second + 3):type(T):narrow(3, random(1, 4), second) end
      return torch.randn(n, first, second):type(T)
   end
   local a, b, t = batch(rows, inner), batch(inner, columns), batch(rows, columns)
   local beta, alpha = random(0, 2), torch.uniform(-2, 2)
   same_bits_by_blas(T .. ' larger products of batches', function()
      local part = torch.randn(n * rows * columns + 1):type(T):narrow(1, 2, n * rows * columns):view(n, rows, columns)
      return { torch.bmm(a, b), torch.baddbmm(beta, t, alpha, a, b), t:clone():baddbmm(beta, alpha, a, b),
         part:baddbmm(alpha, a, b),
         part:clone():transpose(2, 3):contiguous():bmm(b:transpose(2, 3), a:transpose(2, 3)),
            torch.addbmm(beta, t[1], alpha, a, b) }
   end)
end

local function correlations(T)
   local full, planes = ({ 'V', 'F' })[random(1, 2)], random(1, 3)
   -- sums that cancel lose no more than check allows
   local function cube(...) return torch.randn(...):mul(FLOATING[T] and 0.3 or 3):type(T) end
   for dims = 2, 3 do
      local sizes, of_kernel = {}, {}
      for d = 1, dims do
         sizes[d] = random(1, 7)
         of_kernel[d] = full == 'F' and random(1, 4) or random(1, sizes[d])
      end
      for _, name in ipairs{ 'conv' .. dims, 'xcorr' .. dims } do
         both_ways(('%s %s'):format(T, name), function()
            local x, k = cube(unpack(sizes)), cube(unpack(of_kernel))
            local xs, ks, sets = cube(planes, unpack(sizes)), cube(planes, unpack(of_kernel)),
               cube(2, planes, unpack(of_kernel))
            if random(1, 9) == 1 then k:fill(0 / 0) end
            return torch[name](x, k, full), torch[name](torch.zeros(2):type(T), xs, ks, full),
               torch[name](xs, sets, full), torch[name](xs:transpose(1, 2):clone():transpose(1, 2), ks, full),
               torch[name](x, x, full), pcall(torch[name], x,
                  cube(unpack(sizes)):repeatTensor(unpack(dims == 2 and { 2, 1 } or { 1, 2, 1 })), full)
         end)
      end
   end
end

-- LAPACK's functions of small matrices, in all layouts, into results that are given, too; what has signs of its own is
-- multiplied.
local function of_lapack(T)
   if not FLOATING[T] then return end
   local n, m = random(1, 9), random(1, 9)
   local a, w, b = matrix(T, n, n), matrix(T, n, m), matrix(T, n, random(1, 3))
   if random(1, 4) == 1 then b = b:select(2, 1) end
   a:add(torch.eye(n):type(T):mul(9))
   if random(1, 6) == 1 then a:select(1, n):fill(({ 0, 0 / 0, 1 / 0 })[random(1, 3)]) end
   local definite = w * w:t() + torch.eye(n):type(T):mul(3)
   local triangle, job = ({ 'U', 'L' })[random(1, 2)], ({ 'S', 'A' })[random(1, 2)]
   local function given(...)
      local r = torch.zeros(...):type(T)
      local layout = random(1, 3)
      return layout == 1 and r or layout == 2 and r:t():clone():t() or torch.Tensor():type(T)
   end
   both_ways(T .. ' systems', function()
      local x, lu, inverse = given(n, b:dim() == 2 and b:size(2) or 1), given(n, n), given(n, n)
      local results = { pcall(torch.gesv, x, lu, b, a) }
      if results[1] and a:clone():norm() < 1e30 then results = { a * x, x:stride(1), lu:size(2), lu:stride(2) } end
      local inverted = pcall(torch.inverse, inverse, a)
      return #results, results[2], results[3], results[4], inverted and inverse * a, inverse:dim() > 0
         and inverse:stride(1)
   end)
   both_ways(T .. ' definite', function()
      local factor = torch.potrf(given(n, n), definite, triangle)
      local same = definite:clone()
      torch.potrf(same, same, triangle)
      return factor, factor:stride(1), same, torch.potrs(given(n, b:dim() == 2 and b:size(2) or 1), b, factor,
         triangle), torch.potri(factor, triangle),
         pcall(torch.potrf, -definite, triangle)
   end)
   both_ways(T .. ' factors', function()
      local values, vectors = torch.symeig(definite, 'V', triangle)
      local u, s, v = torch.svd(given(n, n), given(n, 2), given(m, m), w, job)
      local q, r = torch.qr(given(n, 1), given(n, m), w)
      local packed, scales = torch.geqrf(w)
      local k = math.min(n, m)
      return values, torch.symeig(definite, 'N', triangle), vectors * torch.diag(values) * vectors:t(),
         vectors:stride(2), s, u:narrow(2, 1, k) * torch.diag(s:view(-1)) * v:narrow(2, 1, k):t(),
         u:size(2), u:stride(2), v:size(2), v:stride(2), q, q:stride(2), r, r:stride(1), packed, scales
   end)
end

-- Matrices of all types and layouts: compared, filled, indexed, convolved, bounded. Whole numbers are compared in 64
-- bits.
local function matrices_in_layouts()
   local T = tensors_of(({ 'Double', 'Float', 'Long', 'Int', 'Short', 'Char', 'Byte' })[random(1, 7)])
   local rows, columns = random(1, 40), random(1, 40)
   local function numbers() return matrix(T, rows, columns):random(0, 5) end
   local t, s, r = numbers(), numbers(), matrix(T, rows, columns):zero()
   if T == LONG then
      for _, x in ipairs{ t, s } do
         for _ = 1, 20 do
            x[random(1, rows)][random(1, columns)] = ({ -2 ^ 63, 2 ^ 62, 2 ^ 53, -2 ^ 53 })[random(1, 4)]
         end
         if random(1, 2) == 1 then x:add(-1) end
      end
   elseif FLOATING[T] then
      for _, x in ipairs{ t, s } do
         x[random(1, rows)][random(1, columns)] = ({ -0.0, 1 / 0, 0 / 0, 1e-310 })[random(1, 4)]
      end
   end
   local bytes, v = matrix(BYTE, rows, columns), random(0, 5)
   for _, name in ipairs{ 'lt', 'gt', 'le', 'ge', 'eq', 'ne' } do
      both_ways(('%s %s of %d x %d'):format(T, name, rows, columns), function()
         return t[name](t, v), t[name](t, s), s[name](bytes, s, v), s[name](bytes, s, t), s[name](r, s, t)
      end)
   end
   local scattered = torch.lt(t, 3):type(T):cmul(t)
   local in_three = scattered:contiguous():view(rows, columns, 1):expand(rows, columns, 2):transpose(1, 3)
   both_ways(('%s that are not zero in %d x %d'):format(T, rows, columns), function()
      return scattered:nonzero(), t:nonzero(), scattered:t():nonzero(), scattered[1]:nonzero(), in_three:nonzero(),
         t:gt(2):nonzero()
   end)
   both_ways(('%s written in %d x %d'):format(T, rows, columns), function()
      local wide = matrix(T, rows, columns):fill(v)
      wide:narrow(2, 1, random(1, columns)):fill(1)
      return wide, r:fill(v):clone(), r:t():zero():clone()
   end)
   local order = whole_numbers(rows, columns)
   for i = 1, rows do order[i]:copy(torch.randperm(columns)) end
   local of_order = order:t():contiguous()
   both_ways(('%s indexed in %d x %d'):format(T, rows, columns), function()
      return t:gather(2, order), t:t():gather(1, of_order), r:scatter(2, order, t):clone(),
         r:t():scatter(1, of_order, s:t()):clone(),
         r:scatter(2, order:narrow(2, 1, 1):clone(), v):clone(), r:clone():scatter(2, order, r)
   end)
   if FLOATING[T] and rows > 2 and columns > 2 then
      both_ways(('%s convolved in %d x %d'):format(T, rows, columns), function()
         local part = t:narrow(1, 1, 3):narrow(2, 1, 2)
         return torch.conv2(t, part), torch.xcorr2(s, part, 'F'), torch.conv2(part:t(), part:t())
      end)
   end
   both_ways(('%s extrema of %d x %d'):format(T, rows, columns), function()
      return r:clone():cmax(t, s), r.cmax(r, t, s):clone(), r.cmin(r, t, v):clone(), torch.clamp(t, 1, v),
         r.clamp(r, s, 1, v):clone()
   end)
end

-- What BLAS computes for as few elements as LuaJIT does has the same bits: which of them does may depend on what came
-- before.
local function arithmetic_by_blas(T)
   local n = random(200, BLAS_IS_STEADY and 4300 or 4096) -- more are PyTorch's
   local t, s = torch.randn(n):type(T), torch.randn(n):mul(1e3):type(T)
   if random(1, 2) == 1 then
      for _, x in ipairs{ t, s } do
         x[random(1, n)] = ({ 0, -0.0, 1 / 0, -1 / 0, 0 / 0, 5e-324, 1e308 })[random(1, 7)]
      end
   end
   if random(1, 4) == 1 then t = torch.cat(t, t):narrow(1, random(1, n), n) end
   local v = ({ 0, 1, -1, 3, 0.1, torch.normal(), 1e-310, 1 / 0, 0 / 0 })[random(1, 9)]
   local function run(enabled)
      blas.enabled = enabled
      local results = { t:clone():add(v), t:clone():add(s), t:clone():add(v, s), t:clone():add(t, v, s),
         t:clone():csub(s), t:clone():mul(v),
         torch.mul(t, v), torch.add(t, v), torch.add(t, v, s), t + s, t - s, t * v, t + v, -t, t:clone():add(t) }
      blas.enabled = true
      return results
   end
   local a, b = run(true), run(false)
   for k = 1, #a do
      local x, y = a[k]:double(), b[k]:double()
      for i = 1, n do
         local same = x[i] == y[i] and 1 / x[i] == 1 / y[i] or x[i] ~= x[i] and y[i] ~= y[i]
         assert(same, ('%s, h.seed %d: result %d with %g: %.17g instead of %.17g'):format(T, h.seed, k, v, x[i], y[i]))
      end
      counted()
   end
end

return {
   { name = 'products', types = h.REALS, run = products },
   { name = 'batched_products', types = h.REALS, run = batched_products },
   { name = 'larger_products', types = h.REALS, run = larger_products },
   { name = 'larger_batched_products', types = h.REALS, run = larger_batched_products },
   { name = 'correlations', types = h.REALS, run = correlations },
   { name = 'of_lapack', types = h.TYPES, run = of_lapack },
   { name = 'matrices_in_layouts', types = { '' }, run = matrices_in_layouts, times = 2 },
   { name = 'arithmetic_by_blas', types = h.REALS, run = arithmetic_by_blas },
}
