-- Unicode properties of characters, from Python's tables. They are requested for a block of characters when one of it
-- is first needed (lua_compat/kernels/packages/characters.py).
local characters = require('th.python').functions.characters

local BLOCK = 128

local properties = {}
local blocks = {}

local function load_block(first)
   local block, place = {}, 0
   for classes, width, lower, upper, title, fold in characters(first):gmatch('(%S+) (%S+) (%d+) (%d+) (%d+) (%d+)') do
      local members = {}
      for letter in classes:gmatch('%a') do members[letter] = true end
      block[place] = {
         classes = members, width = tonumber(width), lower = tonumber(lower), upper = tonumber(upper),
         title = tonumber(title), fold = tonumber(fold),
      }
      place = place + 1
   end
   blocks[first] = block
   return block
end

-- A table: classes (letters of Lua's patterns, and t for combining characters; each true), width (nil: ambiguous), and
-- the code points lower, upper, title and fold.
function properties.of(code)
   local place = code % BLOCK
   return (blocks[code - place] or load_block(code - place))[place]
end

return properties
