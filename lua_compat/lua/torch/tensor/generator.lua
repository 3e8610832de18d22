-- Torch7's random generator, MT19937 (Matsumoto and Nishimura, 1998), and its distributions, one number at a time.
-- nets/torch7/random.py does the same for whole arrays, in Python. A generator's record: tag; words and position (the
-- state); seed; x and rho of the second number of a pair of normal numbers, or nil; pair: the same for the package
-- randomkit.
local ffi = require 'ffi'
local bit = require 'bit'

local band, bxor, lshift, rshift, tobit = bit.band, bit.bxor, bit.lshift, bit.rshift, bit.tobit
local log, sqrt, cos, sin, tan, exp, floor = math.log, math.sqrt, math.cos, math.sin, math.tan, math.exp, math.floor
local pi = math.pi

local generator = {}

local WORDS, MIDDLE = 624, 397
local words_type = ffi.typeof('int32_t[624]')

-- The product of two 32-bit whole numbers, modulo 2^32.
local function times(a, b)
   return tobit(band(a, 0xffff) * b + lshift(tobit(rshift(a, 16) * b), 16))
end

-- Starts the stream of a seed, of which the low 32 bits are used.
function generator.start(g, seed)
   local words = g.words
   local word = tobit(seed % 2 ^ 32)
   for i = 0, WORDS - 1 do
      words[i] = word
      word = tobit(times(bxor(word, rshift(word, 30)), 1812433253) + i + 1)
   end
   g.position, g.seed, g.x, g.rho, g.pair = WORDS, seed, nil, nil, nil
end

function generator.new(tag, seed)
   local g = { tag = tag, words = words_type() }
   generator.start(g, seed)
   return g
end

local function twisted(high, low, other)
   local y = band(high, 0x80000000) + band(low, 0x7fffffff)
   return bxor(other, rshift(tobit(y), 1), band(-band(low, 1), 0x9908b0df))
end

local function refill(words)
   for k = 0, WORDS - MIDDLE - 1 do words[k] = twisted(words[k], words[k + 1], words[k + MIDDLE]) end
   for k = WORDS - MIDDLE, WORDS - 2 do words[k] = twisted(words[k], words[k + 1], words[k + MIDDLE - WORDS]) end
   words[WORDS - 1] = twisted(words[WORDS - 1], words[0], words[MIDDLE - 1])
end

-- The state's words from the next one on, and the number of them before it must be refilled.
function generator.ready(g)
   if g.position == WORDS then
      refill(g.words)
      g.position = 0
   end
   return g.words + g.position, WORDS - g.position
end

-- A whole number in [0, 2^32).
local function word(g)
   local words, position = g.words, g.position
   if position == WORDS then
      refill(words)
      position = 0
   end
   g.position = position + 1
   local y = words[position]
   y = bxor(y, rshift(y, 11))
   y = bxor(y, band(lshift(y, 7), 0x9d2c5680))
   y = bxor(y, band(lshift(y, 15), 0xefc60000))
   y = bxor(y, rshift(y, 18))
   return bxor(y, 0x80000000) + 2147483648 -- converts to unsigned, without a branch
end
generator.word = word

-- A number in [0, 1).
local function unit(g) return word(g) * (1 / 2 ^ 32) end
generator.unit = unit

-- By Box and Muller.
local function normal(g, mean, stdv)
   local x, rho = g.x, g.rho
   if x then
      g.x, g.rho = nil, nil
      return rho * sin(2 * pi * x) * stdv + mean
   end
   x = unit(g)
   rho = sqrt(-2 * log(1 - unit(g)))
   g.x, g.rho = x, rho
   return rho * cos(2 * pi * x) * stdv + mean
end
generator.normal = normal

function generator.log_normal(g, mean, stdv) return exp(normal(g, mean, stdv)) end

function generator.exponential(g, rate) return -1 / rate * log(1 - unit(g)) end

function generator.cauchy(g, median, sigma) return median + sigma * tan(pi * (unit(g) - 0.5)) end

function generator.geometric(g, p) return floor(log(1 - unit(g)) / log(p)) + 1 end

function generator.bernoulli(g, p) return unit(g) <= p and 1 or 0 end

function generator.between(g, low, high) return word(g) % (high + 1 - low) + low end

-- The memory layout of Torch7's generator, which getRNGState returns as bytes.
local layout = ffi.typeof([[struct {
   int64_t seed; int32_t left, seeded; uint64_t next; uint64_t words[624]; double x, y, rho; int32_t waiting, unused;
}]])
generator.STATE_BYTES = ffi.sizeof(layout)

-- Writes the state as bytes in that layout.
function generator.save(g, bytes)
   local state = layout()
   state.seed = g.seed
   state.left, state.seeded, state.next = WORDS + 1 - g.position, 1, g.position < WORDS and g.position or 0
   for k = 0, WORDS - 1 do state.words[k] = g.words[k] % 2 ^ 32 end
   if g.x then state.x, state.rho, state.waiting = g.x, g.rho, 1 end
   ffi.copy(bytes, state, generator.STATE_BYTES)
end

-- Restores the state from such bytes; returns false if they are not a generator's.
function generator.load(g, bytes)
   local state = layout()
   ffi.copy(state, bytes, generator.STATE_BYTES)
   local position = WORDS + 1 - state.left
   if state.seeded ~= 1 or not (position >= 1 and position <= WORDS) then return false end
   for k = 0, WORDS - 1 do g.words[k] = tobit(state.words[k]) end
   g.position, g.seed = position, tonumber(state.seed)
   g.x, g.rho = nil, nil
   if state.waiting ~= 0 then g.x, g.rho = state.x, state.rho end
   return true
end

return generator
