-- jit.bc: the bytecode of functions as text, in LuaJIT's own form.
local util, vmdef = require 'jit.util', require 'jit.vmdef'
local band, shift = bit.band, bit.rshift
local funcbc, funcinfo, funck = util.funcbc, util.funcinfo, util.funck

-- The kind of an operand, by the number in an instruction's mode
local UPVALUE, SIGNED, NUMBER, STRING, FUNCTION, JUMP, CDATA = 5, 7, 9, 10, 12, 13, 14
local MOST_CHARACTERS = 40
local JUMP_BASE = 0x7fff

local bc = {}

-- The parts of an instruction; `d` is the upper half if `b` and `c` are one operand.
local function decoded(f, place)
   local instruction, mode = funcbc(f, place)
   if not instruction then return nil end
   local code = band(instruction, 0xff)
   return {
      name = vmdef.bcnames:sub(6 * code + 1, 6 * code + 6),
      a = band(shift(instruction, 8), 0xff), b = shift(instruction, 24), c = band(shift(instruction, 16), 0xff),
      d = shift(instruction, 16),
      has_a = band(mode, 7) ~= 0, has_b = band(shift(mode, 3), 15) ~= 0, last = band(shift(mode, 7), 15),
   }
end

local function target(instruction, place) return place + instruction.d - JUMP_BASE end

local function quoted(text)
   local short = #text > MOST_CHARACTERS
   text = text:sub(1, MOST_CHARACTERS):gsub('%c', function(character)
      if character == '\n' then return '\\n' elseif character == '\t' then return '\\t' end
      return ('\\%03d'):format(character:byte())
   end)
   return ('"%s"%s'):format(text, short and '~' or '')
end

-- The constant or variable that the last operand refers to, or nil.
local function meaning(f, kind, operand)
   if kind == STRING then return quoted(funck(f, -operand - 1)) end
   if kind == NUMBER then return tostring(funck(f, operand)) end
   if kind == UPVALUE then return util.funcuvname(f, operand) end
   if kind == CDATA then return tostring(funck(f, -operand - 1)) end
   if kind == FUNCTION then return funcinfo(funck(f, -operand - 1)).loc end
end

-- The text of one instruction; prefix: two characters before its name. Nothing after the last.
function bc.line(f, place, prefix)
   local instruction = decoded(f, place)
   if not instruction then return end
   local start = ('%04d %s %s %3s '):format(place, prefix or '  ', instruction.name,
      instruction.has_a and instruction.a or '')
   local kind = instruction.last
   if kind == JUMP then return ('%s=> %04d\n'):format(start, target(instruction, place)) end
   if kind == 0 and not instruction.has_b then return start .. '\n' end
   local operand = instruction.has_b and instruction.c or instruction.d
   local text = meaning(f, kind, operand)
   if kind == SIGNED and operand > 0x7fff then operand = operand - 0x10000 end
   if instruction.has_b then start = ('%s%3d '):format(start, instruction.b) end
   start = ('%s%3d'):format(start, operand)
   if not text then return start .. '\n' end
   return ('%s%s  ; %s\n'):format(start, instruction.has_b and '' or '    ', text)
end

-- The positions that are jump targets, as keys of a table.
function bc.targets(f)
   local targets = {}
   local place = 1
   while true do
      local instruction = decoded(f, place)
      if not instruction then return targets end
      if instruction.last == JUMP then targets[target(instruction, place)] = true end
      place = place + 1
   end
end

-- Writes the listing of a function to a file (default: stdout); all: first those of the functions in it.
function bc.dump(f, out, all)
   out = out or io.stdout
   if all then
      local number = -1
      while true do
         local constant = funck(f, number)
         if constant == nil then break end
         if type(constant) == 'proto' then bc.dump(constant, out, true) end
         number = number - 1
      end
   end
   local info = funcinfo(f)
   out:write(('-- BYTECODE -- %s-%d\n'):format(info.loc, info.lastlinedefined))
   local targets = bc.targets(f)
   local place = 1
   while true do
      local line = bc.line(f, place, targets[place] and '=>')
      if not line then break end
      out:write(line)
      place = place + 1
   end
   out:write('\n')
   out:flush()
end

-- on lists every function that is compiled from then on.
bc.on, bc.off = require('jit.listing')('bc', function(output, f) bc.dump(f, output) end)
bc.start = bc.on

return bc
