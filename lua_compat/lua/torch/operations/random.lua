-- Random numbers: generators, single draws, and tensors filled with draws.
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local is_apart = require('torch.core.overlap').is_apart
local class = require 'torch.core.class'
local errors = require 'torch.core.errors'
local overloads = require 'torch.tensor.overloads'
local tensors = require 'torch.tensor.tensor'
local construction = require 'torch.operations.construction'
local generator = require 'torch.tensor.generator'
local templates = require 'torch.core.templates'
local categories_drawn = require 'torch.luajit.categories'
local pointwise = require 'torch.operations.pointwise'
local offsets = require('torch.operations.elements').offsets
local python = require('th.python').functions

local records = memory.records
local handle, resize, count = memory.handle, memory.resize, memory.count
local define, floating = overloads.define, overloads.floating
local into = pointwise.into

local random = {}
local single, filled

-- A contiguous tensor of type T in main memory, with the sizes of r.
local function dense(r, T)
   if r.T == T and memory.is_contiguous(r) then return r end
   local copy = memory.temporary(T)
   memory.resize_as(copy, r)
   return copy
end

-- Types whose elements only Python can read and write: draws are made as doubles and converted together.
local function drawn_here(T) return T.real or T.whole end

-- What the expression of a draw may use: $word and $unit, from generator g, and g's functions. For whole rows, words
-- are drawn in advance.
local ONE_BY_ONE = { word = 'next_word(g)', unit = 'next_unit(g)', next_word = generator.word,
   next_unit = generator.unit, normal = generator.normal, generator = generator }
local IN_A_ROW = { word = 'word', unit = 'word * (1 / 2 ^ 32)', ready = generator.ready }
local function compile(text, value, holes)
   return templates.compile('torch.operations.random', text, { value = value }, holes or ONE_BY_ONE)
end

-- function(g, a, b) for one draw
function single(value) return compile('return function(g, a, b) return $value end', value) end

local WRITE_ALL = [[
   return function(p, n, g, a, b)
      for i = 0, n - 1 do p[i] = $value end
   end
]]
-- For draws of one word each, computed from many words at once.
local WRITE_ROWS = [[
   return function(p, n, g, a, b)
      while n > 0 do
         local words, count = ready(g)
         if count > n then count = n end
         for i = 0, count - 1 do
            local y = words[i]
            y = bxor(y, rshift(y, 11))
            y = bxor(y, band(lshift(y, 7), 0x9d2c5680))
            y = bxor(y, band(lshift(y, 15), 0xefc60000))
            y = bxor(y, rshift(y, 18))
            local word = bxor(y, 0x80000000) + 2147483648
            p[i] = $value
         end
         g.position = g.position + count
         p, n = p + count, n - count
      end
   end
]]
local WRITE_EACH = [[
   return function(p, offsets, g, a, b)
      for i in offsets do p[i] = $value end
   end
]]

-- function(r, g, a, b), which fills r with draws in the order of its elements. Each has its own loop, which LuaJIT
-- compiles.
function filled(value)
   local function both(text)
      local in_a_row = templates.has(text, 'word') or templates.has(text, 'unit')
      return in_a_row and compile(WRITE_ROWS, text, IN_A_ROW) or compile(WRITE_ALL, text), compile(WRITE_EACH, text)
   end
   local all, each, all_wrapped, each_wrapped
   local function make()
      all, each = both(value)
      all_wrapped, each_wrapped = both(('tobit(%s)'):format(value)) -- C's conversion to types of up to 32 bits
   end
   templates.on_first_use(make)
   local function fill(r, g, a, b)
      if not all then make() end
      local T = r.T
      if not drawn_here(T) then
         local doubles = dense(r, types.Double)
         fill(doubles, g, a, b)
         return python.copy(handle(r), handle(doubles))
      end
      local wrapped = T.integer and T.size < 8
      if memory.is_contiguous(r) then
         return (wrapped and all_wrapped or all)(r.S.p + r.off, count(r), g, a, b)
      end
      return (wrapped and each_wrapped or each)(r.S.p, offsets(r), g, a, b)
   end
   return fill
end

-- Generators. tensor/generator.lua defines their records.
local proto = newproxy(true)

local function new_generator()
   return memory.push(proto, generator.new(overloads.GENERATOR_TAG, python.first_seed() % 2 ^ 32))
