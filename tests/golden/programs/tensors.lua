-- Random programs of the tensor library: the same numbers for the same seed in every Torch7.
-- usage: th tensors.lua SEED COUNT [FIRST]
-- Prints for each program what it is and what it gives or raises. Nothing depends on memory that nobody has written,
-- on shifts by negative counts, on the division of whole numbers by zero, or on BLAS with vectors of stride 0.
local draws = dofile((arg[0]:match('^(.*/)') or './') .. 'draws.lua')
local whole, pick, chance, tell = draws.whole, draws.pick, draws.chance, draws.tell
local sizes, changed = draws.sizes, draws.changed

local TYPES = { 'Double', 'Float', 'Double', 'Float', 'Int', 'Long', 'Short', 'Char', 'Byte' }
local SPECIAL = { 0 / 0, 1 / 0, -1 / 0, 1e30, 1e-30 }
local function value(T, wild)
   if T == 'Byte' then return whole(0, 5) end
   if T ~= 'Double' and T ~= 'Float' then return whole(-4, 4) end
   if wild and chance(0.1) then return pick(SPECIAL) end
   return chance(0.6) and whole(-3, 3) or whole(-3000, 3000) / 1000
end

-- of value(T, wild), by default in a layout that is drawn
local function tensor(T, list, wild, name)
   if #list == 0 then
      tell(T .. '{}')
      return torch[T .. 'Tensor']()
   end
   return draws.tensor(T, list, value, wild, false, name)
end

local function number()
   local n = pick{ -2, -1, 1, 2, 3, 0.5, 0.1, -0.3, 1.7, 5, 7 }
   tell(n)
   return n
end
-- A number that whole types can be divided by, or their bits shifted by
local function harmless(T)
   local n = T ~= 'Double' and T ~= 'Float' and whole(1, 5) or pick{ -2, -1, 0, 1, 2, 3, 0.5, 0.1, -0.3, 1.7, 5, 7 }
   tell(n)
   return n
end

-- torch.name(...) or first:name(...)
local function call(name, ...)
   local object = ...
   if chance(0.5) then
      tell(':' .. name)
      return { object[name](...) }, ...
   end
   tell('torch.' .. name)
   return { torch[name](...) }, ...
end

local function shape() return pick(TYPES), sizes(pick{ 0, 1, 1, 2, 2, 3, 4 }) end
local FLOATING = { Double = true, Float = true }

local ONE = { 'sqrt', 'floor', 'ceil', 'round', 'neg', 'sign', 'exp', 'log', 'cos', 'sin', 'tanh', 'sigmoid', 'frac', 'trunc',
   'rsqrt', 'cinv', 'log1p', 'atan', 'asin', 'acos', 'sinh', 'cosh', 'zero', 'sum', 'prod', 'mean', 'std', 'var', 'norm',
   'max', 'min', 'median', 'mode', 'sort', 'trace', 'nonzero', 'cumsum', 'cumprod', 't', 'squeeze', 'isContiguous', 'diag',
   'triu', 'tril', 'numel', 'nElement', 'dim', 'size', 'stride', 'clone', 'contiguous', 'totable', 'kthvalue', 'topk', 'type',
   'int', 'byte', 'long', 'double', 'float', 'char', 'short', 'storageOffset' }
local WITH_NUMBER = { 'add', 'csub', 'mul', 'pow', 'cmax', 'cmin', 'fill', 'lt', 'gt', 'le', 'ge', 'eq', 'ne', 'norm', 'diag',
   'kthvalue', 'topk', 'std' }
local WITH_HARMLESS = { 'div', 'fmod', 'remainder', 'mod', 'lshift', 'rshift', 'bitand', 'bitor', 'bitxor' }
local ALONG = { 'sum', 'prod', 'mean', 'std', 'var', 'max', 'min', 'median', 'mode', 'sort', 'cumsum', 'cumprod', 'size',
   'stride' }
