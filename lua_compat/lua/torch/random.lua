-- Random numbers: generators, single draws, and tensors filled with draws.
local types = require 'torch.types'
local memory = require 'torch.memory'
local class = require 'torch.class'
local errors = require 'torch.errors'
local overloads = require 'torch.overloads'
local tensors = require 'torch.tensor'
local construction = require 'torch.construction'
local few_draws = require 'torch.few_draws'
local into = require('torch.pointwise').into
local python = require('th.python').functions

local records = memory.records
local handle, resize, count = memory.handle, memory.resize, memory.count
local define, floating = overloads.define, overloads.floating

local random = {}

-- Generators. A record: tag and number, the handle of the generator in Python.
local RNG_STATE_BYTES = 5048
local proto = memory.prototype_of_others(RNG_STATE_BYTES)

local function new_generator()
   memory.account(RNG_STATE_BYTES)
   local ud = newproxy(proto)
   records[ud] = { tag = overloads.GENERATOR_TAG, number = python.new_generator() }
   return ud
end

function random.install(torch)
   local mt = class.newmetatable('torch.Generator', nil, new_generator, nil, new_generator, nil, debug.getmetatable(proto))
   -- Written as the bytes of its state.
   function mt:write(file) file:writeByte(torch.getRNGState(self):storage()) end
   function mt:read(file) torch.setRNGState(self, torch.ByteTensor(file:readByte(RNG_STATE_BYTES))) end
   torch._gen = new_generator()

   function overloads.default_generator()
      local g = records[torch._gen]
      if not g or g.tag ~= overloads.GENERATOR_TAG then
         errors.raise('bad argument #-1 (field _gen is not a torch.Generator)')
      end
      return g
   end

   -- [generator,] ... -> its number and the rest
   local function with_generator(first, ...)
      local g = records[first]
      if g and g.tag == overloads.GENERATOR_TAG then return g.number, ... end
      return overloads.default_generator().number, first, ...
   end

   function torch.manualSeed(...)
      local g, seed = with_generator(...)
      if type(seed) ~= 'number' then
         error(('invalid arguments: %s \nexpected arguments: [Generator] long'):format(type(seed)), 0)
      end
      python.manual_seed(g, seed)
   end
   function torch.seed(...) return python.seed((with_generator(...))) end
   function torch.initialSeed(...) return python.initial_seed((with_generator(...))) end
   function torch.getRNGState(...)
      local g, result = with_generator(...)
      result = result or memory.new_tensor(types.Byte)
      local r = tensors.check(result, 1, types.Byte)
      resize(r, 1, { RNG_STATE_BYTES })
      python.get_rng_state(g, handle(r))
      return result
   end
   function torch.setRNGState(...)
      local g, state = with_generator(...)
      local r = records[state]
      if not (r and r.T == types.Byte and r.nd) or not python.set_rng_state(g, handle(r)) then
         errors.argument(1, 'RNG state is wrong size', 'THTensorRandom.c')
      end
      return state
   end
end

-- name: single draw torch.name([generator,] parameters...), and tensor:name([generator,] parameters...).
-- check(parameters...) raises for values out of range.
local function distribution(name, kernel, parameters, for_types, check, draw_default)
   local draw, fill = python['draw_' .. kernel], python['fill_' .. kernel]
   check = check or function() end
   local function fill_in_python(r, ...) fill(handle(r), ...) end
   local function draw_one(g, ...)
      check(...)
      return draw(g.number, ...)
   end
   local function fill_all(r, g, ...)
      check(...)
      if count(r) > 0 then into(r, fill_in_python, g.number, ...) end
   end
   local draw_words, fill_words = parameters:gsub('%f[%w]n', 'd'), parameters
   local fills = { 'o G ' .. fill_words, fill_all }
   define(name, { 'G ' .. draw_words, draw_one, unpack(fills) }, for_types, fills)
end

local function positive_deviation(_, stdv)
   if not (stdv > 0) then errors.argument(2, 'standard deviation must be strictly positive', 'THRandom.c:247') end
end
distribution('uniform', 'uniform', 'n=0 n=1', floating)
distribution('normal', 'normal', 'n=0 n=1', floating, positive_deviation)
distribution('cauchy', 'cauchy', 'n=0 n=1', floating)
distribution('logNormal', 'log_normal', 'n=1 n=2', floating, positive_deviation)
distribution('exponential', 'exponential', 'n', floating)
distribution('geometric', 'geometric', 'd', nil, function(p)
   if not (p > 0 and p < 1) then errors.argument(1, 'must be > 0 and < 1', 'THRandom.c:286') end
end)

local function check_probability(p)
   if not (p >= 0 and p <= 1) then errors.argument(1, 'must be >= 0 and <= 1', 'THRandom.c:292') end
