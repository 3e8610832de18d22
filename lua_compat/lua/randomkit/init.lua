-- The package randomkit (torch-randomkit): random numbers from many distributions, drawn by NumPy from Torch's
-- generator.
require 'torch'
local ffi = require 'ffi'
local python = require('th.python').functions
local kernel = require('torch.core.kernels').of_tensors
local gather = require 'th.elementwise'
local overloads = require 'torch.tensor.overloads'

randomkit = {}

local get_state, set_state = torch.getRNGState, torch.setRNGState

-- Fills a tensor of doubles by a kernel, and advances Torch's generator.
local state = torch.IntTensor(625) -- the generator's words and position
local function draw(by_kernel, drawn, ...)
   local generator, words = overloads.default_generator(), state:data()
   ffi.copy(words, generator.words, 4 * 624)
   words[624] = generator.position
   generator.pair = by_kernel(drawn, state, generator.pair, ...)
   ffi.copy(generator.words, words, 4 * 624)
   generator.position = words[624]
end

-- Once randomkit is loaded, the generator's state is a table that includes the second normal number of a pair.
function torch.getRNGState(generator)
   if generator then return get_state(generator) end
   return { torch = get_state(), randomkit = overloads.default_generator().pair or false }
end

function torch.setRNGState(generator, state)
   if state then return set_state(generator, state) end
   state = generator
   if type(state) ~= 'table' or state.randomkit == nil then
      error('State was not saved with randomkit, cannot set it back', 2)
   end
   set_state(state.torch)
   overloads.default_generator().pair = state.randomkit or nil
end

local one = torch.DoubleTensor(1)
local function are_numbers(count, ...)
   for k = 1, count do
      if type((select(k, ...))) ~= 'number' then return false end
   end
   return select('#', ...) == count
end

local function define(name, letters)
   randomkit[name] = function(...)
      if are_numbers(#letters, ...) then
         draw(kernel.randomkit_draw_one, one, name, letters, ...)
         return one[1]
      end
      local result, parameters, size, numbers = gather('randomkit', name, #letters, ...)
      if result then size = result:nElement() end
      local drawn = torch.DoubleTensor(size)
      draw(kernel.randomkit_draw, drawn, name, letters, unpack(parameters))
      if numbers then return drawn[1] end
      if result then return result:copy(drawn:viewAs(result)) end
      return drawn
   end
end

for name, letters in python.randomkit_names():gmatch('(%w+_?%w*_?%w*):(%l*)') do define(name, letters) end
randomkit.random_sample, randomkit.standard_normal = randomkit.double, randomkit.gauss

-- Fills a ByteTensor with random bytes.
function randomkit.bytes(result)
   if torch.type(result) ~= 'torch.ByteTensor' then error('randomkit.bytes() can only store into a ByteTensor!', 2) end
   local drawn = torch.DoubleTensor(math.ceil(result:nElement() / 4))
   draw(kernel.randomkit_draw, drawn, 'random', '')
   local bytes, place = result:view(-1), 0
   for word = 1, drawn:nElement() do
      local left = drawn[word]
      for _ = 1, math.min(4, bytes:nElement() - place) do
         place = place + 1
         bytes[place] = left % 256
         left = math.floor(left / 256)
      end
   end
   return result
end

return randomkit
