-- Operations that Lua computes itself for few elements, and PyTorch otherwise: both ways give the same, and raise the
-- same, for random sizes, types and layouts. few.LIMIT 0 leaves everything to PyTorch; products that LuaJIT hands to
-- PyTorch's BLAS and functions that it hands to its vector library have the same bits. Prints how many results were
-- compared.
-- Arguments: seed, rounds; 'cuda' for CUDA's types (th --cpu-as-cuda).
require 'nn'
local prefix = arg[3] == 'cuda' and 'Cuda' or ''
if prefix ~= '' then require 'cunn' end
local few, blas, vectors, library = require 'torch.luajit.elementwise', require 'torch.luajit.blas',
   require 'torch.luajit.vectors', require 'torch.core.library'
local LIMIT, LIMIT_OF_FUNCTIONS = few.LIMIT, few.LIMIT_OF_FUNCTIONS
local seed, rounds = tonumber(arg[1]), tonumber(arg[2])

local compared, text = 0, nil

local function tensors_of(name) return ('torch.%sTensor'):format((prefix .. name):gsub('^CudaFloat$', 'Cuda')) end
local DOUBLE, FLOAT, LONG, INT, BYTE = tensors_of('Double'), tensors_of('Float'), tensors_of('Long'), tensors_of('Int'),
   tensors_of('Byte')
local FLOATING = { [DOUBLE] = true, [FLOAT] = true }
local TYPES = { DOUBLE, FLOAT, LONG, BYTE }
local function whole_numbers(...) return torch.LongTensor(...):type(LONG) end

local function close(a, b)
   if a ~= a or b ~= b then return a ~= a and b ~= b end
   return a == b or math.abs(a - b) <= 2e-5 * math.max(1, math.abs(a), math.abs(b))
end

local function check(a, b)
   compared = compared + 1
   if torch.type(a) ~= torch.type(b) then error(text .. ': ' .. tostring(a) .. ' instead of ' .. tostring(b)) end
   if torch.isTensor(a) then
      assert(a:isSameSizeAs(b), text)
      a, b = a:double():contiguous():view(-1), b:double():contiguous():view(-1)
      for i = 1, a:dim() > 0 and a:size(1) or 0 do
         assert(close(a[i], b[i]), ('%s: %g instead of %g at %d'):format(text, a[i], b[i], i))
      end
   elseif type(a) == 'number' then
      assert(close(a, b), text)
   else
      assert(a == b, text .. ': ' .. tostring(a) .. ' / ' .. tostring(b))
   end
end