end

function random.install(torch)
   local mt = class.newmetatable('torch.Generator', nil, new_generator, nil, new_generator, nil,
      debug.getmetatable(proto))
   -- A generator is written as the bytes of its state.
   function mt:write(file) file:writeByte(torch.getRNGState(self):storage()) end
   function mt:read(file) torch.setRNGState(self, torch.ByteTensor(file:readByte(generator.STATE_BYTES))) end
   torch._gen = new_generator()

   function overloads.default_generator()
      local g = records[torch._gen]
      if not g or g.tag ~= overloads.GENERATOR_TAG then
         errors.raise('bad argument #-1 (field _gen is not a torch.Generator)')
      end
      return g
   end

   -- [generator,] ... -> the generator's record and the other arguments
   local function with_generator(first, ...)
      local g = records[first]
      if g and g.tag == overloads.GENERATOR_TAG then return g, ... end
      return overloads.default_generator(), first, ...
   end

   function torch.manualSeed(...)
      local g, seed = with_generator(...)
      if not tonumber(seed) or select('#', with_generator(...)) > 2 then
         overloads.refuse('[Generator] long', true, ...)
      end
      generator.start(g, types.Long.cast(tonumber(seed)))
   end
   function torch.seed(...)
      local seed = python.new_seed()
      generator.start((with_generator(...)), seed)
      return seed
   end
   function torch.initialSeed(...) return (with_generator(...)).seed end
   function torch.getRNGState(...)
      local g, result = with_generator(...)
      result = result or memory.new_tensor(types.Byte)
      local r = tensors.check(result, 1, types.Byte)
      resize(r, 1, { generator.STATE_BYTES })
      local bytes = dense(r, types.Byte)
      generator.save(g, bytes.S.p + bytes.off)
      pointwise.copy(r, bytes)
      return result
   end
   function torch.setRNGState(...)
      local g, state = with_generator(...)
      local r = records[state]
      local right = r and r.T == types.Byte and r.nd and count(r) == generator.STATE_BYTES
      if right then
         local bytes = dense(r, types.Byte)
         pointwise.copy(bytes, r)
         right = generator.load(g, bytes.S.p + bytes.off)
      end
      if not right then errors.argument(1, 'RNG state is wrong size', 'THTensorRandom.c') end
      return state
   end
end

-- name: the single draw torch.name([generator,] parameters...), and tensor:name([generator,] parameters...). value: the
-- expression of one draw, with $word, $unit, generator g and its functions, and the parameters a and b.
-- check(parameters...) raises if parameters are out of range.
local function distribution(name, value, parameters, for_types, check)
   local draw, fill = single(value), filled(value)
   check = check or function() end
   local function draw_one(g, ...)
      check(...)
      return draw(g, ...)
   end
   local function fill_all(r, g, ...)
      if count(r) == 0 then return end
      check(...)
      into(r, fill, g, ...)
   end
   local draw_words, fill_words = parameters:gsub('%f[%w]n', 'd'), parameters
   local fills = { 'o G ' .. fill_words, fill_all }
   define(name, { 'G ' .. draw_words, draw_one, unpack(fills) }, for_types, fills)
end

local function positive_deviation(_, stdv)
   if not (stdv > 0) then errors.argument(2, 'standard deviation must be strictly positive', 'THRandom.c:247') end
end
distribution('uniform', '$unit * (b - a) + a', 'n=0 n=1', floating)
distribution('normal', 'normal(g, a, b)', 'n=0 n=1', floating, positive_deviation)
distribution('cauchy', 'generator.cauchy(g, a, b)', 'n=0 n=1', floating)
distribution('logNormal', 'generator.log_normal(g, a, b)', 'n=1 n=2', floating, positive_deviation)
distribution('exponential', 'generator.exponential(g, a)', 'n', floating)
distribution('geometric', 'generator.geometric(g, a)', 'd', nil, function(p)
   if not (p > 0 and p < 1) then errors.argument(1, 'must be > 0 and < 1', 'THRandom.c:286') end
end)

local function check_probability(p)
   if not (p >= 0 and p <= 1) then errors.argument(1, 'must be >= 0 and <= 1', 'THRandom.c:292') end
end

