-- Loops that copy many short rows of bytes. There is one function for each length, because LuaJIT inlines copies of
-- constant length.
local templates = require 'torch.core.templates'

local lengths = {}

local MOST_CONSTANT = 128 -- bytes

-- Returns a function(bytes), which returns the text compiled for rows of that many bytes, a multiple of 4. $bytes in
-- the text is the constant or, for long rows, the variable `bytes`.
function lengths.of(text, name, parts)
   local made = {}
   local function make(bytes)
      local constant = bytes <= MOST_CONSTANT and bytes or 'bytes'
      made[constant] = made[constant] or templates.compile(name, text, { bytes = constant }, parts)
      return made[constant]
   end
   templates.on_first_use(function()
      for bytes = 4, MOST_CONSTANT + 4, 4 do make(bytes) end
   end)
   return make
end

-- Copies the rows of planes, `bytes` each, whose strides in bytes are to_row and from_row. After each plane there are
-- `gap` more bytes in the destination (into) or in the source (out_of). One loop covers all rows of all planes, because
-- LuaJIT enters a loop anew each time.
local function of_planes(behind)
   return lengths.of([[
      return function(to, from, planes, rows, to_row, from_row, gap, bytes)
         local k, a, b = 0, 0, 0
         for _ = 1, planes * rows do
            copy(to + a, from + b, $bytes)
            k, a, b = k + 1, a + to_row, b + from_row
            if k == rows then k, $behind end
         end
      end
   ]], 'nn.shared.luajit.copy_rows', { behind = behind })
end
lengths.into_planes, lengths.out_of_planes = of_planes 'a = 0, a + gap', of_planes 'b = 0, b + gap'

return lengths
