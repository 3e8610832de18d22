-- Small random programs of a hostile script: a handful of calls of tensors, storages and nn's modules, with numbers,
-- views and indices that nobody sensible would pass. Whatever they raise is caught; the process must live. Leaves the
-- globals run(first, count), which gives how many calls were made and how many raised, and show(first, count), which
-- writes each call to stderr before it is made.

local pcall, pairs, ipairs, type, select, unpack, tostring = pcall, pairs, ipairs, type, select, unpack, tostring
local floor, concat = math.floor, table.concat

-- Draws: Park and Miller's generator, in doubles.
local state = 1
local function draw(n)
   state = state * 16807 % 2147483647
   return floor(state / 2147483647 * n) + 1
end
local function chance(percent) return draw(100) <= percent end
local function one_of(list) return list[draw(#list)] end

local NaN = 0 / 0
local HOSTILE = { 0, -1, -2, 0.5, 1.5, -0.5, 6, 7, 9, 17, 127, 128, 255, 2 ^ 15, -2 ^ 15, 2 ^ 31 - 1, 2 ^ 31, -2 ^ 31,
   2 ^ 32,
   2 ^ 32 + 1, 2 ^ 40, -2 ^ 40, 2 ^ 53, 2 ^ 53 - 1, -2 ^ 53, 2 ^ 60, 2 ^ 61, 2 ^ 62, -2 ^ 62, 2 ^ 63, -2 ^ 63, 2 ^ 64,
      1e19,
   1e300, -1e300, 1e-300, 1 / 0, -1 / 0, NaN, NaN }
local WORDS = { '2', '1e3', '0x10', 'nan', '', ' 3 ', 'inf', 'U', 'L', 'N', 'V', 'S', '-1', 'torch.ByteTensor', '%s',
   '\0' }
local ELEMENTS = { 'Double', 'Double', 'Double', 'Float', 'Float', 'Long', 'Long', 'Int', 'Short', 'Byte', 'Byte',
   'Char', 'Half' }

local function number()
   if chance(70) then return draw(6) - 1 end
   return one_of(HOSTILE)
end

local function sorted(set)
   local list = {}
   for name in pairs(set) do list[#list + 1] = name end
   table.sort(list)
   return list
end

-- Names that are functions of torch and methods of tensors, and the methods of storages; nn's classes.
local methods, functions, storage_methods, classes = {}, {}, {}, {}
local example, example_storage = torch.DoubleTensor(1), torch.DoubleStorage(1)
for name in NAMES:gmatch('%S+') do
   if type(example[name]) == 'function' then methods[name] = true end
   if type(example_storage[name]) == 'function' then storage_methods[name] = true end
   if type(torch[name]) == 'function' then functions[name] = true end
end
methods, functions, storage_methods = sorted(methods), sorted(functions), sorted(storage_methods)
for name, class in pairs(nn) do
   if type(name) == 'string' and type(class) == 'table' and torch.typename(class) == nil and name:match('^%u') and
      getmetatable(class) then
      classes[name] = true
   end
end
classes = sorted(classes)

local pool, shown
local function keep(value)
   if type(value) == 'userdata' and torch.typename(value) then pool[draw(6)] = value end
end

-- Writes values to stderr. Looking at some of them draws numbers, which must not change what follows.
local described
local function show_words(what, ...)
   local kept, words = state, {}
   for k = 1, select('#', ...) do words[k] = described((select(k, ...))):sub(1, 300) end
   io.stderr:write(what, '(', concat(words, ', '), ')\n')
   state = kept
end

local calls, raised = 0, 0
local function finish(ok, ...)
   calls = calls + 1
   if not ok then
      raised = raised + 1
      if shown then show_words('   -- ', (...)) end
      return nil
   end
   for k = 1, select('#', ...) do keep((select(k, ...))) end
   return ...
end

function described(value)
   if type(value) == 'userdata' then
      local ok, sizes = pcall(function()
         return concat(value.dim and value:size():totable() or { value:size() }, 'x')
      end)
      return (torch.typename(value) or '?') .. (ok and '[' .. sizes .. ']' or '')
   end
   if type(value) == 'table' then
      local words = {}
      for name, part in pairs(value) do
         if type(part) ~= 'table' and type(part) ~= 'function' then
            words[#words + 1] = tostring(name) .. '=' .. described(part)
         end
      end
      return '{' .. concat(words, ' ') .. '}'
   end
   return type(value) == 'string' and ('%q'):format(value) or tostring(value)
end

-- The method of that name of an object, which may not have one.
local function field(object, name)
   local ok, f = pcall(function() return object[name] end)
   return ok and f or nil
end

local function try(what, f, ...)
   if shown then show_words(what, ...) end
   return finish(pcall(f, ...))
end

-- Values

local function tensor()
   local kind = one_of(ELEMENTS)
   local sizes = {}
   for d = 1, draw(5) - 1 do sizes[d] = draw(5) end
   local t = torch[kind .. 'Tensor'](unpack(sizes))
   if #sizes > 0 and kind ~= 'Half' then
      local p = t:storage()
      for k = 1, p:size() do p[k] = chance(80) and draw(6) - 1 or one_of(HOSTILE) end
   end
   return t
end

local function view()
   local t = one_of(pool)
   local ok, result = pcall(function()
      local way = draw(8)
      if way == 1 then return t:t() end
      if way == 2 then return t:narrow(draw(t:dim()), draw(2), draw(2)) end
      if way == 3 then return t:select(draw(t:dim()), draw(2)) end
      if way == 4 then return t:unfold(draw(t:dim()), draw(2), draw(2)) end
      if way == 5 then return t:select(1, 1):view(1, -1):expand(draw(5), t:select(1, 1):nElement()) end
      if way == 6 then return t:transpose(1, t:dim()) end
      if way == 7 then return t.new(t:storage(), draw(3), draw(3), draw(3) - 1, draw(2), draw(3) - 1) end
      return t.new(t:storage(), draw(4))
   end)
   return ok and type(result) == 'userdata' and result or t
end

local function storage()
   local way = draw(4)
   if way == 1 then
      local sizes = torch.LongStorage(draw(4))
      for k = 1, sizes:size() do sizes[k] = number() end
      return sizes
   end
   if way == 2 then return torch[one_of(ELEMENTS) .. 'Storage'](draw(9) - 1) end
   local t = one_of(pool)
   local ok, s = pcall(function() return t:storage() end)
   return ok and type(s) == 'userdata' and s or example_storage
end

local function callback()
   local counted = 0
   return function()
      counted = counted + 1
      if counted == 2 then
         local t = one_of(pool)
         pcall(field(t, 'resize'), t, draw(50))
         collectgarbage('step')
      end
      return number()
   end
end

-- Numbers that are no Lua numbers, and tables that are made up as one looks at them.
local function oddity()
   if chance(50) then return one_of{ 1LL, -1LL, 2ULL, -1ULL, 9223372036854775807LL, 1i } end
   return setmetatable({}, { __index = function() return number() end, __len = number,
      __lt = function() return chance(50) end,
      __tostring = function() return one_of(WORDS) end, __add = number, __sub = number, __call = number })
end

local function argument()
   local kind = draw(100)
   if kind <= 40 then return one_of(pool) end
   if kind <= 48 then return view() end
   if kind <= 78 then return number() end
   if kind <= 83 then return storage() end
   if kind <= 87 then return chance(50) end
   if kind <= 90 then return one_of(WORDS) end
   if kind <= 93 then return { number(), number(), chance(50) and number() or nil } end
   if kind <= 95 then return { one_of(pool), one_of(pool) } end
   if kind <= 96 then return callback() end
   if kind <= 98 then return oddity() end
   return nil
end

local function arguments()
   local list, n = {}, draw(6) - 1
   for k = 1, n do list[k] = argument() end
   return list, n
end

-- Steps of a program

local function method()
   local list, n = arguments()
   local name, t = one_of(methods), chance(80) and one_of(pool) or view()
   try(name, field(t, name), t, unpack(list, 1, n))
end

local function of_torch()
   local list, n = arguments()
   local name = one_of(functions)
   try('torch.' .. name, torch[name], unpack(list, 1, n))
end

local function of_storage()
   local s, name = storage(), one_of(storage_methods)
   local list, n = arguments()
   try('storage.' .. name, field(s, name), s, unpack(list, 1, n))
end

local function place()
   local key = {}
   for k = 1, draw(4) do
      if chance(30) then key[k] = { number(), chance(70) and number() or nil } else key[k] = number() end
   end
   if chance(30) then key = argument() end
   local t, value = one_of(pool), chance(50) and number() or one_of(pool)
   if chance(50) then
      try('index', function(k) return t[k] end, key)
   else
      try('assign', function(k, v) t[k] = v end, key, value)
   end
end

local function set()
   local t = one_of(pool)
   local list, n = { storage(), number(), number(), number(), number(), number() }, draw(6)
   try('set', field(t, 'set'), t, unpack(list, 1, n))
end

local function image(dimensions)
   local sizes = {}
   for d = 1, dimensions do sizes[d] = draw(6) end
   return torch.rand(torch.LongStorage(sizes)):type(chance(80) and 'torch.DoubleTensor' or 'torch.FloatTensor')
end

local function spoil(module)
   for name, value in pairs(module) do
      if chance(15) then
         if type(value) == 'number' then
            module[name] = number()
         elseif type(value) == 'userdata' and torch.isTensor(value) then
            local way = draw(4)
            if shown then io.stderr:write('   -- spoils ', name, ' by ', way, '\n') end
            if way == 1 then pcall(field(value, 'fill'), value, number())
            elseif way == 2 then pcall(field(value, 'resize'), value, draw(40))
            elseif way == 3 then module[name] = one_of(pool)
            else pcall(field(value, 'set'), value) end
         elseif chance(30) then
            module[name] = argument()
         end
      end
   end
end

local function layer()
   local list, n = {}, draw(8) - 1
   for k = 1, n do
      if chance(80) then list[k] = draw(4) elseif chance(70) then list[k] = number() else list[k] = argument() end
   end
   local name = one_of(classes)
   local module = try('nn.' .. name, nn[name], unpack(list, 1, n))
   if type(module) ~= 'table' then return end
   local input = chance(60) and image(draw(5)) or chance(70) and one_of(pool) or { one_of(pool), image(draw(3)) }
   local target = chance(50) and one_of(pool) or number()
   if chance(25) then spoil(module) end
   local output = try(name .. ':forward', module.forward, module, input, target)
   keep(output)
   if chance(40) then spoil(module) end
   local gradient = chance(70) and output or one_of(pool)
   local first = name:find('Criterion') and target or gradient
   try(name .. ':backward', module.backward, module, input, first, gradient)
   if chance(20) then
      spoil(module)
      try(name .. ':forward', module.forward, module, chance(50) and input or one_of(pool), target)
   end
end

-- Layers of windows, borders, sequences and statistics, and products of matrices: most of them fit what they get, so
-- that their loops over memory run, on odd sizes and layouts.

local function extent() return chance(85) and draw(9) or one_of{ 1, 15, 16, 17, 31, 33 } end
local function planes() return chance(80) and draw(4) or one_of{ 8, 15, 16, 17, 32 } end

-- A tensor of these sizes: one after the other, turned round, part of a larger one, in steps, or one repeated.
local function laid_out(sizes, kind)
   local given, way, d = { unpack(sizes) }, draw(8), draw(#sizes)
   if way == 1 then given[d], given[1] = given[1], given[d]
   elseif way == 2 then given[d] = given[d] + draw(3)
   elseif way == 3 then given[#given + 1] = draw(3)
   elseif way == 4 then given[d] = 1 end
   local t = torch.rand(torch.LongStorage(given)):type(kind)
   if way == 1 then return t:transpose(1, d) end
   if way == 2 then return t:narrow(d, draw(given[d] - sizes[d] + 1), sizes[d]) end
   if way == 3 then return t:select(#given, draw(given[#given])) end
   if way == 4 then return t:expand(torch.LongStorage(sizes)) end
   return t
end

local function kind_of_numbers() return chance(60) and 'torch.DoubleTensor' or 'torch.FloatTensor' end

-- n numbers up to most; few of them are hostile.
local function settings(n, most)
   local list = {}
   for k = 1, n do list[k] = chance(97) and draw(most) or number() end
   return unpack(list, 1, n)
end

local function steps(n) return settings(n, 3) end
local function pads(n)
   local list = { settings(n, 3) }
   for k = 1, n do list[k] = chance(97) and list[k] - 1 or one_of{ 40, -1, -3 } end
   return unpack(list, 1, n)
end
local function joined(a, b, c)
   local list = {}
   for _, part in ipairs{ a, b, c or {} } do
      for k = 1, #part do list[#list + 1] = part[k] end
   end
   return list
end

local function windows(n, more) return joined({ settings(n, 4) }, { steps(n) }, more or { pads(n) }) end

-- By name: a function of the number of input planes that gives the arguments, and how many dimensions follow the
-- planes. Sequences have their planes last.
local FITTING = {
   SpatialConvolution = { function(n) return joined({ n, planes() }, windows(2)) end, 2 },
   SpatialConvolutionMM = { function(n) return joined({ n, planes() }, windows(2)) end, 2 },
   SpatialDilatedConvolution = { function(n) return joined({ n, planes() }, windows(2), { steps(2) }) end, 2 },
   SpatialFullConvolution = { function(n) return joined({ n, planes() }, windows(2), { pads(2) }) end, 2 },
   SpatialDepthWiseConvolution = { function(n) return joined({ n, draw(2) }, windows(2)) end, 2 },
   VolumetricConvolution = { function(n) return joined({ n, planes() }, windows(3)) end, 3 },
   VolumetricDilatedConvolution = { function(n) return joined({ n, planes() }, windows(3), { steps(3) }) end, 3 },
   VolumetricFullConvolution = { function(n) return joined({ n, planes() }, windows(3), { pads(3) }) end, 3 },
   TemporalConvolution = { function(n) return joined({ n, planes() }, windows(1, {})) end, 1, true },
   TemporalRowConvolution = { function(n) return joined({ n }, windows(1, {})) end, 1, true },
   TemporalMaxPooling = { function() return windows(1, {}) end, 1, true },
   TemporalSubSampling = { function(n) return joined({ n }, windows(1, {})) end, 1, true },
   SpatialMaxPooling = { function() return windows(2) end, 2 },
   SpatialDilatedMaxPooling = { function() return joined(windows(2), { steps(2) }) end, 2 },
   SpatialAveragePooling = { function() return windows(2) end, 2 },
   SpatialAdaptiveMaxPooling = { function() return { settings(2, 5) } end, 2 },
   SpatialAdaptiveAveragePooling = { function() return { settings(2, 5) } end, 2 },
   SpatialLPPooling = { function(n) return joined({ n, settings(1, 3) }, windows(2, {})) end, 2 },
   SpatialSubSampling = { function(n) return joined({ n }, windows(2, {})) end, 2 },
   VolumetricMaxPooling = { function() return windows(3) end, 3 },
   VolumetricAveragePooling = { function() return windows(3) end, 3 },
   SpatialZeroPadding = { function() return { pads(4) } end, 2 },
   SpatialReflectionPadding = { function() return { pads(4) } end, 2 },
   SpatialReplicationPadding = { function() return { pads(4) } end, 2 },
   VolumetricReplicationPadding = { function() return { pads(6) } end, 3 },
   Padding = { function() return { settings(1, 3), pads(1), 3, 0.5 } end, 2 },
   SpatialUpSamplingNearest = { function() return { settings(1, 3) } end, 2 },
   SpatialUpSamplingBilinear = { function() return { settings(1, 3) } end, 2 },
   BatchNormalization = { function(n) return { n } end, 0 },
   SpatialBatchNormalization = { function(n) return { n } end, 2 },
   VolumetricBatchNormalization = { function(n) return { n } end, 3 },
   SpatialCrossMapLRN = { function() return { settings(1, 5) } end, 2 },
   SpatialSoftMax = { function() return {} end, 2 },
   LogSoftMax = { function() return {} end, 0 },
   Linear = { function(n) return { n, planes() } end, 0 },
   PReLU = { function(n) return { chance(50) and n or 0 } end, 2 },
   SpatialLogSoftMax = { function() return {} end, 2 },
}
local fitting = {}
for name in pairs(FITTING) do
   if nn[name] then fitting[name] = true end
end
fitting = sorted(fitting)

local function fitting_layer()
   local name, n, kind = one_of(fitting), planes(), kind_of_numbers()
   local make, dimensions, planes_last = unpack(FITTING[name])
   local sizes = {}
   for d = 1, dimensions do sizes[d] = extent() end
   table.insert(sizes, planes_last and #sizes + 1 or 1, n)
   if chance(70) then table.insert(sizes, 1, draw(4)) end
   local module = try('nn.' .. name, nn[name], unpack(make(n)))
   if type(module) ~= 'table' then return end
   try(name .. ':type', module.type, module, kind)
   if chance(20) then try(name .. ':evaluate', module.evaluate, module) end
   if chance(20) and field(module, 'noBias') then try(name .. ':noBias', module.noBias, module) end
   if chance(8) then spoil(module) end
   for _ = 1, draw(2) do
      local input = chance(96) and laid_out(sizes, kind) or chance(50) and torch[kind:sub(7)]() or one_of(pool)
      local output = try(name .. ':forward', module.forward, module, input)
      if torch.isTensor(output) and output:dim() > 0 then
         local gradient = chance(94) and laid_out(output:size():totable(), kind) or one_of(pool)
         if chance(6) then spoil(module) end
         try(name .. ':backward', module.backward, module, input, gradient)
         keep(output)
      end
      if dimensions > 0 then sizes[#sizes] = planes_last and sizes[#sizes] or extent() end
   end
end

local PRODUCTS = { mm = 2, bmm = 3, addmm = 2, baddbmm = 3, addbmm = 3, mv = 1, addmv = 1, addr = 0, ger = 0 }
local products = sorted(PRODUCTS)

local function product()
   local name, kind = one_of(products), kind_of_numbers()
   local b, n, k, m = draw(5), extent(), extent(), extent()
   if chance(6) then k = extent() end
   local x, y, out = { n, k }, { k, m }, { n, m }
   if name:find('mv') then y, out = { k }, { n } end
   if PRODUCTS[name] == 0 then x, y = { n }, { m } end
   if PRODUCTS[name] == 3 then x, y, out = { b, n, k }, { b, k, m }, name == 'addbmm' and out or { b, n, m } end
   local list = { laid_out(x, kind), laid_out(y, kind) }
   if name:find('add') then table.insert(list, 1, laid_out(out, kind)) end
   if chance(40) then
      table.insert(list, 1, laid_out(out, kind))
   elseif chance(10) then
      table.insert(list, 1, one_of(list))
   end
   if chance(5) then list[draw(#list)] = argument() end
   keep(try('torch.' .. name, torch[name], unpack(list)))
end

-- Bytes of an object, changed, as an object.
local function bytes()
   local whole = try('torch.serialize', torch.serialize, chance(70) and one_of(pool) or nn.Linear(2, 2))
   if type(whole) ~= 'string' then return end
   for _ = 1, draw(3) do
      local at = draw(#whole)
      local put = chance(60) and ('\0\1\2\4\8\127\128\255'):sub(draw(8), -1):sub(1, draw(4))
         or ('%c'):format(draw(256) - 1)
      whole = whole:sub(1, at - 1) .. put .. whole:sub(at + (chance(80) and #put or 0))
   end
   keep(try('torch.deserialize', torch.deserialize, whole))
end

local STEPS = { method, method, method, of_torch, of_torch, of_storage, place, place, set, bytes, layer, layer, layer,
   fitting_layer,
   fitting_layer, product }

local function program(at)
   state = at % 2147483645 + 1
   for _ = 1, 4 do draw(2) end
   torch.manualSeed(at)
   pool = {}
   for k = 1, 6 do pool[k] = tensor() end
   for _ = 1, draw(5) do one_of(STEPS)() end
end

function run(first, count)
   calls, raised = 0, 0
   for at = first, first + count - 1 do
      program(at)
      if at % 250 == 0 then collectgarbage() end
   end
   return calls, raised
end

function show(first, count)
   shown = true
   for at = first, first + count - 1 do
      io.stderr:write('-- program ', at, '\n')
      program(at)
      if at % 250 == 0 then collectgarbage() end
   end
end