local WITH_TENSOR = { 'add', 'csub', 'cmul', 'cmax', 'cmin', 'lt', 'gt', 'le', 'ge', 'eq', 'ne', 'dot', 'dist', 'equal',
   'copy', 'cat', 'mm' }
local FOR_FLOATING = { 'cdiv', 'cpow', 'cfmod', 'cremainder', 'atan2', 'cross' }

local programs = {}
local function program(weight, f)
   for _ = 1, weight do programs[#programs + 1] = f end
end
program(8, function()
   local T, s = shape()
   return call(pick(ONE), tensor(T, s, true))
end)
program(5, function()
   local T, s = shape()
   return call(pick(WITH_NUMBER), tensor(T, s, true), number())
end)
program(4, function()
   local T, s = shape()
   return call(pick(WITH_HARMLESS), tensor(T, s, true), harmless(T))
end)
program(4, function() -- a result of its own layout
   local T, s = shape()
   local t = tensor(T, s, true)
   local r = tensor(T, chance(0.7) and s or sizes(whole(1, 3)))
   return call(pick{ 'add', 'mul', 'cmax', 'pow' }, r, t, number())
end)
program(6, function()
   local T, s = shape()
   local t = tensor(T, s, chance(0.5))
   local d = whole(chance(0.1) and 0 or 1, math.max(1, #s + (chance(0.1) and 1 or 0)))
   tell('along ' .. d)
   return call(pick(ALONG), t, d)
end)
program(6, function()
   local T, s = shape()
   local t = tensor(T, s, true)
   local u = tensor(T, chance(0.85) and s or sizes(#s), true)
   return call(pick(FLOATING[T] and chance(0.3) and FOR_FLOATING or WITH_TENSOR), t, u)
end)
program(3, function()
   local T, s = shape()
   local t, u, w = tensor(T, s, true), tensor(T, s, true), tensor(T, s, true)
   if FLOATING[T] and chance(0.5) then return call(pick{ 'addcmul', 'addcdiv' }, t, number(), u, w) end
   return call(pick{ 'addcmul', 'csub', 'cmul' }, t, u, w)
end)
program(3, function()
   local T, s = shape()
   return call('clamp', tensor(T, s, true), number(), number())
end)
program(4, function()
   local T, s = pick(TYPES), sizes(whole(1, 3))
   local t, d, n = tensor(T, s, true), whole(1, #s), whole(1, 4)
   local index = torch.LongTensor(n)
   for i = 1, n do index[i] = whole(1, s[d]) end
   local name = pick{ 'index', 'indexFill', 'indexCopy', 'indexAdd', 'gather', 'scatter', 'fill by scatter', 'maskedFill',
      'maskedSelect', 'maskedCopy' }
   tell(('%s along %d at %s'):format(name, d, table.concat(index:totable(), ',')))
   if name == 'index' then return { t:index(d, index) }, t end
   if name == 'indexFill' then return { t:indexFill(d, index, number()) }, t end
   if name == 'indexCopy' or name == 'indexAdd' then
      return { t[name](t, d, index, tensor(T, changed(s, d, n))) }, t
   elseif name:find('masked') then
      local mask = tensor('Byte', s):gt(2)
      if name == 'maskedFill' then return { t:maskedFill(mask, number()) }, t end
      if name == 'maskedSelect' then return { t:maskedSelect(mask) }, t end
      return { t:maskedCopy(mask, tensor(T, s)) }, t
   end
   local list = chance(0.5) and changed(s, d, whole(1, 4)) or s
   local places = torch.LongTensor():resize(torch.LongStorage(list)):apply(function() return whole(1, s[d]) end)
   if chance(0.1) then
      d = whole(0, #s + 1)
      tell('or along ' .. d)
   end
   if name == 'gather' then return { t:gather(d, places) }, t end
   if name == 'scatter' then return { t:scatter(d, places, tensor(T, list)) }, t end
   return { t:scatter(d, places, number()) }, t
end)
program(1, function()
   local t, bins = tensor(pick{ 'Double', 'Float' }, sizes(whole(1, 3), 8)), whole(1, 6)
   tell(bins)
   if chance(0.5) then return call('histc', t, bins) end
   return call('histc', t, bins, number(), number())
end)
program(5, function() -- orders with many ties
   local T, s = pick(TYPES), sizes(whole(1, 2), 40)
   local t, d = tensor(T, s), whole(1, #s)
   local name = pick{ 'sort', 'sort', 'topk', 'kthvalue', 'median', 'mode', 'max', 'min' }
   if name == 'sort' then
      local descending = chance(0.5)
      tell(descending)
      return call(name, t, d, descending)
   elseif name == 'topk' then
      local k, largest, sorted = whole(1, s[d]), chance(0.5), chance(0.5)
      tell(('%d %s %s'):format(k, tostring(largest), tostring(sorted)))
      return call(name, t, k, d, largest, sorted)
   elseif name == 'kthvalue' then
      local k = whole(1, s[d])
      tell(k)
      return call(name, t, k, d)
   end
   return call(name, t, d)
end)
program(2, function()
   local T = pick(TYPES)
   local name = pick{ 'range', 'linspace', 'ones', 'zeros', 'eye' }
   tell(T .. ' ' .. name)
   local r = torch[T .. 'Tensor']()
   if name == 'range' then return { torch.range(r, number(), number(), number()) } end
   if name == 'linspace' then return { torch.linspace(r, number(), number(), whole(1, 6)) } end
   return { torch[name](r, whole(1, 4), whole(1, 4)) }
end)
program(3, function()
   local T, s = shape()
   local t, U = tensor(T, s, true), pick(TYPES)
   tell('to ' .. U)
   if chance(0.5) then return { t:type('torch.' .. U .. 'Tensor') }, t end
   return { tensor(U, s):copy(t) }, t
end)
program(3, function()
   local T = pick{ 'Double', 'Float', 'Double', 'Int', 'Long', 'Byte' }
   local n, k, m = whole(1, 4), whole(1, 4), whole(1, 4)
   local a, b, c = tensor(T, { n, k }), tensor(T, { k, m }), tensor(T, { n, m }, false, 'plain')
   local v, w = tensor(T, { k }, false, 'plain'), tensor(T, { n }, false, 'plain')
   local name = pick{ 'mm', 'addmm', 'mv', 'addmv', 'ger', 'addr', 'operator' }
   tell(name)
   if name == 'mm' then return { torch.mm(a, b) } end
   if name == 'addmm' then return { torch.addmm(number(), c, number(), a, b) } end
   if name == 'mv' then return { torch.mv(a, v) } end
   if name == 'addmv' then return { torch.addmv(number(), w, number(), a, v) } end
   if name == 'ger' then return { torch.ger(w, v) } end
   if name == 'addr' then return { torch.addr(number(), tensor(T, { n, k }, false, 'plain'), number(), w, v) } end
   return { a * b, a * v, w * w, a * 2, a + a, a - 1, 3 - a, a / 2, -a, a % 2 }
end)
program(3, function()
   local T, s = shape()
   local t = tensor(T, s)
   local a, b, c, e = whole(-1, 4), whole(1, 4), whole(1, 4), whole(1, 3)
   local name = pick{ 'view', 'reshape', 'expand', 'narrow', 'select', 'sub', 'unfold', 'transpose', 'squeeze', 't[a]',
      't[{{},a}]', 'apply' }
   tell(('%s %d %d %d %d'):format(name, a, b, c, e))
   if name == 't[a]' then return { t[a] }, t end
   if name == 't[{{},a}]' then return { t[{ {}, a }] }, t end
   if name == 'apply' then return { t:apply(function(x) return x + 1 end) }, t end
   if name == 'squeeze' then return { t:squeeze(b) }, t end
   if name == 'narrow' or name == 'unfold' then return { t[name](t, b, c, e) }, t end
   if name == 'select' or name == 'transpose' then return { t[name](t, b, c) }, t end
   if #s == 0 then return { t:size() }, t end
   return { t[name](t, a, b, c) }, t
end)

draws.run(function() return pick(programs) end)