end
local function fill_each(r, g, p)
   if count(r) ~= count(p) then errors.raise('inconsistent tensor size', 'THTensorRandom.c') end
   python.fill_bernoulli_each(handle(r), g.number, handle(p))
end
local function bernoulli_in_python(r, number, p) python.fill_bernoulli(handle(r), number, p) end
local bernoulli_fills = {
   'o G d=0.5', function(r, g, p)
      check_probability(p)
      if count(r) > 0 then into(r, bernoulli_in_python, g.number, p) end
   end,
   'o G F', fill_each,
   'o G D', fill_each,
}
define('bernoulli', { 'G d=0.5', function(g, p)
   check_probability(p)
   return python.draw_bernoulli(g.number, p)
end, unpack(bernoulli_fills) }, nil, bernoulli_fills)

local function check_bounds(low, high)
   if not (high >= low) then errors.argument(2, 'upper bound must be larger than lower bound', 'TensorMath.c') end
end
local function check_bound(high)
   if not (high > 0) then errors.argument(1, 'upper bound must be strictly positive', 'TensorMath.c') end
end
local function random_in_python(r, ...) python.fill_random(handle(r), ...) end
local function fill_random(r, g, ...)
   if count(r) > 0 then into(r, random_in_python, g.number, ...) end
end
local random_fills = {
   'o G m m', function(r, g, low, high) check_bounds(low, high) fill_random(r, g, low, high) end,
   'o G m', function(r, g, high) check_bound(high) fill_random(r, g, 1, high) end,
   'o G', fill_random,
}
define('random', {
   'G m m', function(g, low, high) check_bounds(low, high) return python.draw_random(g.number, low, high) end,
   'G m', function(g, high) check_bound(high) return python.draw_random(g.number, 1, high) end,
   'G', function(g) return python.draw_random(g.number) end,
   unpack(random_fills),
}, nil, random_fills)

for name, kernel in pairs{ rand = 'fill_uniform', randn = 'fill_normal' } do
   overloads.define_plain(name, function(T, first, second, ...)
      -- [result,] [generator,] sizes...
      local g
      local found = records[first]
      local ud, r
      if found and found.tag == overloads.GENERATOR_TAG then
         g = found
         ud, r = construction.sized_result(T, construction.SIZES_USAGE, second, ...)
      else
         found = records[second]
         if found and found.tag == overloads.GENERATOR_TAG then
            g = found
            ud, r = construction.sized_result(T, construction.SIZES_USAGE, first, ...)
         else
            ud, r = construction.sized_result(T, construction.SIZES_USAGE, first, second, ...)
         end
      end
      g = g or overloads.default_generator()
      if count(r) > 0 then python[kernel](handle(r), g.number, 0, 1) end
      return ud
   end, floating)
end

define('randperm', { 'R G m', function(r, g, n)
   if n <= 0 then errors.argument(1, 'must be strictly positive', 'THTensorMath.c:2049') end
   resize(r, 1, { n })
   python.randperm(handle(r), g.number)
end })

local function multinomial(l, g, weights, n, replacement)
   local rows, categories = weights[1], weights[3]
   if weights.nd == 1 then rows, categories = 1, weights[1] end
   if n <= 0 then errors.argument(2, 'cannot sample n_sample < 0 samples', 'THTensorRandom.c:239') end
   if not replacement and n > categories then
      errors.argument(2, 'cannot sample n_sample > prob_dist:size(1) samples without replacement',
         'THTensorRandom.c:243')
   end
   resize(l, 2, { rows, n })
   local matrix = memory.copy_view(weights)
   matrix.temporary = true
   if weights.nd == 1 then
      matrix[1], matrix[2], matrix[3], matrix[4] = 1, categories * weights[2], categories, weights[2]
      matrix.nd = 2
   end
   if not few_draws.multinomial(l, g, matrix, n, replacement) then
      if python.least_row_sum(handle(matrix)) <= 0 then
         errors.argument(2, 'invalid multinomial distribution (sum of probabilities <= 0)', 'THTensorRandom.c:272')
      end
      python.multinomial(handle(l), g.number, handle(matrix), replacement)
   end
   if weights.nd == 1 then resize(l, 1, { n }) end
end
define('multinomial', { 'l G T m B=false', multinomial }, floating, { 'L G T m B=false', multinomial })

define('multinomialAliasSetup_', { 'T l r', function(weights, l, r)
   local n = count(weights)
   resize(l, 1, { n })
   resize(r, 1, { n })
   if not python.alias_setup(handle(l), handle(r), handle(weights), l.T.device ~= nil) then
      errors.argument(2, 'q_min is less than 0', 'THTensorRandom.c:172')
   end
end }, floating)
define('multinomialAlias_', { 'L G L T', function(l, g, aliases, probabilities)
   if count(l) == 0 then return end
   python.alias_draw(handle(l), g.number, handle(aliases), handle(probabilities), l.T.device ~= nil)
end }, floating)

return random