-- r, or a contiguous copy of it in main memory.
local function in_a_row(r)
   local row = dense(r, r.T.host)
   if row ~= r then pointwise.copy(row, r) end
   return row
end

-- r or, if Lua cannot read its elements, a copy in main memory.
local function readable(r) return r.T.here and r or in_a_row(r) end

local function fill_each(r, g, p)
   pointwise.check_pair(r, p, 'self', 'p', 'THTensorRandom.c')
   if r.nd == 0 then return end
   p = readable(p)
   local drawn = memory.temporary(drawn_here(r.T) and r.T or types.Double)
   memory.resize_as(drawn, r)
   local get, q, to, i = p.T.get, p.S.p, drawn.S.p, 0
   for at in offsets(p) do
      local probability = get(q, at)
      check_probability(probability)
      to[i] = generator.bernoulli(g, probability)
      i = i + 1
   end
   pointwise.copy(r, drawn)
end
-- Words (whole numbers) below p * 2^32 give 1. There is no branch, which a processor would mispredict often.
local fill_bernoulli = filled('min(1, max(0, a - $word))')
local function words_that_give_one(p) return math.floor(p * 2 ^ 32) + 1 end
local bernoulli_fills = {
   'o G d=0.5', function(r, g, p)
      if count(r) == 0 then return end
      check_probability(p)
      into(r, fill_bernoulli, g, words_that_give_one(p))
   end,
   'o G F', fill_each,
   'o G D', fill_each,
}
define('bernoulli', { 'G d=0.5', function(g, p)
   check_probability(p)
   return generator.bernoulli(g, p)
end, unpack(bernoulli_fills) }, nil, bernoulli_fills)

local function check_bounds(low, high)
   if not (high >= low) then errors.argument(2, 'upper bound must be larger than lower bound', 'TensorMath.c') end
end
local function check_bound(high)
   if not (high > 0) then errors.argument(1, 'upper bound must be strictly positive', 'TensorMath.c') end
end
-- Without bounds: up to the largest whole number that the type represents exactly.
local MOST = { Byte = 2 ^ 8, Char = 2 ^ 7, Short = 2 ^ 15, Int = 2 ^ 31, Float = 2 ^ 24 + 1 }
local fill_between, fill_below = filled('$word % (b + 1 - a) + a'), filled('$word % a')
local function fill_random(r, g, low, high)
   if count(r) == 0 then return end
   if low then into(r, fill_between, g, low, high) else into(r, fill_below, g, MOST[r.T.host.name] or 2 ^ 53) end
end
local random_fills = {
   'o G m m', function(r, g, low, high) check_bounds(low, high) fill_random(r, g, low, high) end,
   'o G m', function(r, g, high) check_bound(high) fill_random(r, g, 1, high) end,
   'o G', fill_random,
}
define('random', {
   'G m m', function(g, low, high) check_bounds(low, high) return generator.between(g, low, high) end,
   'G m', function(g, high) check_bound(high) return generator.between(g, 1, high) end,
   'G', function(g) return generator.word(g) end,
   unpack(random_fills),
}, nil, random_fills)

local DRAWN_USAGE = '*%sTensor* [Generator] (LongStorage | dim1 [dim2...])'

-- The arguments [result,] [generator,] sizes... with the generator moved to the front; nil if there is none.
local function without_generator(first, second, ...)
   local g = records[first]
   if g and g.tag == overloads.GENERATOR_TAG then return g, second, ... end
   g = records[second]
   if g and g.tag == overloads.GENERATOR_TAG then return g, first, ... end
   return nil
end

local plain = { rand = filled('$unit'), randn = filled('normal(g, 0, 1)') }
for name, fill in pairs(plain) do
   local function drawn(T, g, ...)
      local ud, r = construction.sized_result(T, ...)
      if ud and count(r) > 0 then into(r, fill, g) end
      return ud
   end
   local function drawing(method)
      return function(T, ...)
         local ud
         if without_generator(...) then ud = drawn(T, without_generator(...))
         else ud = drawn(T, overloads.default_generator(), ...) end
         if not ud then overloads.refuse_result(DRAWN_USAGE:format(T.name), method, ...) end
         return ud
      end
   end
   overloads.define_plain(name, drawing(false), floating, drawing(true))
end

