-- Loops that copy many short rows of bytes: a text for each length, which LuaJIT copies itself where it knows it.
local ffi = require 'ffi'
local compiled = require 'torch.compiled'

local lengths = {}

local MOST_CONSTANT = 128 -- bytes

-- A function(bytes) that gives the function of a text for rows of so many bytes, a multiple of 4; BYTES in the text stands for this
-- number, or for the variable `bytes`, and copy, its argument, is ffi.copy.
function lengths.of(text, name)
   local made = {}
   local function make(bytes)
      local constant = bytes <= MOST_CONSTANT and bytes or 'bytes'
      if not made[constant] then made[constant] = compiled.from_text(text:gsub('BYTES', constant), name)(ffi.copy) end
      return made[constant]
   end
   compiled.on_first_use(function()
      for bytes = 4, MOST_CONSTANT + 4, 4 do make(bytes) end
   end)
   return make
end

return lengths