-- f makes its results anew each time; it is called once for each way.
local function both_ways(what, f)
   text = ('%s, seed %d'):format(what, seed)
   local state = torch.getRNGState()
   local function run(limit)
      torch.setRNGState(state)
      few.LIMIT, few.LIMIT_OF_FUNCTIONS = limit, limit > 0 and LIMIT_OF_FUNCTIONS or 0
      blas.enabled, vectors.enabled = limit > 0, limit > 0
      local results = { pcall(f) }
      few.LIMIT, few.LIMIT_OF_FUNCTIONS = LIMIT, LIMIT_OF_FUNCTIONS
      blas.enabled, vectors.enabled = true, true
      results[#results + 1] = torch.uniform() -- as many draws
      return results
   end
   local a, b = run(LIMIT), run(0)
   assert(#a == #b, text)
   for k = 1, #a do check(a[k], b[k]) end
end

local function random(low, high) return torch.random(low, high) end

-- A tensor of random sizes that lies in memory in one of several ways.
local function sample(T, nd)
   local sizes = torch.LongStorage(nd)
   for d = 1, nd do sizes[d] = random(1, 6) end
   local t = torch.randn(sizes):mul(4):type(T)
   local layout = random(1, 4)
   if layout == 1 and nd > 1 then return t:transpose(1, nd) end
   if layout == 2 then return torch.cat(t, t, nd):narrow(nd, 1, t:size(nd)) end
   if layout == 3 and t:size(1) > 1 then return t:narrow(1, 2, t:size(1) - 1) end
   if FLOATING[T] then
      if layout == 4 and random(1, 4) == 1 then t:view(-1)[random(1, t:nElement())] = 0 / 0 end
   end
   return t
end

local function matrix(T, rows, columns)
   local layout = random(1, 6)
   if layout == 1 then return torch.randn(columns, rows):type(T):t() end
   if layout == 2 then return torch.randn(rows, columns + 3):type(T):narrow(2, 2, columns) end
   if layout == 3 then return torch.randn(rows + 2, columns):type(T):narrow(1, 2, rows) end
   if layout == 5 then
      return torch.randn(rows * columns + 3):type(T):narrow(1, 2, rows * columns):view(rows, columns)
   end
   if layout == 6 then
      return torch.randn(rows * columns + 3):type(T):narrow(1, 2, rows * columns):view(columns, rows):t()
   end
   return torch.randn(rows, columns):type(T)
end

local function along_a_dimension(T, t, d)
   for _, name in ipairs{ 'sum', 'prod', 'max', 'min', 'mean' } do
      if name ~= 'mean' or FLOATING[T] then
         both_ways(('%s %s %d'):format(T, name, d), function() return torch[name](t, d) end)
         if name == 'mean' then
            both_ways(T .. ' norm', function() return t:norm(2, d), t:norm(1, d), t:norm(0, d), t:norm(2.5, d) end)
         end
         both_ways('given results', function()
            local r, l = torch.Tensor(3):type(T), whole_numbers(2, 2)
            if name == 'max' or name == 'min' then return torch[name](r, l, t, d) end
            return torch[name](r, t, d)
         end)
      end
   end
   if FLOATING[T] then
      if t:dim() > 1 then
         local p, most = ({ 1, 2, 3, 0.5 })[random(1, 4)], torch.uniform(0.1, 9)
         both_ways(T .. ' renorm', function() return torch.renorm(t, p, d, most), t:clone():renorm(p, d, most),
            t:norm(p), t:dist(t + 1, p) end)
      end
      local biased = random(1, 2) == 1
      both_ways(T .. ' variances and running sums', function()
         local part = torch.randn(t:size()):type(T):transpose(1, t:dim())
         return t:var(d, biased), t:std(d, biased), t:cumsum(d), t:cumprod(d), t:var(biased), t:std(biased),
            torch.cumsum(t:clone(), t, d),
            part:transpose(1, t:dim()):cumsum(t, d)
      end)
   end
   if t:dim() <= 3 then
      local places = torch.LongTensor():resize(t:size()):type(LONG):random(t:size(d))
      if random(1, 2) == 1 then places = places:narrow(d, 1, random(1, t:size(d))) end
      if random(1, 4) == 1 then places:narrow(1, 1, 1):fill(random(0, 1) * 2 ^ 40) end
      both_ways(T .. ' slices by index', function()
         local n, other = t:size(d), random(1, 4)
         local rows = whole_numbers(other):random(n)
         local sizes = t:size()
         sizes[d] = other
         local s = torch.randn(sizes):type(T)
         local a, b = t:clone(), t:transpose(1, t:dim()):clone():transpose(1, t:dim())
         a:indexAdd(d, rows, s)
         b:indexAdd(d, rows, s)
         b:indexCopy(d, rows, s)
         return a, b, t:index(d, rows)
      end)
      both_ways(T .. ' gather and scatter', function() return t:gather(d, places) end)
      both_ways(T .. ' scatter', function() return t:clone():scatter(d, places, 7) end)
      local different = torch.randperm(t:size(d)):type(LONG)
      local shape = torch.LongStorage(t:dim()):fill(1)
      shape[d] = t:size(d)
      different = different:view(shape):expandAs(t)
      both_ways(T .. ' scatter of a tensor', function()
         return t:clone():scatter(d, different, t:clone():fill(3):add(t)) end)
   end
   local index = whole_numbers(random(1, 7)):random(t:size(d))
   if random(1, 2) == 1 then index = torch.cat(index, index, 2):select(2, 1) end
   both_ways(T .. ' index', function() return t:index(d, index) end)
   for _, wrong in ipairs{ 0, -1, t:size(d) + 1, 2 ^ 52 } do
      index[random(1, index:size(1))] = wrong
      both_ways(T .. ' wrong index', function() return t:index(d, index) end)
   end
end

-- More rows and columns than are taken at a time, in all layouts; with infinite numbers, too.
local function more_along_a_dimension(T)
   local x = matrix(T, random(1, 40), random(1, 40))
   if random(1, 3) == 1 then x = torch.randn(random(1, 5), random(1, 9), random(1, 9)):type(T) end
   if random(1, 4) == 1 then
      x:select(1, random(1, x:size(1))):fill(({ 0, 1 / 0, -1 / 0, 0 / 0, 1e200 })[random(1, 5)])
   end
   if random(1, 6) == 1 then x = x:narrow(1, 1, 1):expand(random(1, 9), unpack(x:size():totable(), 2)) end
   if random(1, 4) == 1 then -- halves of doubles that are those of others, and zeros of both signs
      local high = 0x3ff80000 / 2 ^ 52
      local numbers = { 1, 1.5, 1 + high, 1.5 + high, 0, -0.0 }
      x:apply(function() return numbers[random(1, 6)] end)
   end
   local d = random(1, x:dim())
   both_ways(('%s, %d of more'):format(T, d), function()
      return x:sum(d), x:prod(d), x:mean(d), x:norm(2, d), x:max(d), select(2, x:max(d)), x:min(d), select(2, x:min(d)),
         x:max(), x:min()
   end)
   local indices = torch.LongTensor():resize(x:size()):type(LONG):random(x:size(d))
   if random(1, 3) == 1 then indices = indices:narrow(d, 1, random(1, x:size(d))) end
   if random(1, 6) == 1 then
      indices:narrow(1, 1, 1):narrow(indices:dim(), 1, 1):fill(({ 0, -1, x:size(d) + 1, 2 ^ 31, 2 ^ 32 + 1,
         -2 ^ 40 })[random(1, 6)])
   end
   both_ways(T .. ' gather of more', function() return x:gather(d, indices), x:gather(d, indices:contiguous()),
      x:transpose(1, x:dim()):gather(x:dim() + 1 - d, indices:transpose(1, x:dim())) end)
   local y = torch.randn(x:size()):type(T)
   if FLOATING[T] then
      local other = torch.randn(random(1, 9), x:nElement() / x:size(1)):type(T)
      both_ways(T .. ' match', function() return torch.match(x, other), torch.match(other, x:contiguous(), 0.3),
         torch.match(x, x) end)
   end
   both_ways(T .. ' dot', function() return x:clone():dot(y), y:dot(x), y:transpose(1, 2):dot(y:transpose(1, 2)) end)
end

-- Whole numbers of all types, also such as no double holds, to the last bit.
local function whole_numbers_along_a_dimension()
   local T = tensors_of(({ 'Byte', 'Char', 'Short', 'Int', 'Long' })[random(1, 5)])
   local x = matrix(LONG, random(1, 40), random(1, 40)):random(2 ^ random(1, 31)):add(-random(1, 200)):type(LONG)
   if random(1, 3) == 1 then x = x:mul(2 ^ random(1, 31)) end
   x = x:type(T)
   if random(1, 3) == 1 then x = x:t() end
   if random(1, 3) == 1 then
      x = x:contiguous():view(1, x:size(1), x:size(2)):expand(random(1, 5), x:size(1), x:size(2))
   end
   local function bits(t)
      local whole = t:type('torch.LongTensor'):contiguous()
      local p, all = torch.data(whole), {}
      for i = 1, whole:nElement() do all[i] = tostring(p[i - 1]) end
      return table.concat(all, ' ')
   end
   for d = 1, x:dim() do
      both_ways(('%s, whole numbers along %d'):format(T, d), function()
         local greatest, places = x:max(d)
         local least, places_of_least = x:min(d)
         return bits(x:sum(d)), bits(x:prod(d)), bits(x:cumsum(d)), bits(x:cumprod(d)), bits(greatest), bits(least),
            places, places_of_least,
            bits(torch.cumsum(x:transpose(1, 2):clone():transpose(1, 2), x, d))
      end)
   end
end

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

-- f's tensors without blas and vectors have the same bits.
local function same_bits(what, f)
   local state = torch.getRNGState()
   few.LIMIT_OF_FUNCTIONS = 0
   local by_luajit = f()
   torch.setRNGState(state)
   few.LIMIT, blas.enabled, vectors.enabled = 0, false, false
   local by_python = f()
   few.LIMIT, few.LIMIT_OF_FUNCTIONS, blas.enabled, vectors.enabled = LIMIT, LIMIT_OF_FUNCTIONS, true, true
   for k = 1, #by_python do
      compared = compared + 1
      local a, b = by_luajit[k]:contiguous():view(-1), by_python[k]:contiguous():view(-1)
      for i = 1, a:size(1) do
         assert(a[i] == b[i] or a[i] ~= a[i] and b[i] ~= b[i],
            ('%s, result %d, seed %d: %.17g instead of %.17g'):format(what, k, seed, a[i], b[i]))
      end
   end
end

-- On Intel's processors BLAS rounds the same wherever numbers lie, and a product with its sum in one step, as PyTorch
-- does.
local cpuinfo = io.open('/proc/cpuinfo')
local BLAS_IS_STEADY = cpuinfo ~= nil and cpuinfo:read('*a'):find('GenuineIntel') ~= nil
if cpuinfo then cpuinfo:close() end
-- Numpy's does so everywhere, where it is asked.
local IS_STEADY_FOR_VECTORS = BLAS_IS_STEADY or require('th.python').functions.product_library() ~= ''

-- The same of tensors that BLAS computes.
local function same_bits_by_blas(what, f, is_steady)
   if BLAS_IS_STEADY or is_steady then same_bits(what, f) else both_ways(what, function() return unpack(f()) end) end
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

-- What LuaJIT computes of many elements before PyTorch is loaded, which it is here: as if it were not.
local saves_pytorch = library.saves_pytorch
local function before_pytorch(T)
   library.saves_pytorch = function() return true end
   local rows, columns = random(60, 90), random(80, 120)
   local x, y, v = matrix(T, rows, columns), matrix(T, rows, columns), torch.uniform(-1, 1)
   local t = torch.randn(rows, columns):type(T)
   if FLOATING[T] and random(1, 4) == 1 then x[rows][columns], t[1][1] = 0 / 0, 1 / 0 end
   same_bits(T .. ' before PyTorch', function()
      local results = { torch.add(x, v), torch.add(x, y), torch.add(t, t), torch.csub(x, y), torch.mul(t, v),
         torch.cmul(x, y), torch.clamp(x, 0, 1),
         torch.gt(x, v), torch.eq(x, y), torch.le(t, x), t:clone():fill(v), t:clone():zero(),
            x:clone():t():contiguous(), x:clone():add(y),
         torch.cmax(t, 1), torch.sign(t), torch.cat(x, y, 1) }
      for _, other in ipairs(TYPES) do results[#results + 1] = t:clone():mul(20):type(other) end
      if FLOATING[T] then
         for _, result in ipairs{ torch.sqrt(t), torch.cinv(t), torch.abs(x), torch.floor(t), torch.cdiv(x, y),
            torch.pow(t, 2), torch.cumsum(t, 2),
            torch.cumsum(t:view(-1)) } do results[#results + 1] = result end
      end
      if T == DOUBLE then results[#results + 1] = torch.addcdiv(t, v, t, torch.rand(rows, columns):add(1):type(T)) end
      return results
   end)
   if FLOATING[T] then
      same_bits_by_blas(T .. ' scaled and added before PyTorch',
         function() return { torch.add(t, v, t), t:clone():add(v, t), torch.add(x, v, y) } end)
   end
   local d, mask = random(1, 2), matrix(T, rows, columns):gt(0)
   local index, places = whole_numbers(3000):random(x:size(d)), matrix(LONG, rows, columns):random(x:size(d))
   local images, channels = torch.randn(9, 40, 20):type(T), whole_numbers(30):random(40)
   same_bits(T .. ' selected before PyTorch', function()
      local filled, copied, scattered = x:clone(), t:clone(), x:clone()
      filled:maskedFill(mask, 3)
      copied:maskedCopy(mask, y:contiguous())
      scattered:scatter(d, places:clone():fill(1), t)
      local added, written = t:clone(), t:clone()
      added:indexAdd(d, index, x:index(d, index))
      written:indexFill(d, index, 2)
      local extremes = torch.Tensor{ x:max(), x:min(), images:max(), images:min(), images:transpose(1, 3):max(),
         t:clone():cmax(0):min() }:type(T)
      return { x:index(d, index), x:t():index(d, index:clone():fill(1)), x:gather(d, places),
         t:gather(d, places:t():clone():t()), images:index(2, channels), images:index(3, channels:clone():fill(20)),
         images:transpose(1, 2):index(1, channels), images:gather(2,
            channels:view(1, 30, 1):expand(9, 30, 20):contiguous()), x[mask], t:maskedSelect(mask:contiguous()), filled,
               copied,
         scattered, added, written, extremes }
   end)
   both_ways(T .. ' wrong indices before PyTorch', function()
      index[2000] = random(0, 1) * (x:size(d) + 1)
      places[rows][columns] = 0
      return pcall(x.index, x, d, index), pcall(x.gather, x, d, places), pcall(t.scatter, t:clone(), d, places, 3),
         pcall(x.maskedSelect, x, mask + 1)
   end)
   both_ways(T .. ' sums of many', function()
      local whole = t:clone():gt(0)
      if not FLOATING[T] then return t:sum(), whole:sum() end
      local line, sum, squares = x:clone():view(-1), 0, 0
      for k = 1, line:size(1) do sum, squares = sum + line[k], squares + line[k] * line[k] end
      if sum == sum and T == FLOAT and few.LIMIT > 0 then -- as doubles, in their order
         assert(line:sum() == sum and line:norm() == math.sqrt(squares) and line:mean() == sum / line:size(1),
            'sums of floats')
      end
      return t:sum(), t:mean(), t:norm(), x:norm(), x:sum(), torch.addcmul(t, v, t, t),
         torch.addcdiv(t, v, t, t:clone():fill(2)), whole:sum()
   end)
   library.saves_pytorch = saves_pytorch
end

local function functions_of_many(T)
   local rows, columns = random(2, 30), random(70, 300)
   local x = matrix(T, rows, columns):mul(3)
   if random(1, 4) == 1 then x[rows][columns] = ({ 0 / 0, 1 / 0, -1 / 0, 0, -0, 1e-310 })[random(1, 6)] end
   for _, name in ipairs{ 'exp', 'log', 'sin', 'cos', 'tan', 'asin', 'acos', 'atan', 'tanh' } do
      same_bits(('%s %s of many'):format(T, name), function()
         local y, z, part = matrix(T, rows, columns), x:clone(), x:clone():narrow(2, 3, 40)
         y[name](y, x)
         part[name](part, x:narrow(2, 5, 40))
         return { torch[name](x), z[name](z), y, part, part[name](part) }
      end)
   end
   both_ways(T .. ' sigmoid of many', function()
      local y = torch.Tensor(rows, columns):type(T):fill(1)
      y:narrow(2, 3, 30):sigmoid(x:narrow(2, 1, 30))
      return torch.sigmoid(x), y, x:clone():narrow(2, 1, 30):sigmoid(),
         x:clone():narrow(1, 1, 1):expand(5, columns):sigmoid()
   end)
end

local function criterions(T)
   local rows, classes = random(1, 5), random(2, 6)
   local x, target = torch.randn(rows, classes):type(T), whole_numbers(rows):random(classes)
   if random(1, 2) == 1 then x = x:t():clone():t() end
   local weights = random(1, 2) == 1 and torch.rand(classes):type(T) or nil
   local average, ignored = random(1, 2) == 1, random(1, classes)
   local bad = target:clone()
   bad[random(1, rows)] = ({ 0, classes + 1, -1, 2 ^ 40 })[random(1, 4)]
   for _, classes_given in ipairs{ target, bad } do
      both_ways(T .. ' ClassNLL', function()
         local criterion = nn.ClassNLLCriterion(weights, average, ignored):type(T)
         local loss = criterion:forward(x, classes_given)
         return loss, criterion.total_weight_tensor, criterion:backward(x, classes_given)
      end)
   end
   local y = sample(T, 2)
   local z = torch.randn(y:size()):type(T)
   local signs, chances = torch.randn(y:size()):type(T):sign(), torch.rand(y:size()):type(T)
   if random(1, 2) == 1 then signs:mul(0.5):round() end
   local margin = random(0, 2)
   for _, name in ipairs{ 'MarginCriterion', 'HingeEmbeddingCriterion' } do
      both_ways(T .. ' ' .. name, function()
         local criterion = nn[name](margin):type(T)
         criterion.sizeAverage = average
         return criterion:forward(y, signs), criterion:backward(y, signs)
      end)
   end
   local weights_of_columns = random(1, 2) == 1 and torch.rand(y:size(2)) or nil
   both_ways(T .. ' BCE', function()
      local criterion = nn.BCECriterion(weights_of_columns, average):type(T)
      local x = chances:clone():mul(0.9):add(0.05)
      return criterion:forward(x, signs:clone():gt(0):type(T)), criterion:backward(x, signs:clone():gt(0):type(T))
   end)
   local lists = torch.Tensor(rows, classes):random(0, classes):type(T)
   if random(1, 6) == 1 then lists[random(1, rows)][random(1, classes)] = classes + 1 end
   if random(1, 8) == 1 then x = x:clone() x[random(1, rows)][1] = ({ 0 / 0, 1 / 0, -1 / 0 })[random(1, 3)] end
   for _, given in ipairs{ target, bad } do
      both_ways(T .. ' MultiMarginCriterion', function()
         local criterion = nn.MultiMarginCriterion(random(1, 2), weights, margin):type(T)
         criterion.sizeAverage = average
         return criterion:forward(x, given), criterion:backward(x, given), criterion:forward(x[1], given[1])
      end)
   end
   both_ways(T .. ' MultiLabelMarginCriterion', function()
      local criterion = nn.MultiLabelMarginCriterion():type(T)
      criterion.sizeAverage = average
      return criterion:forward(x, lists), criterion:backward(x, lists), criterion:forward(x[1], lists[1])
   end)
   both_ways(T .. ' MultiLabelSoftMarginCriterion', function()
      local criterion, labels = nn.MultiLabelSoftMarginCriterion(weights, average):type(T), torch.gt(lists, 1):type(T)
      return criterion:forward(x, labels), criterion:backward(x, labels)
   end)
   for _, name in ipairs{ 'MSECriterion', 'AbsCriterion', 'SmoothL1Criterion', 'DistKLDivCriterion',
      'SoftMarginCriterion' } do
      both_ways(T .. ' ' .. name, function()
         local criterion = nn[name](average):type(T)
         return criterion:forward(y, z), criterion:backward(y, z)
      end)
   end
end

-- Tensors of as many elements in other sizes.
-- Parts of matrices that lie in rows, as the gates of an LSTM do: of results, of what they are made of, or of one in
-- its place.
local function parts_of_many(T)
   local rows, columns = random(2, 40), random(30, 90)
   local function part()
      local whole = torch.randn(rows, 2 * columns + 1):mul(3):type(T)
      local kind = random(1, 4)
      if kind == 1 then return torch.randn(rows, columns):type(T) end
      if kind == 2 then return whole:view(rows, 1, 2 * columns + 1):narrow(3, 2, columns):select(2, 1) end
      return whole:narrow(2, random(1, columns + 2), columns)
   end
   local x, y = part(), part()
   if FLOATING[T] and random(1, 3) == 1 then
      local numbers = { 0 / 0, 1 / 0, -1 / 0, 1e30, -0, 1e-310 }
      x[rows][columns], y[1][1] = numbers[random(1, 6)], numbers[random(1, 6)]
   end
   same_bits(T .. ' parts of many', function()
      local results = {}
      local function keep(name, ...)
         local first, second = part(), part()
         local both = torch.cat(first, second, 2)
         local left, right = both:narrow(2, 1, columns), both:narrow(2, columns + 1, columns)
         for _, result in ipairs{ first[name](first, ...), left[name](left, left, select(2, ...)),
            right[name](right, left, select(2, ...)), both } do
            results[#results + 1] = result:clone()
         end
      end
      for _, name in ipairs(FLOATING[T] and { 'add', 'csub', 'cmul', 'cdiv', 'cmax' } or { 'add', 'csub', 'cmul' }) do
         keep(name, x, y)
      end
      keep('add', x, 3)
      keep('mul', y, 2)
      if FLOATING[T] then
         for _, name in ipairs{ 'abs', 'sqrt', 'neg', 'floor', 'cinv' } do keep(name, x) end
         results[#results + 1] = part():add(x, 0.5, y)
      end
      return results
   end)
end

local function other_sizes(T)
   local a, b, c = random(1, 4), random(1, 4), random(1, 4)
   local x, y = torch.randn(a, 2 * b, c):type(T):narrow(2, 2, b), torch.randn(a * b, c):type(T)
   local z = torch.randn(c, a * b):type(T):t()
   both_ways(T .. ' other sizes', function()
      local sums = torch.add(x, y)
      return sums, x:clone():cmul(y), y:clone():cmul(x), torch.cmul(y, x), torch.add(y:view(a, b, c), 0.5, z),
         torch.randn(2 * a, b, c):type(T):narrow(1, 1, a):cmul(y), z:clone():add(x), torch.cmul(z, y:view(b, c, a))
   end)
end

local function transfers(T)
   local x = sample(T, random(1, 4))
   local y = torch.randn(x:size()):type(T)
   if random(1, 2) == 1 and x:dim() > 1 then y = y:transpose(1, 2):clone():transpose(1, 2) end
   local made = { -- with their parameters
      { 'ReLU' }, { 'LeakyReLU', random(-1, 2) * 0.3 }, { 'Threshold', random(-1, 1), random(0, 1) }, { 'Sigmoid' },
         { 'Tanh' }, { 'Square' },
      { 'Abs' }, { 'Sqrt' }, { 'Exp' }, { 'Log' }, { 'TanhShrink' }, { 'SoftSign' }, { 'LogSigmoid' },
         { 'SoftPlus', random(1, 2) },
      { 'HardShrink', random(0, 2) * 0.5 }, { 'SoftShrink', random(-1, 2) * 0.5 }, { 'ELU', random(1, 3) * 0.5 },
         { 'ReLU6' },
      { 'HardTanh', -random(0, 2), random(1, 2) }, { 'HardTanh', 0, 1 / 0 }, { 'Power', 2 }, { 'Power', 3 },
         { 'Power', 2.5 }, { 'Power', ({ -1, -0.5, 0.5, 1.5 })[random(1, 4)] },
   }
   local EXACT = 6 -- so many have one result at a NaN; in the gradients of others, PyTorch's depends on where it lies
   for k, row in ipairs(made) do
      both_ways(('%s %s'):format(T, row[1]), function()
         local module = nn[row[1] ](unpack(row, 2)):type(T)
         return module:forward(x), module:backward(x, y)
      end)
      if k == EXACT then x[x:ne(x)] = 0 end
   end
   local numbers = { 0 / 0, -(0 / 0), 1 / 0, -1 / 0, 0, -0, 1e-310, -1e-310, 1e-40, -1e-40, 1e-300, -1e-300, 3, -3,
      1e38, -1e38 }
   local special = torch.Tensor(numbers):type(T)
   for k, row in ipairs(made) do
      both_ways(('%s %s of unusual numbers'):format(T, row[1]), function()
         local module = nn[row[1] ](unpack(row, 2)):type(T)
         local x = k > EXACT and special:narrow(1, 3, #numbers - 2) or special
         return module:forward(x), module:updateGradInput(x, x:clone():fill(0.5))
      end)
   end
   for _, module in ipairs{ nn.ReLU(true), nn.ELU(0.7, true), nn.HardTanh(-1, 1, true), nn.ReLU6(true),
      nn.LeakyReLU(0.1, true) } do
      both_ways(T .. ' in place', function()
         local input, gradient = x:clone(), y:clone()
         module:type(T)
         return module:forward(input):clone(), module:backward(input, gradient):clone(), input, gradient
      end)
   end
   local many = torch.randn(random(30, 60), random(80, 130)):type(T)
   for k = 1, 40 do many:view(-1)[random(1, many:nElement())] = (k % 9 - 4) * 0.5 end
   for _, row in ipairs(made) do
      both_ways(('%s %s of many'):format(T, row[1]), function()
         local module, gradient = nn[row[1] ](unpack(row, 2)):type(T), torch.randn(many:size()):type(T)
         return module:forward(many), module:backward(many, gradient), torch.cmul(many, gradient),
            torch.add(many, 0.5, gradient)
      end)
   end
end

-- Some images, perhaps one alone, perhaps not in one piece, perhaps with a number that is none.
local function images(T, planes, least, most)
   local batch, height, width = random(1, 6), random(least, most), random(least, most)
   local x = torch.randn(batch, planes, height, width):mul(0.5):type(T)
   local kind = random(1, 12)
   if kind == 1 then x = x:transpose(3, 4) end
   if kind == 2 then x = torch.cat(x, x, 2):narrow(2, 1, planes) end
   if kind == 3 then x:view(-1)[random(1, x:nElement())] = ({ 0 / 0, 1 / 0, -1 / 0 })[random(1, 3)] end
   return random(1, 3) == 1 and x[random(1, batch)] or x
end

-- Rows compared with each other and divided by their length, and PReLU.
local function rows_compared(T)
   local rows, columns = random(1, 30), random(1, 40)
   local a, b = matrix(T, rows, columns), matrix(T, rows, columns)
   if random(1, 8) == 1 then a:select(2, random(1, columns)):fill(({ 0 / 0, 1 / 0, 0 })[random(1, 3)]) end
   if random(1, 4) == 1 then a, b, rows = a[1], b[1], 1 end
   local signs, margin, average = torch.randn(rows):sign():type(T), torch.uniform(-1, 1), random(1, 2) == 1
   for _, row in ipairs{ { 'DotProduct' }, { 'CosineDistance' }, { 'PairwiseDistance', 2 }, { 'PairwiseDistance', 1 },
      { 'PairwiseDistance', 3 },
      { 'PairwiseDistance', 1.5 } } do
      both_ways(('%s %s'):format(T, row[1]), function()
         local module = nn[row[1] ](row[2]):type(T)
         local y = module:forward({ a, b })
         return y, unpack(module:updateGradInput({ a, b }, torch.randn(y:size()):type(T)))
      end)
   end
   both_ways(T .. ' CosineEmbeddingCriterion', function()
      local criterion = nn.CosineEmbeddingCriterion(margin):type(T)
      criterion.sizeAverage = average
      return criterion:forward({ a, b }, signs), unpack(criterion:backward({ a, b }, signs))
   end)
   both_ways(T .. ' distances', function() return a:dist(b), a:dist(b, 1), a:norm(1), a:norm(0), a:norm(3) end)
   local power, rounded = ({ 0.5, 1, 1.5, 2, 3, 4, 1 / 0 })[random(1, 7)], random(1, 3) == 1
      and torch.mul(a, 2):round() or a
   both_ways(T .. ' Normalize', function()
      local module = nn.Normalize(power):type(T)
      return module:forward(rounded), module:updateGradInput(rounded, b)
   end)
   local planes = random(1, 3) == 1 and columns or 0
   both_ways(T .. ' PReLU', function()
      local module = nn.PReLU(random(1, 6) == 1 and planes + 1 or planes):type(T)
      module.gradWeight:fill(0.25)
      local y, grad_input = module:forward(a), module:updateGradInput(a, b)
      module:accGradParameters(a, b, 0.5)
      return y, grad_input, module.gradWeight
   end)
   local x = images(T, 3, 1, 6)
   both_ways(T .. ' PReLU of images', function()
      local module = nn.PReLU(x:dim() == 4 and 3 or 1):type(T)
      module.weight:uniform(-1, 1)
      module.gradWeight:fill(0.25)
      local y, gradient = module:forward(x), torch.randn(x:size()):type(T)
      local grad_input = module:updateGradInput(x, gradient)
      module:accGradParameters(x, gradient, 0.5)
      return y, grad_input, module.gradWeight
   end)
   local rows_of_windows, columns_of_windows = random(1, 7), random(1, 4)
   local pictures = images(T, random(1, 3), 3, random(4, 30))
   if random(1, 3) == 1 then pictures = pictures:clone():mul(2):round() end
   local neighbours, beta = random(1, 5), random(1, 2) == 1 and 0.75 or torch.uniform(0.1, 2)
   both_ways(T .. ' SpatialCrossMapLRN', function()
      local module = nn.SpatialCrossMapLRN(neighbours, 0.1, beta):type(T)
      local y = module:forward(pictures)
      return y, module:updateGradInput(pictures, torch.randn(y:size()):type(T))
   end)
   for _, name in ipairs{ 'SpatialAdaptiveMaxPooling', 'SpatialAdaptiveAveragePooling' } do
      both_ways(('%s %s'):format(T, name), function()
         local module = nn[name](columns_of_windows, rows_of_windows):type(T)
         local y = module:forward(pictures)
         local places, gradient = module.indices and module.indices:clone(), torch.randn(y:size()):type(T)
         if places and average then
            module.indices:view(-1)[random(1, y:nElement())] = ({ 1, 100000, -3 })[random(1, 3)]
         end
         return y, module:updateGradInput(pictures, gradient), places
      end)
   end
   both_ways(T .. ' RReLU', function()
      local module = nn.RReLU(0.1, 0.4):type(T)
      if average then module:evaluate() end
      return module:forward(a), module:updateGradInput(a, b)
   end)
end

local function soft_maxima(T)
   local x = random(1, 3) == 1 and torch.randn(random(1, 40)):type(T) or matrix(T, random(1, 30), random(1, 20))
   x:mul(3)
   local y = torch.randn(x:size()):type(T)
   if random(1, 2) == 1 then
      y = x:dim() == 1 and torch.randn(1):type(T):expandAs(x) or y:narrow(2, 1, 1):expandAs(x)
   end
   if random(1, 6) == 1 and x:dim() == 2 then
      x[random(1, x:size(1))][random(1, x:size(2))] = ({ 0 / 0, 1 / 0, -1 / 0 })[random(1, 3)]
   end
   for _, name in ipairs{ 'SoftMax', 'LogSoftMax', 'SoftMin' } do
      both_ways(('%s %s'):format(T, name), function()
         local module = nn[name]():type(T)
         return module:forward(x), module:backward(x, y)
      end)
   end
end

local function soft_maxima_of_images(T)
   local x = torch.randn(random(1, 4), random(1, 9), random(1, 9), random(1, 9)):type(T):mul(random(1, 9))
   if random(1, 3) == 1 then x = x[1] end
   local y = torch.randn(x:size()):type(T)
   if random(1, 4) == 1 then x = x:transpose(1, 2) y = y:transpose(1, 2) end
   if random(1, 4) == 1 then y = y:narrow(1, 1, 1):expandAs(x) end
   if random(1, 6) == 1 and x:isContiguous() then
      x:view(-1)[random(1, x:nElement())] = ({ 0 / 0, 1 / 0, -1 / 0, 1e300 })[random(1, 4)]
   end
   for _, name in ipairs{ 'SpatialSoftMax', 'SpatialLogSoftMax', 'SoftMin' } do
      both_ways(('%s %s of images'):format(T, name), function()
         local module = nn[name]():type(T)
         return module:forward(x), module:backward(x, y)
      end)
   end
end

local function gated_units(T)
   local x = matrix(T, random(1, 9), 2 * random(1, 30))
   if random(1, 2) == 1 then x = torch.randn(random(1, 4), 2 * random(1, 4), random(1, 6), 2 * random(1, 5)):type(T) end
   if random(1, 4) == 1 then x = x:transpose(1, 2) end
   if random(1, 6) == 1 and x:isContiguous() then
      x:view(-1)[random(1, x:nElement())] = ({ 0 / 0, 1 / 0, -1 / 0, 800, -800 })[random(1, 5)]
   end
   for d = 1, x:dim() do
      if x:size(d) % 2 == 0 then
         local sizes = x:size()
         sizes[d] = sizes[d] / 2
         local g = torch.randn(sizes):type(T)
         if random(1, 4) == 1 then
            g = torch.randn(1):type(T):set(torch.randn(1):type(T):storage(), 1, sizes,
               torch.LongStorage(#sizes):fill(0))
         end
         both_ways(('%s GatedLinearUnit(%d)'):format(T, d), function()
            local module = nn.GatedLinearUnit(d):type(T)
            return module:forward(x), module:backward(x, g)
         end)
      end
   end
end

local function distances(T)
   local inputs, outputs = random(1, 20), random(1, 12)
   local x = random(1, 3) == 1 and torch.randn(inputs):type(T) or matrix(T, random(1, 9), inputs)
   local module = nn.Euclidean(inputs, outputs):type(T)
   if random(1, 3) == 1 then module.weight = matrix(T, inputs, outputs) end
   if random(1, 4) == 1 then module.weight:select(2, 1):copy(x:dim() == 2 and x[1] or x) end
   if random(1, 6) == 1 then x[x:dim() == 2 and { 1, 1 } or { 1 }] = ({ 0 / 0, 1 / 0, 1e300 })[random(1, 3)] end
   local g = x:dim() == 2 and matrix(T, x:size(1), outputs) or torch.randn(outputs):type(T)
   local weighted, cosine = nn.WeightedEuclidean(inputs, outputs):type(T), nn.Cosine(inputs, outputs):type(T)
   weighted.weight = module.weight
   weighted.diagCov:uniform(-2, 2)
   cosine.weight:copy(module.weight:t())
   if random(1, 6) == 1 then cosine.weight[1]:zero() end
   for _, distance in ipairs{ module, weighted, cosine } do
      both_ways(T .. ' ' .. torch.type(distance), function()
         local _, of_parameters = distance:parameters()
         for _, gradient in ipairs(of_parameters) do gradient:fill(0.1) end
         distance:accGradParameters(x, (distance:forward(x) * 0):add(g), 0.5)
         return distance.output, distance:updateGradInput(x, g), unpack(of_parameters)
      end)
   end
end

local function pooling(T)
   local image = random(1, 2) == 1 and torch.randn(random(1, 3), random(1, 4), random(4, 9), random(4, 9))
      or torch.randn(3, random(4, 9), 7)
   image = image:type(T)
   local span, step, padding, by_ceil = random(1, 5), random(1, 3), random(0, 2), random(1, 2) == 1
   local other_span, other_step, dilation = random(1, 4), random(1, 3), random(1, 2)
   if random(1, 4) == 1 then image:mul(2):round() end -- several maxima
   if random(1, 4) == 1 then
      image:view(-1)[random(1, image:nElement())] = ({ 0 / 0, 1 / 0, -1 / 0, -0, 1e-310 })[random(1, 5)]
   end
   if random(1, 6) == 1 then image = image:transpose(1, 2) end
   both_ways(T .. ' maxima of images', function()
      local modules = { nn.SpatialMaxPooling(span, other_span, step, other_step, padding, random(0, 1)),
         nn.SpatialDilatedMaxPooling(span, other_span, step, other_step, 0, 0, dilation, random(1, 2)) }
      local results = {}
      for k, module in ipairs(modules) do
         if by_ceil then module:ceil() end
         local done, y = pcall(module.forward, module:type(T), image)
         results[2 * k - 1], results[2 * k] = done and y, done and module.indices or tostring(y):match('[^\n]*')
      end
      return unpack(results)
   end)
   local wrong = random(1, 4) == 1
   both_ways(T .. ' SpatialMaxPooling', function()
      local module = nn.SpatialMaxPooling(span, span, step, step, math.min(padding, math.floor(span / 2)), 0):type(T)
      if by_ceil then module:ceil() end
      local y = module:forward(image)
      local gradient = torch.randn(y:size()):type(T)
      if wrong then module.indices:view(-1)[random(1, y:nElement())] = ({ 0, 1000, -3 })[random(1, 3)] end
      return y, module:updateGradInput(image, gradient)
   end)
   local sequence = (random(1, 2) == 1 and torch.randn(random(1, 3), random(4, 9), random(1, 5))
      or torch.randn(random(4, 9), 3)):type(T)
   both_ways(T .. ' TemporalMaxPooling', function()
      local module = nn.TemporalMaxPooling(span, step):type(T)
      local y = module:forward(sequence)
      if wrong then module.indices:view(-1)[random(1, y:nElement())] = ({ span, 1000, -3 })[random(1, 3)] end
      return y, module:updateGradInput(sequence, torch.randn(y:size()):type(T))
   end)
end

-- The three phases of a layer, with gradients that begin with something, and with a gradOutput of wrong sizes.
local function three_phases(what, make, x)
   both_ways(what, function()
      local module = make()
      local y = module:forward(x)
      local gradient = torch.randn(y:size()):mul(0.3):typeAs(x)
      local grad_input = module:updateGradInput(x, gradient)
      local _, gradients = module:parameters()
      for _, of_parameter in ipairs(gradients or {}) do of_parameter:fill(0.25) end
      module:accGradParameters(x, gradient, 0.5)
      return y, grad_input, unpack(gradients or {})
   end)
   both_ways(what .. ', wrong gradOutput', function()
      local module = make()
      local sizes = module:forward(x):size()
      sizes[random(1, #sizes)] = random(1, 6)
      local gradient = torch.Tensor(sizes):typeAs(x):fill(0.1)
      return module:updateGradInput(x, gradient)
   end)
end

local function convolutions(T)
   local inputs, outputs = random(1, 5), random(1, 6)
   local kw, kh, dw, dh, pw, ph = random(1, 4), random(1, 4), random(1, 3), random(1, 3), random(0, 2), random(0, 2)
   if random(1, 4) == 1 then kw, kh, dw, dh, pw, ph = 1, 1, 1, 1, 0, 0 end
   local without_bias = random(1, 3) == 1
   local x = images(T, random(1, 8) == 1 and inputs + 1 or inputs, 1, 10)
   if random(1, 5) == 1 then kw, kh, pw, ph = x:size(x:dim()), x:size(x:dim() - 1), 0, 0 end
   local function layer(name, ...)
      local more = { ... }
      local seeded = torch.random(1000)
      three_phases(('%s %s'):format(T, name), function()
         torch.manualSeed(seeded)
         local module = nn[name](inputs, outputs, kw, kh, dw, dh, pw, ph, unpack(more)):type(T)
         return without_bias and module.noBias and module:noBias() or module
      end, x)
   end
   layer 'SpatialConvolution'
   layer 'SpatialConvolutionMM'
   layer('SpatialDilatedConvolution', random(1, 3), random(1, 3))
   -- Products with a border's zeros are NaNs, as under Torch7, where Python has no border.
   local is_finite = x:sum() - x:sum() == 0
   local more_columns, more_rows = random(0, dw - 1), random(0, dh - 1)
   if is_finite then layer('SpatialFullConvolution', more_columns, more_rows) end
end

-- Gradients of weights are those of the input that is given, whatever there was before: windows of the forward pass are
-- kept.
local function inputs_that_change(T)
   local kw, kh, dw, dh, pw, ph = random(1, 4), random(1, 4), random(1, 2), random(1, 2), random(0, 2), random(0, 2)
   local batch, height, width, change, seeded = random(1, 5), random(4, 9), random(4, 9), random(1, 7),
      torch.random(1000)
   local kt, dt, pt = random(1, 2), random(1, 2), random(0, 1)
   local of_volumes = random(1, 2) == 1
   local sizes = torch.LongStorage(of_volumes and { batch, 3, random(2, 4), height, width }
      or { batch, 3, height, width })
   local x, z = torch.randn(sizes):type(T), torch.randn(sizes):type(T)
   local function new_module()
      if of_volumes then return nn.VolumetricConvolution(3, 4, kt, kw, kh, dt, dw, dh, pt, pw, ph):type(T) end
      return nn.SpatialConvolution(3, 4, kw, kh, dw, dh, pw, ph):type(T)
   end
   both_ways(('%s %d inputs that change: %d'):format(T, #sizes, change), function()
      torch.manualSeed(seeded)
      local module = new_module()
      local a, b = x:clone(), z:clone()
      if change == 6 then module:evaluate() end
      local gradient = module:forward(a):clone():normal()
      if change == 1 then a:view(-1)[random(1, a:nElement())] = 7 end
      if change == 2 then a:copy(b) end
      if change == 3 then a = b end
      if change == 4 then module:forward(a:narrow(1, 1, 1)) end
      if change == 5 then
         module.padW, module.padH, module.dW = module.padW + 1, module.padH + 1, 3
         gradient = module:forward(b):clone():normal()
      end
      if change == 7 then new_module():forward(b) end
      module:zeroGradParameters()
      module:accGradParameters(a, gradient, 0.5)
      module:accGradParameters(b, gradient)
      module:accGradParameters(a, gradient)
      return module.gradWeight, module.gradBias
   end)
end

-- Layers of volumes, and of images by tables of connections or plane by plane.
local function volumes(T)
   local function small() return random(1, 3) end
   local function layer(name, x, ...)
      local numbers = { ... }
      local seeded = torch.random(1000)
      three_phases(('%s %s %s'):format(T, name, table.concat(numbers, ' ')), function()
         torch.manualSeed(seeded)
         return nn[name](unpack(numbers)):type(T)
      end, x)
   end
   local inputs, outputs = random(1, 3), random(1, 3)
   local kt, kw, kh, dt, dw, dh, pt, pw, ph = small(), small(), small(), small(), small(), small(), random(0, 1),
      random(0, 1), random(0, 2)
   local x = torch.randn(random(1, 3), random(1, 8) == 1 and inputs + 1 or inputs, random(1, 6), random(1, 6),
      random(1, 6)):type(T)
   if random(1, 6) == 1 then x = x:transpose(3, 4) end
   if random(1, 3) == 1 then x = x[1] end
   layer('VolumetricConvolution', x, inputs, outputs, kt, kw, kh, dt, dw, dh, pt, pw, ph)
   layer('VolumetricDilatedConvolution', x, inputs, outputs, kt, kw, kh, dt, dw, dh, pt, pw, ph, small(), small(),
      small())
   layer('VolumetricFullConvolution', x, inputs, outputs, kt, kw, kh, dt, dw, dh, pt, pw, ph, random(0, dt - 1),
      random(0, dw - 1), random(0, dh - 1))
   local volume = torch.randn(random(1, 3), inputs, random(3, 8), random(3, 8), random(3, 8)):type(T)
   if random(1, 2) == 1 then volume:mul(2):round() end -- several maxima
   if random(1, 6) == 1 then
      volume:view(-1)[random(1, volume:nElement())] = ({ 0 / 0, 1 / 0, -1 / 0 })[random(1, 3)]
   end
   if random(1, 3) == 1 then volume = volume[1] end
   local by_ceil, wrong = random(1, 2) == 1, random(1, 5) == 1
   local half, third = torch.uniform(0.4, 0.7), torch.uniform(0.3, 0.6)
   local function maxima(name, input, ...)
      local numbers = { ... }
      both_ways(('%s %s %s'):format(T, name, table.concat(numbers, ' ')), function()
         local module = nn[name](unpack(numbers)):type(T)
         if by_ceil and module.ceil then module:ceil() end
         local y = module:forward(input)
         local places, gradient = module.indices:clone(), torch.randn(y:size()):type(T)
         if wrong then module.indices:view(-1)[random(1, y:nElement())] = ({ 0, 100000, -3 })[random(1, 3)] end
         return y, places, module:updateGradInput(input, gradient)
      end)
   end
   maxima('VolumetricMaxPooling', volume, kt, kw, kh, dt, dw, dh, pt, pw, random(0, 1))
   maxima('VolumetricDilatedMaxPooling', volume, kt, kw, kh, dt, dw, dh, pt, pw, random(0, 1), small(), small(),
      small())
   local large = torch.randn(2, 9, 10, 9):type(T)
   if random(1, 2) == 1 then large:mul(2):round() end
   if random(1, 4) == 1 then large:fill(-1e-310) end
   maxima('VolumetricMaxPooling', large, random(2, 5), random(2, 5), random(2, 5), dt, dw, dh, pt, pw, random(0, 1))
   maxima('VolumetricDilatedMaxPooling', large, random(2, 4), random(2, 4), random(2, 4), dt, dw, dh, pt, pw, ph % 2,
      random(1, 2), random(1, 2), random(1, 2))
   maxima('VolumetricFractionalMaxPooling', volume, random(2, 3), random(2, 3), random(2, 3), half, third, half)
   maxima('VolumetricFractionalMaxPooling', volume, 2, 2, 2, random(1, 3), random(1, 3), random(1, 3))
   local image = images(T, inputs, 2, 12)
   maxima('SpatialMaxPooling', torch.randn(2, 12, 13):type(T), random(5, 9), random(5, 9), dw, dh, random(0, 2),
      random(0, 2))
   maxima('SpatialFractionalMaxPooling', image, random(2, 3), random(2, 3), half, third)
   for _, name in ipairs{ 'Spatial', 'Volumetric' } do
      both_ways(('%s %sMaxUnpooling'):format(T, name), function()
         local x = name == 'Spatial' and image or volume
         local span = { random(1, 3), random(1, 3), name ~= 'Spatial' and random(1, 3) or nil }
         local pooling = nn[name .. 'MaxPooling'](unpack(span)):type(T)
         local y = pooling:forward(x)
         local unpooling = nn[name .. 'MaxUnpooling'](pooling):type(T)
         if wrong then pooling.indices:view(-1)[random(1, y:nElement())] = ({ 0, 100000, -3 })[random(1, 3)] end
         return unpooling:forward(y), unpooling:updateGradInput(y, torch.randn(x:size()):type(T))
      end)
   end
   local pictures = images(T, inputs, 1, 9)
   local connections, seeded = nn.tables.random(inputs, outputs, random(1, inputs)), torch.random(1000)
   for _, name in ipairs{ 'SpatialConvolutionMap', 'SpatialFullConvolutionMap' } do
      three_phases(('%s %s'):format(T, name), function()
         torch.manualSeed(seeded)
         return nn[name](connections, kw, kh, dw, dh):type(T)
      end, pictures:sum() - pictures:sum() == 0 and pictures or torch.ones(inputs, 4, 5):type(T))
   end
   layer('SpatialAveragePooling', torch.randn(pictures:size()):type(T), kw, kh, dw, dh)
   layer('SpatialAveragePooling', torch.randn(2, 3, random(9, 12), random(9, 12)):type(T), random(8, 9), random(1, 9),
      random(1, 3), random(1, 3))
   local around, below, with_border, seeded = random(0, 2), random(0, 2), random(1, 2) == 1, torch.random(1000)
   for _, of_images in ipairs{ torch.randn(pictures:size()):type(T), pictures } do
      three_phases(('%s SpatialAveragePooling with a border of %d x %d'):format(T, around, below), function()
         torch.manualSeed(seeded)
         local module = nn.SpatialAveragePooling(random(2, 5), random(2, 5), dw, dh, around, below):type(T)
         if by_ceil then module:ceil() end
         return with_border and module or module:setCountExcludePad()
      end, of_images)
   end
   layer('VolumetricAveragePooling', torch.randn(volume:size()):type(T), kt, kw, kh, dt, dw, dh)
   layer('VolumetricReplicationPadding', torch.randn(volume:size()):type(T), 1, pt, pw, 1, 0, 1)
   layer('SpatialSubSampling', torch.randn(pictures:size()):type(T), inputs, kw, kh, dw, dh)
   layer('SpatialSubSampling', pictures, random(1, 9) == 1 and inputs + 1 or inputs, kw, kh, dw, dh)
   layer('SpatialDepthWiseConvolution', pictures, inputs, outputs, kw, kh, dw, dh, random(0, 2), random(0, 2))
   local height, width = pictures:size(pictures:dim() - 1), pictures:size(pictures:dim())
   layer('SpatialConvolutionLocal', pictures, inputs, outputs, width, height, math.min(kw, width), math.min(kh, height),
      dw, dh, random(0, 1), random(0, 1))
   local frames = matrix(T, random(2, 9), 4)
   layer('TemporalSubSampling', frames, random(1, 9) == 1 and 5 or 4, kw, dw)
   layer('TemporalRowConvolution', frames, 4, kw, dw)
   local features_first, seeded = torch.randn(random(1, 3), 4, random(2, 9)):type(T), torch.random(1000)
   three_phases(T .. ' TemporalRowConvolution, features first', function()
      torch.manualSeed(seeded)
      return nn.TemporalRowConvolution(4, kw, dw, true):type(T):noBias()
   end, random(1, 2) == 1 and features_first or features_first[1])
end

-- Losses of many elements, and of the pixels of images.
local function losses_of_many(T)
   local a, b, c, d = random(1, 3), random(1, 4), random(5, 30), random(5, 40)
   local x, y = torch.randn(a, b, c, d):type(T), torch.randn(a + 1, b + 2, c + 3, d + 2):type(T)
   y = y:narrow(1, 1, a):narrow(2, 2, b):narrow(3, random(1, 4), c):narrow(4, 2, d)
   if random(1, 4) == 1 then y = y:clone() elseif random(1, 4) == 1 then x, y = x[1], y[1] end
   both_ways(T .. ' MSECriterion of many', function()
      return nn.MSECriterion():type(T):forward(x, y), nn.MSECriterion(false):type(T):forward(x:view(-1),
         y:clone():view(-1))
   end)
   local classes = random(2, 5)
   local scores = torch.randn(a, classes, c, d):type(T)
   local target = whole_numbers(a, c, d):random(classes)
   if random(1, 5) == 1 then
      target:view(-1)[random(1, target:nElement())] = ({ 0, classes + 1, 2 ^ 32 + 1, -2 ^ 40 })[random(1, 4)]
   end
   local weights = random(1, 2) == 1 and torch.rand(classes):type(T) or nil
   if random(1, 4) == 1 then scores = scores:transpose(3, 4):clone():transpose(3, 4) end
   local ignored = random(1, 2) == 1 and random(-1, classes + 2) or nil
   if ignored and random(1, 2) == 1 then target:view(-1)[random(1, target:nElement())] = ignored end
   both_ways(T .. ' SpatialClassNLLCriterion', function()
      local criterion = nn.SpatialClassNLLCriterion(weights, random(1, 2) == 1, ignored):type(T)
      return criterion:forward(scores, target), criterion.total_weight_tensor, criterion:backward(scores, target)
   end)
end

local function borders(T)
   local x = images(T, random(1, 3), 2, 9)
   local sides = { random(0, 2), random(0, 2), random(0, 2), random(0, 2) }
   if random(1, 8) == 1 then sides[random(1, 4)] = random(-1, 9) end
   for _, name in ipairs{ 'SpatialZeroPadding', 'SpatialReflectionPadding', 'SpatialReplicationPadding' } do
      three_phases(('%s %s %s'):format(T, name, table.concat(sides, ' ')),
         function() return nn[name](unpack(sides)):type(T) end, x)
   end
end

local function normalizations(T)
   local planes, affine, training, momentum = random(1, 5), random(1, 3) > 1, random(1, 2) == 1, torch.uniform()
   local function layer(name, x)
      local seeded = torch.random(1000)
      local what = ('%s %s %s %s'):format(T, name, affine, training)
      local function make()
         torch.manualSeed(seeded)
         local module = nn[name](planes, 1e-3, momentum, affine):type(T)
         module.running_mean:normal()
         module.running_var:uniform(0.5, 2)
         -- by running ones they stay
         module.save_mean, module.save_std = torch.zeros(planes):type(T), torch.zeros(planes):type(T)
         return training and module or module:evaluate()
      end
      three_phases(what, make, x)
      both_ways(what .. ' at once', function()
         local module = make()
         local y = module:forward(x)
         local _, gradients = module:parameters()
         for _, of_parameter in ipairs(gradients or {}) do of_parameter:fill(0.25) end
         local grad_input = module:backward(x, torch.randn(x:size()):typeAs(x), 0.5)
         return y, grad_input, module.running_mean, module.running_var, module.save_mean, module.save_std,
            unpack(gradients or {})
      end)
   end
   layer('BatchNormalization', matrix(T, random(2, 9), planes))
   local x = images(T, planes, 1, 6)
   layer('SpatialBatchNormalization', x:dim() == 3 and x:contiguous():view(1, planes, x:size(2), x:size(3)) or x)
end

local function sequences(T)
   local features, outputs, span, step = random(1, 5), random(1, 5), random(1, 4), random(1, 3)
   local x = torch.randn(random(1, 4), random(2, 9), features):type(T)
   if random(1, 8) == 1 then x = x:transpose(2, 3) end
   if random(1, 3) == 1 then x = x[1] end
   if random(1, 4) == 1 then span = x:size(x:dim() - 1) end
   if random(1, 4) == 1 then step = span end
   if random(1, 8) == 1 then x:select(1, 1):fill(({ 0 / 0, 1 / 0, -1 / 0 })[random(1, 3)]) end
   local seeded = torch.random(1000)
   three_phases(T .. ' TemporalConvolution', function()
      torch.manualSeed(seeded)
      return nn.TemporalConvolution(features, outputs, span, step):type(T)
   end, x)
   both_ways(T .. ' TemporalMaxPooling, places', function()
      local module = nn.TemporalMaxPooling(span, step):type(T)
      return module:forward(x), module.indices
   end)
end

local function lookup(T)
   local rows, columns = random(2, 6), random(1, 5)
   local index = whole_numbers(random(1, 6)):random(rows)
   local padding, scale = random(0, rows), torch.uniform(-2, 2)
   local gradient = torch.randn(index:size(1), columns):type(T)
   local wrong = index:clone()
   wrong[random(1, wrong:size(1))] = ({ 0, rows + 1, -3 })[random(1, 3)]
   local longest, power = random(1, 2) == 1 and 0.5 or nil, random(1, 3)
   local by_frequency = random(1, 2) == 1
   for _, given in ipairs{ index, wrong } do
      both_ways(T .. ' LookupTable', function()
         local module = nn.LookupTable(rows, columns, padding, longest, power):type(T)
         if by_frequency then module:scaleGradByFreq() end
         module.gradWeight:fill(0.25)
         module:accGradParameters(given, gradient, scale)
         return module.gradWeight, module:forward(given), module.weight
      end)
   end
end

-- Keys and values as one batch, with few and many outputs; wrong keys and sizes, weights in part, numbers that are not
-- finite.
local function listed_keys(T)
   local rows, outputs, examples = random(2, 9), random(1, 12), random(1, 3)
   local sizes = whole_numbers(examples):random(0, 5)
   sizes[1] = random(1, 5)
   local n = sizes:sum()
   local keys, values = whole_numbers(n):random(rows), torch.randn(n):type(T)
   local gradient, scale, decay = torch.randn(examples, outputs):type(T), torch.uniform(-2, 2), random(0, 3) == 0
      and 0.1 or 0
   local spoilt = random(1, 6)
   if spoilt == 1 then keys[random(1, n)] = ({ 0, rows + 1, -2 ^ 40 })[random(1, 3)] end
   if spoilt == 2 then sizes[1] = sizes[1] + random(1, 2) end
   if spoilt == 3 then values[random(1, n)] = ({ 0, 0 / 0 })[random(1, 2)] end
   local seeded = random(1, 1000)
   both_ways(T .. ' IndexLinear', function()
      torch.manualSeed(seeded)
      local module = nn.IndexLinear(rows, outputs):type(T)
      module.weightDecay = decay
      module.weight:normal()
      module.bias:normal()
      local results = { pcall(module.forward, module, { keys, values, sizes }) }
      if not results[1] then return unpack(results) end
      local output = module.output:clone()
      module:zeroGradParameters()
      module:accUpdateGradParameters(nil, gradient, scale)
      local weight, bias = module.weight:clone(), module.bias:clone()
      for _ = 1, 2 do
         module:forward{ keys, values, sizes }
         module:backward({ keys, values, sizes }, gradient, scale)
      end
      local of_weight, of_bias = module.running.gradWeight[1]:clone(), module.gradBias:clone()
      module:updateParameters(0.3)
      return output, weight, bias, of_weight, of_bias, module.weight, module.bias
   end)
end

-- Images and volumes made larger by a factor or to any size, with few and many planes; some not finite, transposed,
-- without a batch.
local function made_larger(T)
   local sizes = torch.LongStorage(random(4, 5))
   for d = 1, #sizes do sizes[d] = random(1, 5) end
   local x, scale, mode = torch.randn(sizes):type(T), random(1, 4), ({ 'nearest', 'linear' })[random(1, 2)]
   if random(1, 6) == 1 then x:view(-1)[random(1, x:nElement())] = ({ 0 / 0, 1 / 0 })[random(1, 2)] end
   if random(1, 6) == 1 then x = x:transpose(1, x:dim()) end
   three_phases(T .. ' UpSampling', function() return nn.UpSampling(scale, mode):type(T) end, x)
   both_ways(T .. ' UpSampling, a gradient that is not finite', function()
      local module = nn.UpSampling(scale, mode):type(T)
      local gradient = module:forward(x):clone():fill(0.1)
      gradient:view(-1)[random(1, gradient:nElement())] = 1 / 0
      return module:updateGradInput(x, gradient)
   end)
   local given = { oheight = random(1, 9), owidth = random(1, 9), odepth = random(1, 9) }
   three_phases(T .. ' UpSampling to sizes', function() return nn.UpSampling(given, 'linear'):type(T) end, x)
   if x:dim() == 4 then
      local image = random(1, 2) == 1 and x or x[1]
      three_phases(T .. ' SpatialUpSamplingBilinear', function() return nn.SpatialUpSamplingBilinear(given):type(T) end,
         image)
      three_phases(T .. ' SpatialUpSamplingNearest', function()
         return nn.SpatialUpSamplingNearest(scale + 1):type(T) end, image)
   end
end

-- More than few elements, and tensors repeated
local function of_many(T)
   local n = random(2000, 9000)
   local x, y = torch.randn(n):type(T), torch.randn(n):type(T)
   same_bits(T .. ' sums of many', function()
      return { x:clone():add(y), x:clone():add(-1, y), x + y, x - y,
         x:clone():narrow(1, 1, 2500 < n and 2500 or n):add(y:narrow(1, 1, 2500 < n and 2500 or n)),
         x:clone():narrow(1, 2, 1990):add(y:narrow(1, 1, 1990)) }
   end)
   local t = sample(T, random(1, 3))
   local times = torch.LongStorage(t:dim() + random(0, 1))
   for d = 1, #times do times[d] = random(1, 3) end
   both_ways(T .. ' repeatTensor', function() return t:repeatTensor(times),
      torch.Tensor():type(T):repeatTensor(t, times) end)
end

-- Along a dimension of a matrix that LuaJIT goes through several rows at a time, and by many indices.
local function rows_of_many(T)
   local rows, columns = random(60, 400), random(60, 140)
   local t = matrix(T, rows, columns):add(3)
   for d = 1, 2 do
      local indices = whole_numbers(rows, columns):random(t:size(d))
      both_ways(T .. ' rows of many', function()
         local sums = { t:sum(d), t:cumsum(d):narrow(d, t:size(d) - 1, 2) }
         if FLOATING[T] then
            for _, name in ipairs{ 'mean', 'std', 'var' } do sums[#sums + 1] = t[name](t, d) end
            sums[#sums + 1] = t:norm(2, d)
            sums[#sums + 1] = t:norm(1, d)
         end
         return unpack(sums)
      end)
      same_bits(T .. ' many indices', function() return { t:gather(d, indices),
         t:index(d, indices:select(3 - d, 1)) } end)
   end
end

local function element_by_element(T)
   local floating = FLOATING[T]
   local t = sample(T, random(1, 4))
   local s = torch.randn(t:size()):mul(3):type(T)
   if random(1, 2) == 1 and s:dim() > 1 then s = s:transpose(1, 2):clone():transpose(1, 2) end
   s[s:eq(0)] = 1
   local v, w = random(1, 3), random(-3, 3)
   for _, name in ipairs{ 'add', 'csub', 'mul', 'div', 'cmax', 'cmin', 'fill' } do
      both_ways(('%s %s a number'):format(T, name), function() return t:clone()[name](t:clone(), v) end)
   end
   for _, name in ipairs{ 'add', 'csub', 'cmul', 'cdiv', 'cmax', 'cmin' } do
      both_ways(('%s %s'):format(T, name), function()
         return torch[name](t, s), t:clone()[name](t:clone(), s), t[name](t:clone(), t, s)
      end)
   end
   both_ways(T .. ' scaled', function()
      return t:clone():add(w, s), t:clone():addcmul(w, s, t), torch.addcdiv(t, w, t, s), t:clone():clamp(w, v),
         t:clone():clamp(v, w)
   end)
   for _, name in ipairs{ 'lt', 'gt', 'le', 'ge', 'eq', 'ne' } do
      both_ways(('%s %s'):format(T, name), function()
         return torch[name](t, v), torch[name](t, s), t[name](t:clone(), t, v), t[name](t:clone(), t, s), t:equal(s),
            t:equal(t:clone())
      end)
   end
   both_ways(T .. ' truth', function()
      return t:gt(w):all(), t:gt(w):any(), t:ne(t):any(), t:eq(t):all(), t:sum(), t:max(), t:min()
   end)
   local plain = t:ne(t):any() and s or t -- what becomes of a NaN as a whole number depends on the processor
   for _, other in ipairs{ 'Double', 'Float', 'Long', 'Int', 'Short', 'Char', 'Byte' } do
      if other ~= 'Byte' and other ~= 'Char' or not floating then
         both_ways(('%s as %s'):format(T, other), function()
            return plain:type('torch.' .. other .. 'Tensor'), plain:type(tensors_of(other))
         end)
      end
   end
   both_ways(T .. ' copies of other sizes', function()
      local n = t:nElement()
      local column, row = torch.zeros(n, 3):type(T):select(2, 2), torch.zeros(n):type(T)
      return column:copy(t), row:copy(t), t:clone():copy(column), torch.zeros(n, 2):type(LONG):select(2, 1):copy(s)
   end)
   local mask = t:gt(w)
   both_ways(T .. ' masks', function()
      local filled, part = t:clone(), torch.cat(t, t, 1):narrow(1, 2, t:size(1))
      filled:maskedFill(mask, v)
      return filled, t[mask], t:contiguous()[mask:contiguous()], t:maskedSelect(t:ne(t:clone():add(1))),
         part:maskedFill(mask, w), part, pcall(t.maskedFill, t:clone(), mask + 1, v)
   end)
   if not FLOATING[T] then
      local counts = s:clone():random(0, 40)
      both_ways(T .. ' bits', function()
         return t:clone():lshift(t, v), t:clone():rshift(t, v), t:clone():clshift(t, counts),
            t:clone():crshift(t, counts), t:clone():bitand(t, v), t:clone():bitor(t, v),
            t:clone():bitxor(t, v), t:clone():cbitand(t, s), t:clone():cbitor(t, s), t:clone():cbitxor(t, s)
      end)
   end
   if T ~= 'torch.ByteTensor' and T ~= 'torch.CudaByteTensor' then
      both_ways(T .. ' absolutes', function() return t:clone():abs(), torch.abs(s) end)
   end
   both_ways(T .. ' signs', function() return t:clone():sign(), torch.sign(s) end)
   both_ways(T .. ' sequences', function()
      local r = torch.Tensor():type(T)
      return r.range(r, 2, 20, v):clone(), r.eye(r, v, 4):clone(), torch.eye(3):type(T)
   end)
   if floating then
      for _, name in ipairs{ 'exp', 'log', 'log1p', 'sin', 'cos', 'tan', 'asin', 'acos', 'atan', 'sinh', 'cosh', 'tanh',
         'sigmoid', 'sqrt', 'rsqrt', 'abs',
          'floor', 'ceil', 'neg', 'cinv', 'round', 'trunc', 'frac', 'sign' } do
         both_ways(('%s %s'):format(T, name), function() return t:clone()[name](t:clone()) end)
      end
      both_ways(T .. ' pow', function() return torch.pow(t, 2), torch.pow(t, v), torch.pow(t, 0.5), torch.pow(t, -1),
         torch.pow(t, 3) end)
      both_ways(T .. ' powers', function()
         return torch.pow(t, 1.7), torch.pow(v, t), torch.cpow(t, s), torch.atan2(t, s), t:clone():cpow(t),
            t:clone():atan2(s, t)
      end)
      both_ways(T .. ' remainders', function()
         return torch.remainder(t, v), torch.remainder(t, -0.3), t % v, torch.cremainder(t, s), torch.lerp(t, s, 0.3),
            t:clone():cremainder(t, s)
      end)
   end
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

-- Slices written at indices, diagonals, triangles, histograms and masks of many.
local function written_and_counted(T)
   local t = sample(T, random(1, 3))
   local d = random(1, t:dim())
   local index = whole_numbers(random(1, 5)):random(t:size(d))
   if random(1, 2) == 1 then index = torch.cat(index, index, 2):select(2, 1) end
   local sizes = t:size()
   sizes[d] = index:size(1)
   local source = torch.randn(sizes):mul(5):type(T)
   if random(1, 2) == 1 and source:dim() > 1 then source = source:transpose(1, 2):clone():transpose(1, 2) end
   local different = torch.randperm(t:size(d)):type(LONG)
   for _, wrong in ipairs{ false, 0, t:size(d) + 1, 2 ^ 52 } do
      if wrong then index[random(1, index:size(1))] = wrong end
      for _, name in ipairs{ 'indexAdd', 'indexFill' } do
         both_ways(('%s %s'):format(T, name), function()
            local r, part = t:clone(), torch.cat(t, t, d):narrow(d, 2, t:size(d))
            r[name](r, d, index, name == 'indexAdd' and source or 3)
            part[name](part, d, index, name == 'indexAdd' and source or 3)
            return r, part
         end)
      end
   end
   both_ways(T .. ' indexCopy', function()
      local r, part = torch.randn(t:size()):type(T), torch.cat(t, t, d):narrow(d, 2, t:size(d))
      r:indexCopy(d, different, t)
      part:indexCopy(d, different, t)
      return r, part
   end)
   local m, k = matrix(T, random(1, 9), random(1, 9)), random(-3, 3)
   both_ways(T .. ' diagonals and triangles', function()
      return m:trace(), m:tril(k), m:triu(k), torch.diag(m:select(random(1, 2), 1), k), m:t():clone():tril(k)
   end)
   both_ways(T .. ' diagonal', function() return torch.diag(m, k), torch.diag(torch.Tensor(2, 2):type(T), m, k) end)
   local n = random(1, 3000)
   local mask, values = torch.rand(n):gt(torch.uniform(-0.1, 1.1)):type(BYTE), torch.randn(n):mul(9):type(T)
   if random(1, 4) == 1 then mask = mask:view(1, n):expand(2, n) values = torch.randn(2, n):type(T) end
   if random(1, 5) == 1 then mask:narrow(mask:dim(), random(1, n), 1):fill(random(1, 3)) end
   both_ways(T .. ' masks of many', function()
      local filled, copied = values:clone(), values:clone():fill(2)
      local done = pcall(filled.maskedFill, filled, mask, 3)
      return mask:all(), mask:any(), mask:double():sum(), done, filled, pcall(copied.maskedCopy, copied, mask, values),
         copied, pcall(values.maskedSelect, values, mask)
   end)
   if FLOATING[T] then
      local low, high = random(-3, 0), random(0, 3)
      both_ways(T .. ' histograms', function()
         return values:histc(), values:histc(7, low, high), m:bhistc(5), m:bhistc(3, low, high),
            torch.zeros(4, 2):type(T):select(2, 1):histc(values, 4)
      end)
   end
end

-- As many elements as are computed four at a time; some equal, some not finite.
local function compared_and_bounded(T)
   local n = random(500, 2100)
   local t, s = torch.randn(n):type(T), torch.randn(n):type(T)
   for _ = 1, 30 do
      local k = random(1, n)
      t[k], s[random(1, n)] = s[k], ({ 0, -0.0, 1, -1, 1e-310, -1e-310, 1e30 })[random(1, 7)]
   end
   if random(1, 3) == 1 then t[random(1, n)] = ({ 0 / 0, 1 / 0, -1 / 0 })[random(1, 3)] end
   local v, w = ({ 0, 1, -0.5, 1 / 0, 0 / 0, 1e-310 })[random(1, 6)], random(-1, 2)
   for _, name in ipairs{ 'lt', 'gt', 'le', 'ge', 'eq', 'ne' } do
      both_ways(('%s %s of many'):format(T, name), function() return t[name](t, v), t[name](t, s), s[name](s, s),
         t[name](t:clone(), t, s) end)
   end
   for _, name in ipairs{ 'round', 'trunc', 'frac', 'sign' } do
      both_ways(('%s %s of many'):format(T, name), function() return t[name](t:clone():mul(3)), t[name](s:clone()),
         1 / s:clone()[name](s:clone()) end)
   end
   both_ways(T .. ' bounds of many', function()
      return torch.clamp(s, -1, w), torch.cmax(t, s), torch.cmin(t, s), torch.cmax(s, w), torch.cmin(s, w),
         1 / torch.clamp(s, 0, 1), 1 / s:clone():cmax(0)
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
         assert(same, ('%s, seed %d: result %d with %g: %.17g instead of %.17g'):format(T, seed, k, v, x[i], y[i]))
      end
      compared = compared + 1
   end
end

-- Numbers as those of other types, up to where each way of converting them gives the same.
local function as_other_types(T)
   local n, large = random(1, 900), ({ 1, 1e3, 2 ^ 30, 2 ^ 52 })[random(1, 4)]
   local t = torch.rand(n):mul(2):add(-1):mul(large):type(T)
   for _, other in ipairs{ DOUBLE, FLOAT, LONG, INT } do
      if large < 2 ^ 31 or other ~= INT and T ~= BYTE then
         both_ways(('%s as %s'):format(T, other), function() return t:type(other),
            torch.zeros(n, 2):type(other):select(2, 1):copy(t) end)
      end
   end
   if FLOATING[T] and large == 1e3 then both_ways(T .. ' as bytes', function() return t:type(BYTE) end) end
end

-- Draws of zeros and ones are those of single numbers, in all layouts.
local function bernoulli_draws(T)
   local p = ({ 0, 1, 0.5, 3 / 2 ^ 32, torch.uniform() })[random(1, 5)]
   local t = sample(T, random(1, 4))
   text = ('%s bernoulli %g, seed %d'):format(T, p, seed)
   local state, drawn = torch.getRNGState(), t:clone():bernoulli(p)
   torch.setRNGState(state)
   check(drawn, t:clone():apply(function() return torch.bernoulli(p) end))
   torch.setRNGState(state)
   check(drawn, t:bernoulli(p))
end

-- The greatest, the least and bounds of whole numbers, also of those that are no doubles; what division leaves.
local function whole_numbers_bounded(T)
   local n, v, w = random(1, 900), random(-9, 9), random(-99, 99)
   local t, s = torch.randn(n):mul(50):type(T), torch.randn(n):mul(50):type(T)
   if T == LONG and random(1, 2) == 1 then t:mul(2 ^ 48):add(s) end
   both_ways(T .. ' bounded', function()
      return torch.cmax(t, s), torch.cmin(t, s), torch.cmax(t, v), torch.cmin(t, v),
         torch.clamp(t, math.min(v, w), math.max(v, w)), t:clone():cmax(s), s:clone():cmin(t, s)
   end)
end

local function cross_products(T)
   local sizes, d = torch.LongStorage(random(1, 4)), nil
   for k = 1, #sizes do sizes[k] = random(1, 4) end
   d = random(1, #sizes)
   sizes[d] = 3
   local function vectors_of(layout)
      local t = torch.randn(sizes):mul(9):type(T)
      if layout == 1 then t:view(-1)[random(1, t:nElement())] = FLOATING[T] and 0 / 0 or 100 end
      return layout == 2 and t:transpose(1, #sizes):clone():transpose(1, #sizes) or t
   end
   local a, b = vectors_of(random(1, 3)), vectors_of(random(1, 3))
   both_ways(T .. ' cross products', function()
      local r = torch.Tensor():type(T)
      return torch.cross(a, b, d), torch.cross(a, b), torch.cross(r, b, a, d), a:clone():cross(b:clone(), d),
         torch.cross(a, a, d)
   end)
   both_ways(T .. ' cross products in place', function()
      local x = a:clone()
      return x.cross(x, x, b, d)
   end)
end

local function listed_inputs(T)
   local inputs, outputs, batch = random(1, 9), random(1, 9), random(1, 4)
   local layer = nn.SparseLinear(inputs, outputs):type(T)
   local function entries(n)
      local list = torch.randn(n, 2):type(T)
      list:select(2, 1):random(inputs)
      if random(1, 3) == 1 then list[random(1, n)][2] = 0 end
      if random(1, 9) == 1 then list[random(1, n)][1] = ({ 0, inputs + 1, -1 })[random(1, 3)] end
      return list
   end
   local examples, n = {}, random(1, 6)
   for k = 1, batch do examples[k] = entries(random(1, 6)) end
   local one, all = entries(n), torch.randn(batch, n, 2):type(T)
   all:select(3, 1):random(inputs)
   both_ways(T .. ' listed inputs', function() return layer:forward(examples):clone(), layer:forward(one):clone(),
      layer:forward(all):clone() end)
   local start = layer.weight:clone()
   for _, input in ipairs{ examples, one, all } do
      both_ways(T .. ' gradients of listed inputs', function()
         layer.weight:copy(start)
         layer.bias:fill(1)
         layer:zeroGradParameters()
         local gradient = torch.randn(layer:forward(input):size()):type(T)
         if random(1, 3) == 1 and gradient:dim() == 2 then gradient = gradient:t():clone():t() end
         for times = 1, random(1, 2) do layer:accGradParameters(input, gradient, 0.5 * times) end
         local of_weight, of_bias = layer.gradWeight:clone(), layer.gradBias:clone()
         layer:updateParameters(0.1)
         layer:zeroGradParameters()
         return of_weight, of_bias, layer.weight:clone(), layer.bias:clone(), layer.gradWeight:clone()
      end)
   end
end

-- Rows of whole numbers, many of them equal, in the order of numbers that are not whole: Torch7's quicksort compares
-- them alone.
local function equal_numbers(T)
   local n, falling = random(1, 300), random(1, 2) == 1
   local t = matrix(T, random(1, 5), n):random(random(1, n))
   if T ~= BYTE and random(1, 2) == 1 then t:add(-random(1, n)) end
   if FLOATING[T] and random(1, 4) == 1 then t[1][random(1, n)] = ({ 1 / 0, -1 / 0, 0.5, 2 ^ 60 })[random(1, 4)] end
   text = ('%s, %d equal numbers, seed %d'):format(T, n, seed)
   for d = 1, 2 do
      local values, places = t:sort(d, falling)
      local others, of_others = t:type(DOUBLE):mul(0.3):sort(d, falling)
      check(places, of_others)
      check(values:type(DOUBLE):mul(0.3), others)
      check(t:gather(d, places), values)
   end
end

local function bilinear(T)
   local rows, first, second, outputs, seeded = random(1, 9), random(1, 8), random(1, 8), random(1, 5),
      torch.random(1000)
   local a, b, slopes = matrix(T, rows, first), matrix(T, random(1, 20) == 1 and rows + 1 or rows, second),
      matrix(T, rows, outputs)
   if random(1, 9) == 1 then a[random(1, rows)][1] = ({ 0 / 0, 1 / 0 })[random(1, 2)] end
   local has_bias = random(1, 2) == 1
   both_ways(T .. ' Bilinear', function()
      torch.manualSeed(seeded)
      local module = nn.Bilinear(first, second, outputs, has_bias):type(T)
      local y, of_inputs = module:forward({ a, b }), module:updateGradInput({ a, b }, slopes)
      for _, gradient in ipairs(select(2, module:parameters())) do gradient:fill(0.25) end
      module:accGradParameters({ a, b }, slopes, 0.5)
      return y, of_inputs[1], of_inputs[2], module.gradWeight, module.gradBias
   end)
end

local function divided(T)
   local t = sample(T, random(1, 4)):mul(10 ^ random(0, 9))
   local s, v = torch.randn(t:size()):type(T), ({ 3, -0.7, 1e-3, 0, 1 / 0 })[random(1, 5)]
   both_ways(T .. ' what division leaves', function()
      return torch.fmod(t, v), torch.cfmod(t, s), t:clone():mod(v), t:clone():cmod(s), torch.frac(t), torch.trunc(t),
         t:clone():frac(), 1 / torch.trunc(s), 1 / torch.frac(s)
   end)
end

torch.manualSeed(seed)
for _ = 1, rounds do
   for _, T in ipairs{ DOUBLE, FLOAT, LONG, INT, BYTE } do
      as_other_types(T)
      equal_numbers(T)
      bernoulli_draws(T)
      cross_products(T)
      if FLOATING[T] then
         divided(T)
         listed_inputs(T)
         bilinear(T)
      else
         whole_numbers_bounded(T)
      end
   end
   for _, T in ipairs(TYPES) do
      local t = sample(T, random(1, 4))
      along_a_dimension(T, t, random(1, t:dim()))
      element_by_element(T)
      written_and_counted(T)
      before_pytorch(T)
      of_lapack(T)
      if FLOATING[T] then correlations(T) end
   end
   element_by_element(INT)
   for k = 1, 2 do
      more_along_a_dimension(TYPES[k])
      whole_numbers_along_a_dimension()
      products(TYPES[k])
      batched_products(TYPES[k])
      larger_products(TYPES[k])
      larger_batched_products(TYPES[k])
      functions_of_many(TYPES[k])
      parts_of_many(TYPES[k])
      of_many(TYPES[k])
      rows_of_many(TYPES[k])
      criterions(TYPES[k])
      lookup(TYPES[k])
      soft_maxima(TYPES[k])
      soft_maxima_of_images(TYPES[k])
      gated_units(TYPES[k])
      distances(TYPES[k])
      rows_compared(TYPES[k])
      pooling(TYPES[k])
      convolutions(TYPES[k])
      inputs_that_change(TYPES[k])
      volumes(TYPES[k])
      losses_of_many(TYPES[k])
      borders(TYPES[k])
      normalizations(TYPES[k])
      sequences(TYPES[k])
      other_sizes(TYPES[k])
      compared_and_bounded(TYPES[k])
      matrices_in_layouts()
      arithmetic_by_blas(TYPES[k])
      transfers(TYPES[k])
   end
end
for round = 1, 20 * rounds do
   local T = TYPES[1 + round % 2]
   listed_keys(T)
   made_larger(T)
end
print(compared)