-- A random permutation of 1..n by Fisher and Yates, from the front.
local function permute(r, g)
   local n = count(r)
   local list = dense(r, drawn_here(r.T) and r.T or types.Double)
   local p = list.S.p + list.off
   for i = 0, n - 1 do p[i] = i + 1 end
   for i = 0, n - 2 do
      local other = i + generator.word(g) % (n - i)
      p[i], p[other] = p[other], p[i]
   end
   if list ~= r then pointwise.copy(r, list) end
end
define('randperm', { 'R G m', function(r, g, n)
   if n <= 0 then errors.argument(1, 'must be strictly positive', 'THTensorMath.c:2049') end
   resize(r, 1, { n })
   into(r, permute, g)
end })

local function multinomial(l, g, weights, n, replacement)
   if weights.nd == 0 then errors.argument(2, 'dimension 1 out of range of 0D tensor', 'THTensor.c:23') end
   local rows, categories = weights[1], weights[3]
   if weights.nd == 1 then rows, categories = 1, weights[1] end
   if n <= 0 then errors.argument(2, 'cannot sample n_sample < 0 samples', 'THTensorRandom.c:239') end
   if not replacement and n > categories then
      errors.argument(2, 'cannot sample n_sample > prob_dist:size(1) samples without replacement',
         'THTensorRandom.c:243')
   end
   resize(l, 2, { rows, n })
   local matrix = memory.copy_view(readable(weights))
   if matrix.nd == 1 then
      matrix[1], matrix[2], matrix[3], matrix[4] = 1, categories * matrix[2], categories, matrix[2]
      matrix.nd = 2
   end
   if not categories_drawn.have_mass(matrix) then
      errors.argument(2, 'invalid multinomial distribution (sum of probabilities <= 0)', 'THTensorRandom.c:272')
   end
   local to = dense(l, types.Long)
   categories_drawn.multinomial(to.S.p + to.off, g, matrix, n, replacement)
   if to ~= l then pointwise.copy(l, to) end
   if weights.nd == 1 then resize(l, 1, { n }) end
end
define('multinomial', { 'l G T k B=false', multinomial }, floating, { 'Q G T k B=false', multinomial })

-- Walker's alias method. Aliases count from 1, in cutorch from 0.
define('multinomialAliasSetup_', { 'T l r', function(weights, l, r)
   local n = count(weights)
   resize(l, 1, { n })
   resize(r, 1, { n })
   weights = readable(weights)
   local q, get, k = {}, weights.T.get, 0
   for at in offsets(weights) do
      k = k + 1
      q[k] = n * get(weights.S.p, at)
   end
   local aliases = categories_drawn.alias_table(q, n)
   if not aliases then errors.argument(2, 'q_min is less than 0', 'THTensorRandom.c:172') end
   local to, probabilities = dense(l, types.Long), dense(r, types.Double)
   for i = 1, n do
      to.S.p[to.off + i - 1] = l.T.device and aliases[i] - 1 or aliases[i]
      probabilities.S.p[probabilities.off + i - 1] = q[i]
   end
   if to ~= l then pointwise.copy(l, to) end
   if probabilities ~= r then pointwise.copy(r, probabilities) end
end }, floating)

-- As in Torch7, where the wrapper decrements its argument in place: a drawn alias is one too low, and the aliases
-- themselves decrease by one with each call. cutorch's are not changed.
define('multinomialAlias_', { 'L G L T', function(l, g, aliases, probabilities)
   if count(l) == 0 then return end
   if not l.T.device then pointwise.add_scalar(aliases, aliases, -1) end
   local to, from, weights = dense(l, types.Long), in_a_row(aliases), in_a_row(probabilities)
   if not is_apart(to, from, weights) then
      to = memory.temporary(types.Long)
      memory.resize_as(to, l)
   end
   local n, get, shift = count(weights), weights.T.get, l.T.device and 1 or 0
   if n == 0 or count(from) < n then errors.raise('inconsistent tensor size') end
   local p, a, q = to.S.p + to.off, from.S.p + from.off, weights.S.p + weights.off
   for i = 0, count(l) - 1 do
      local category = math.floor(generator.unit(g) * n)
      p[i] = generator.unit(g) <= get(q, category) and category + 1 or tonumber(a[category]) + shift
   end
   if to ~= l then pointwise.copy(l, to) end
end }, floating)

return random
