-- What the comparisons of both ways of computing share: LuaJIT's for few elements, and PyTorch's. Both give the same,
-- and raise the same, for random sizes, types and layouts. Products that LuaJIT hands to PyTorch's BLAS and functions
-- that it hands to its vector library have the same bits.
local ways = require 'torch.core.ways'
local few, blas, vectors = require 'torch.luajit.elementwise', require 'torch.luajit.blas',
   require 'torch.luajit.vectors'
local LIMIT, LIMIT_OF_FUNCTIONS = few.LIMIT, few.LIMIT_OF_FUNCTIONS

-- prefix: of the types; compared: how many results were; seed: of the case that runs
local h = { prefix = PLACE == 'cuda' and 'Cuda' or '', compared = 0, seed = 0 }
if h.prefix ~= '' then require 'cunn' end
local text

local function tensors_of(name) return ('torch.%sTensor'):format((h.prefix .. name):gsub('^CudaFloat$', 'Cuda')) end
local DOUBLE, FLOAT, LONG, INT, BYTE = tensors_of('Double'), tensors_of('Float'), tensors_of('Long'), tensors_of('Int'),
   tensors_of('Byte')
local FLOATING = { [DOUBLE] = true, [FLOAT] = true }
h.DOUBLE, h.FLOAT, h.LONG, h.INT, h.BYTE, h.FLOATING = DOUBLE, FLOAT, LONG, INT, BYTE, FLOATING
h.REALS, h.TYPES, h.WHOLE = { DOUBLE, FLOAT }, { DOUBLE, FLOAT, LONG, BYTE }, { LONG, INT, BYTE }
h.NUMBERS = { DOUBLE, FLOAT, LONG, INT, BYTE }
h.LIMIT, h.LIMIT_OF_FUNCTIONS = LIMIT, LIMIT_OF_FUNCTIONS

local function whole_numbers(...) return torch.LongTensor(...):type(LONG) end

local function counted() h.compared = h.compared + 1 end
local function named(what) text = ('%s, seed %d'):format(what, h.seed) end

-- allowed: a difference that rounding alone may make, where it is known (NaN: its formula has no value there)
local function close(a, b, allowed)
   if a ~= a or b ~= b then return a ~= a and b ~= b end
   local difference = math.abs(a - b)
   return a == b or difference <= 2e-5 * math.max(1, math.abs(a), math.abs(b)) or difference <= (allowed or 0)
end

-- The difference that rounding may make between two sums of n terms in single precision, by the sum of their
-- magnitudes: each is off by LAMBDA sqrt(n) u times it at most, but for one case in 10^7 (Higham and Mary 2019, A new
-- approach to probabilistic rounding error analysis).
local LAMBDA, UNIT = 6, 2 ^ -24
local function rounding(magnitudes, n) return magnitudes:double():mul(2 * LAMBDA * math.sqrt(n) * UNIT) end

local function check(a, b, allowed)
   counted()
   if torch.type(a) ~= torch.type(b) then error(text .. ': ' .. tostring(a) .. ' instead of ' .. tostring(b)) end
   if torch.isTensor(a) then
      assert(a:isSameSizeAs(b), text)
      a, b = a:double():contiguous():view(-1), b:double():contiguous():view(-1)
      allowed = allowed and allowed:contiguous():view(-1)
      for i = 1, a:dim() > 0 and a:size(1) or 0 do
         assert(close(a[i], b[i], allowed and allowed[i]), ('%s: %g instead of %g at %d'):format(text, a[i], b[i], i))
      end
   elseif type(a) == 'number' then
      assert(close(a, b), text)
   else
      assert(a == b, text .. ': ' .. tostring(a) .. ' / ' .. tostring(b))
   end
end

-- The length of a table with nil in it is not defined.
local function packed(...) return { n = select('#', ...), ... } end

-- f makes its results anew each time; it is called once for each way. allowed: gives the differences that rounding may
-- make in each result, nil where none but the usual are; called where f has raised nothing.
local function both_ways(what, f, allowed)
   named(what)
   local state = torch.getRNGState()
   local function run(limit)
      torch.setRNGState(state)
      few.LIMIT, few.LIMIT_OF_FUNCTIONS = limit, limit > 0 and LIMIT_OF_FUNCTIONS or 0
      blas.enabled, vectors.enabled = limit > 0, limit > 0
      ways.only(limit == 0 and 'pytorch' or nil)
      local results = packed(pcall(f))
      few.LIMIT, few.LIMIT_OF_FUNCTIONS = LIMIT, LIMIT_OF_FUNCTIONS
      blas.enabled, vectors.enabled = true, true
      ways.only()
      results.n = results.n + 1
      results[results.n] = torch.uniform() -- as many draws
      return results
   end
   local a, b = run(LIMIT), run(0)
   assert(a.n == b.n, text)
   local differences = allowed and a[1] and allowed() or {}
   for k = 1, a.n do check(a[k], b[k], differences[k - 1]) end
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

-- f's tensors without blas and vectors have the same bits.
local function same_bits(what, f)
   local state = torch.getRNGState()
   few.LIMIT_OF_FUNCTIONS = 0
   local by_luajit = f()
   torch.setRNGState(state)
   few.LIMIT, blas.enabled, vectors.enabled = 0, false, false
   ways.only 'pytorch'
   local by_python = f()
   ways.only()
   few.LIMIT, few.LIMIT_OF_FUNCTIONS, blas.enabled, vectors.enabled = LIMIT, LIMIT_OF_FUNCTIONS, true, true
   for k = 1, #by_python do
      counted()
      local a, b = by_luajit[k]:contiguous():view(-1), by_python[k]:contiguous():view(-1)
      for i = 1, a:size(1) do
         assert(a[i] == b[i] or a[i] ~= a[i] and b[i] ~= b[i],
            ('%s, result %d, seed %d: %.17g instead of %.17g'):format(what, k, h.seed, a[i], b[i]))
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

-- Two batches of rows of the same sizes, or two rows, perhaps with a column of one number.
local function two_batches(T)
   local rows, columns = random(1, 30), random(1, 40)
   local a, b = matrix(T, rows, columns), matrix(T, rows, columns)
   if random(1, 8) == 1 then a:select(2, random(1, columns)):fill(({ 0 / 0, 1 / 0, 0 })[random(1, 3)]) end
   if random(1, 4) == 1 then a, b = a[1], b[1] end
   return a, b
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

-- The three phases of nn[name] of type T with these arguments, its parameters drawn from a seed.
local function phases(T, name, x, ...)
   local numbers = { ... }
   local seeded = torch.random(1000)
   three_phases(('%s %s %s'):format(T, name, table.concat(numbers, ' ')), function()
      torch.manualSeed(seeded)
      return nn[name](unpack(numbers)):type(T)
   end, x)
end

h.rounding, h.tensors_of, h.whole_numbers, h.counted, h.named = rounding, tensors_of, whole_numbers, counted, named
h.check, h.both_ways, h.random, h.sample = check, both_ways, random, sample
h.matrix, h.same_bits, h.same_bits_by_blas, h.BLAS_IS_STEADY = matrix, same_bits, same_bits_by_blas, BLAS_IS_STEADY
h.IS_STEADY_FOR_VECTORS, h.images, h.three_phases = IS_STEADY_FOR_VECTORS, images, three_phases
h.two_batches, h.phases = two_batches, phases

return h
