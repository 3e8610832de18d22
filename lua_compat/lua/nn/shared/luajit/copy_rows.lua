-- Loops that copy many short rows of bytes: a text for each length, which LuaJIT copies itself where it knows it.
local ffi = require 'ffi'
local compiled = require 'torch.core.templates'

local lengths = {}

local MOST_CONSTANT = 128 -- bytes

-- A function(bytes) that gives the function of a text for rows of so many bytes, a multiple of 4; BYTES in the text
-- stands for this number, or for the variable `bytes`, and copy, its argument, is ffi.copy.
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

-- lengths.rows_of_planes(bytes) gives what copies the rows of planes, `bytes` each: from row to row so many bytes
-- further there and here, and from plane to plane so many more. All rows of all planes are one loop: LuaJIT enters one
-- anew each time.
lengths.rows_of_planes = lengths.of([[
   local copy = ...
   return function(to, from, planes, rows, to_row, to_plane, from_row, from_plane, bytes)
      local k, a, b = 0, 0, 0
      for _ = 1, planes * rows do
         copy(to + a, from + b, BYTES)
         k, a, b = k + 1, a + to_row, b + from_row
         if k == rows then k, a, b = 0, a + to_plane, b + from_plane end
      end
   end
]], 'nn.shared.luajit.copy_rows')

return lengths
