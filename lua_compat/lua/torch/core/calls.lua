-- How many arguments the calls in a line have, read from bytecode: a function with parameters of its own cannot tell a
-- nil that was given from an argument that was not. Only errors come here.
local util = require 'jit.util'
local band, shiftright = bit.band, bit.rshift
local funcbc, funcinfo, funck = util.funcbc, util.funcinfo, util.funck
local loadstring, min = loadstring, math.min

local calls = {}

-- The codes of a call and of one in a return, and of what loads the function: from a field, a global.
local codes
local function find_codes()
   local function code(text, place) return band(funcbc(loadstring(text), place), 0xff) end
   return {
      [code('f()', 2)] = 'call', [code('return f()', 2)] = 'call', [code('local a = ... local b = a.x', 2)] = 'field',
      [code('local a = b', 1)] = 'global',
   }
end

-- The fewest arguments of the calls, in a line of a function, of what it names so, an object included; nil where that
-- cannot be told.
function calls.fewest_arguments(f, line, name)
   codes = codes or find_codes()
   local loaded, fewest = {}, nil -- loaded: what was put into a slot last
   local place = 0
   while true do
      place = place + 1
      local instruction = funcbc(f, place)
      if not instruction then return fewest end
      local what = codes[band(instruction, 0xff)]
      local a, c = band(shiftright(instruction, 8), 0xff), band(shiftright(instruction, 16), 0xff)
      if what == 'field' then loaded[a] = funck(f, -c - 1)
      elseif what == 'global' then loaded[a] = funck(f, -band(shiftright(instruction, 16), 0xffff) - 1)
      elseif what == 'call' and loaded[a] == name and funcinfo(f, place).currentline == line then
         fewest = min(fewest or c - 1, c - 1)
      end
   end
end

return calls
