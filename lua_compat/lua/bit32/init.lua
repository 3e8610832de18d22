-- bit32, the bit library of Lua 5.2, over LuaJIT's: results are numbers from 0 to 2^32 - 1.
local bit = require 'bit'
local select, error, floor = select, error, math.floor
local WORD = 32

local bit32 = {}

local function unsigned(x) return x % 2 ^ WORD end

-- LuaJIT's operations need at least one argument; without one, Lua 5.2's return `none`.
local function of_all(operation, none)
   return function(...)
      if select('#', ...) == 0 then return none end
      return unsigned(operation(...))
   end
end

bit32.band = of_all(bit.band, 2 ^ WORD - 1)
bit32.bor = of_all(bit.bor, 0)
bit32.bxor = of_all(bit.bxor, 0)
function bit32.bnot(x) return unsigned(bit.bnot(x)) end
function bit32.btest(...) return bit32.band(...) ~= 0 end

-- LuaJIT's shifts use the lowest five bits of a distance. Here larger distances shift everything out, and negative ones
-- shift in the other direction.
function bit32.lshift(x, distance)
   if distance < 0 then return bit32.rshift(x, -distance) end
   return distance >= WORD and 0 or unsigned(bit.lshift(x, distance))
end

function bit32.rshift(x, distance)
   if distance < 0 then return bit32.lshift(x, -distance) end
   return distance >= WORD and 0 or unsigned(bit.rshift(x, distance))
end

function bit32.arshift(x, distance)
   if distance < 0 then return bit32.lshift(x, -distance) end
   return unsigned(bit.arshift(x, distance < WORD and distance or WORD - 1))
end

function bit32.lrotate(x, distance) return unsigned(bit.rol(x, distance % WORD)) end
function bit32.rrotate(x, distance) return unsigned(bit.ror(x, distance % WORD)) end

local function checked(field, width)
   if field < 0 then error("bad argument #2 (field cannot be negative)", 3) end
   if width <= 0 then error("bad argument #3 (width must be positive)", 3) end
   if field + width > WORD then error('trying to access non-existent bits', 3) end
   return floor(field), 2 ^ floor(width) - 1
end

function bit32.extract(x, field, width)
   local first, mask = checked(field, width or 1)
   return bit32.band(bit32.rshift(x, first), mask)
end

function bit32.replace(x, value, field, width)
   local first, mask = checked(field, width or 1)
   local cleared = bit.band(x, bit.bnot(bit.lshift(mask, first)))
   return unsigned(bit.bor(cleared, bit.lshift(bit.band(value, mask), first)))
end

return bit32
