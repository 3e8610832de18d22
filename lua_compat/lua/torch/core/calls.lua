-- Reads from bytecode how many arguments the calls in a line pass: a function with named parameters cannot tell an
-- explicit nil from a missing argument. Used only for error messages.
local util = require 'jit.util'
local band, shiftright = bit.band, bit.rshift
local funcbc, funcinfo, funck = util.funcbc, util.funcinfo, util.funck
local loadstring, min = loadstring, math.min

local calls = {}

-- The opcodes of a call and of a tail call, and those that load the function: from a field or a global.
local codes
local function find_codes()
   local function code(text, place) return band(funcbc(loadstring(text), place), 0xff) end
   return {
      [code('f()', 2)] = 'call', [code('return f()', 2)] = 'call', [code('local a = ... local b = a.x', 2)] = 'field',
      [code('local a = b', 1)] = 'global',
   }
end

-- The smallest number of arguments that function f passes, in the given line, to what it calls by this name; a method's
-- object counts. nil if that cannot be determined.
function calls.fewest_arguments(f, line, name)
   codes = codes or find_codes()
   local loaded, fewest = {}, nil -- loaded: the name last loaded into each slot
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
