-- The operands of a failed operator, read from the bytecode of the function that used it: how LuaJIT's messages name
-- them ("local 'x'", "field 'modules'"), and which of several operators it was. Used only for errors.
local band, shiftright = bit.band, bit.rshift
local getinfo, getlocal, getupvalue, getfenv = debug.getinfo, debug.getlocal, debug.getupvalue, debug.getfenv
local rawequal, pcall, error, select, loadstring = rawequal, pcall, error, select, loadstring
local format, sub = string.format, string.sub
local huge = math.huge
local util = require 'jit.util'
local funcbc, funcinfo, funck, funcuvname = util.funcbc, util.funcinfo, util.funck, util.funcuvname

local FALSE = 1 -- the operand of an instruction that loads false
local JUMP_BIAS = 0x8000
local WRITES_ONE, WRITES_FROM = 1, 2 -- the kind of operand A, from the lowest bits of an instruction's mode

-- Opcodes differ between versions of LuaJIT, so they are read from small functions.
local codes
local function opcodes()
   local function code(text, place) return band(funcbc(loadstring(text), place), 0xff) end
   local inner = loadstring('local a = ... return function() local b = a end')()
   return {
      power = code('local a, b = ... local c = a ^ b', 2),
      primitive = code('local a = false', 1),
      move = code('local a = ... local b = a', 2),
      global = code('local a = b', 1),
      field = code('local a = ... local b = a.x', 2),
      upvalue = band(funcbc(inner, 1), 0xff),
      jump = code('local a = ... if a then a = nil end', 3), short = code('local a = 1', 1),
         number = code('local a = 1.5', 1), text = code('local a = ""', 1),
   }
end

-- Decodes the instruction at a position: its opcode, operands, and the kind of A.
local function decoded(f, place)
   codes = codes or opcodes()
   local instruction, mode = funcbc(f, place)
   if not instruction then return nil end
   return {
      code = band(instruction, 0xff), a = band(shiftright(instruction, 8), 0xff),
      b = band(shiftright(instruction, 24), 0xff), c = band(shiftright(instruction, 16), 0xff),
      d = band(shiftright(instruction, 16), 0xffff), mode = band(mode, 7),
   }
end

-- The instruction before `place` that set a slot, and its position; nil if that is uncertain.
local function writer_of(f, slot, place)
   for before = place - 1, 1, -1 do
      local instruction = decoded(f, before)
      if instruction.mode == WRITES_FROM and slot >= instruction.a then return nil end
      if instruction.mode == WRITES_ONE and slot == instruction.a then return instruction, before end
   end
end

-- A function that returns the constant that an instruction loads; nil if it does not load one.
local function constant(f, writer)
   local value
   if writer.code == codes.short then value = writer.d < 0x8000 and writer.d or writer.d - 0x10000
   elseif writer.code == codes.number then value = funck(f, writer.d)
   elseif writer.code == codes.text then value = funck(f, -writer.d - 1)
   else return nil end
   return function() return value end
end

-- How LuaJIT names a slot of function f ("local 'x'"), and a function that returns its value again; nil if it has no
-- name, or the value is not available. locals: the names of f's slots.
local function described(f, slot, place, locals)
   if locals[slot] then return format("local '%s'", locals[slot]) end
   local writer, before = writer_of(f, slot, place)
   if not writer then return nil end
   if writer.code == codes.move then return described(f, writer.d, before, locals) end
   if writer.code == codes.field then return format("field '%s'", funck(f, -writer.c - 1)) end
   if writer.code == codes.global then
      local name = funck(f, -writer.d - 1)
      return format("global '%s'", name), function() return getfenv(f)[name] end
   end
   if writer.code == codes.upvalue then
      local function value() return select(2, getupvalue(f, writer.d + 1)) end
      return format("upvalue '%s'", funcuvname(f, writer.d)), value
   end
   return nil, constant(f, writer)
end

local function same(a, b) return rawequal(a, b) or (a ~= a and b ~= b) end

local operand = { decoded = decoded }

-- Whether a jump may lead from before an instruction to between it and a position, as for an and or an or.
local function may_be_passed_over(f, instruction, place)
   for before = 1, instruction - 1 do
      local jump = decoded(f, before)
      local target = jump.code == codes.jump and before + jump.d - JUMP_BIAS + 1
      if target and target > instruction and target <= place then return true end
   end
   return false
end

-- Whether a slot held a value when the instruction at a position read it: false if that is impossible, otherwise true.
-- value: what it holds now.
function operand.held(f, slot, place, locals, value)
   if locals[slot] then return true end
   local _, written = writer_of(f, slot, place)
   if written and may_be_passed_over(f, written, place) then return true end
   local _, then_value = described(f, slot, place, locals)
   if not then_value then return true end
   local known, now = pcall(then_value)
   return known and same(now, value)
end

-- For a power base ^ exponent that has just failed in the function at a stack level: whether it stands for a length,
-- and how LuaJIT names its operands (nil: no name). Of several powers in a line, the first with these operands counts.
function operand.names(level, base, exponent)
   local frame = getinfo(level, 'Slf')
   local is_length = rawequal(base, false)
   if not frame or frame.what == 'C' or frame.currentline <= 0 then return is_length end
   local locals, values = {}, {}
   for slot = 0, huge do
      local name, value = getlocal(level, slot + 1)
      if not name then break end
      values[slot] = value
      if sub(name, 1, 1) ~= '(' then locals[slot] = name end
   end
   local f, place = frame.func, 0
   while true do
      place = place + 1
      local power = decoded(f, place)
      if not power then return is_length end
      if power.code == codes.power and funcinfo(f, place).currentline == frame.currentline
         and same(values[power.b], base) and same(values[power.c], exponent) then
         local of_base = described(f, power.b, place, locals)
         local of_exponent, value = described(f, power.c, place, locals)
         local known, now = pcall(value or error)
         if not known or same(now, exponent) then
            local writer = writer_of(f, power.b, place)
            is_length = is_length and not of_base and writer ~= nil and writer.code == codes.primitive
               and writer.d == FALSE
            return is_length, of_base, of_exponent
         end
      end
   end
end

return operand
