-- A compiled trace as text: the compiler's instructions, snapshots, machine code. For jit.dump.
local util, vmdef = require 'jit.util', require 'jit.vmdef'
local band, shift = bit.band, bit.rshift
local concat, format = table.concat, string.format

local ir = {}

local TYPES = {}
local KINDS = 'nil fal tru lud str p32 thr pro fun p64 cdt tab udt flt num i8 u8 i16 u16 int u32 i64 u64 sfp'
for name in KINDS:gmatch('%S+') do
   TYPES[#TYPES + 1] = name
end
local function type_name(code) return TYPES[band(code, 31) + 1] or '?' end

local GUARD, PHI = 128, 64 -- flags beside the type
local REFERENCE, LITERAL, CONSTANT = 0, 1, 2 -- what an operand is, by an instruction's mode
local FRAME, CONTINUATION = 0x10000, 0x20000 -- flags of a snapshot's entry
local BIAS = 0x8000 -- of references
local MOST_CHARACTERS, BYTES_A_LINE = 20, 16

local function letters(bits, names)
   local found, bit_value = {}, 1
   for letter in names:gmatch('.') do
      if band(bits, bit_value) ~= 0 then found[#found + 1] = letter end
      bit_value = bit_value * 2
   end
   return concat(found)
end

-- Second operands that are literals, by instruction
local literals = {}
function literals.SLOAD(mode) return letters(mode, 'PFTCRIK') end
function literals.XLOAD(mode) return letters(mode, 'RVU') end
function literals.FLOAD(field) return vmdef.irfield[field] or '#' .. field end
literals.FREF = literals.FLOAD
function literals.FPMATH(which) return vmdef.irfpm[which] or '#' .. which end
function literals.BUFHDR(mode) return ({ [0] = 'RESET', 'APPEND', 'WRITE' })[mode] end
function literals.TOSTR(mode) return ({ [0] = 'INT', 'NUM', 'CHAR' })[mode] end
function literals.TMPREF(mode)
   return ({ [0] = '', 'IN', 'OUT', 'INOUT', 'OUT2', 'INOUT2', 'OUTOUT2', 'INOUTOUT2' })[mode]
end
function literals.CONV(mode)
   local text = type_name(shift(mode, 5)) .. '.' .. type_name(mode)
   if band(mode, 0x800) ~= 0 then text = text .. ' sext' end
   local check = shift(mode, 12)
   return text .. (check == 2 and ' index' or check == 3 and ' check' or '')
end
local function call_number(number) return 'ircall#' .. number end
literals.CALLN, literals.CALLA, literals.CALLL, literals.CALLS = call_number, call_number, call_number, call_number

-- The names of Lua's own functions, which have no place.
local library_names
local function library_name(f)
   if not library_names then
      library_names = {}
      for library, functions in pairs(package.loaded) do
         for name, member in pairs(type(functions) == 'table' and functions or {}) do
            if type(member) == 'function' and type(name) == 'string' and not util.funcinfo(member).loc then
               library_names[member] = library == '_G' and name or library_names[member] or library .. '.' .. name
            end
         end
      end
   end
   return library_names[f]
end

-- Where a function is written, or its name.
function ir.place_of(f, place)
   local info = util.funcinfo(f, place or 0)
   if info.loc then return info.loc end
   local name = library_name(f)
   if name then return name end
   if info.ffid then return format('[builtin#%d]', info.ffid) end
   return info.addr and format('C:%x', info.addr) or '(?)'
end

local function constant(trace, index)
   local value, kind, slot = util.tracek(trace, index)
   local name, what, text = type_name(kind), type(value), nil
   if what == 'number' then
      if name == 'num' or name == 'flt' then
         text = format('%+.14g', value)
      elseif name:match('^[iu]%d') or name == 'int' then
         text = format('%+d', value)
      else
         text = value == 0 and 'NULL' or format('[0x%x]', value)
      end
   elseif what == 'string' then
      local short = #value > MOST_CHARACTERS
      text = format('%q', value:sub(1, MOST_CHARACTERS)):gsub('\\\n', '\\n') .. (short and '~' or '')
   elseif what == 'function' then
      text = ir.place_of(value)
   elseif what == 'table' then
      text = format('{%p}', value)
   elseif what == 'userdata' then
      text = format('userdata:%p', value)
   else
      text = value == nil and name ~= 'nil' and 'NULL' or tostring(value)
   end
   return slot and format('%s @%d', text, slot) or text
end

local function reference(trace, operand)
   return operand < 0 and constant(trace, operand) or format('%04d', operand)
end

-- The arguments of a call: a chain of CARG.
local function call_arguments(trace, operand)
   if operand == -1 then return '' end
   if operand > 0 then
      local mode, kinds, first, second = util.traceir(trace, operand)
      if mode and vmdef.irnames:sub(6 * shift(kinds, 8) + 1, 6 * shift(kinds, 8) + 6) == 'CARG  ' then
         local before = call_arguments(trace, first)
         return (before == '' and '' or before .. ' ') .. reference(trace, second)
      end
   end
   return reference(trace, operand)
end

-- The snapshot of a number; nil behind the last.
function ir.snapshot(trace, number)
   local snapshot = util.tracesnap(trace, number)
   if not snapshot then return nil end
   local entries, at = {}, 2
   for slot = 0, snapshot[1] - 1 do
      local entry = snapshot[at]
      if entry and shift(entry, 24) == slot then
         at = at + 1
         local index = band(entry, 0xffff) - BIAS
         local text = reference(trace, index)
         if band(entry, CONTINUATION) ~= 0 then
            text = 'contpc'
         elseif band(entry, FRAME) ~= 0 then
            text = text .. '|'
         end
         entries[#entries + 1] = text
      else
         entries[#entries + 1] = '----'
      end
   end
   return format('....        SNAP   #%-3d [ %s ]\n', number, concat(entries, ' ')), snapshot[0]
end

-- The line of an instruction; nil for one that only belongs to another's line.
function ir.line(trace, number)
   local mode, kinds, first, second = util.traceir(trace, number)
   local code = shift(kinds, 8)
   local name = vmdef.irnames:sub(6 * code + 1, 6 * code + 6)
   local plain = name:match('%S+') or '?'
   if plain == 'NOP' or plain == 'CARG' then return nil end
   if plain == 'LOOP' then return format('%04d ------ LOOP ------------\n', number) end
   local first_kind, second_kind = band(mode, 3), band(shift(mode, 2), 3)
   local operands = {}
   if plain:match('^CALL') and second_kind == LITERAL then
      operands[1] = format('%s  (%s)', call_number(second), call_arguments(trace, first))
   elseif plain == 'CNEW' and second == -1 then
      operands[1] = reference(trace, first)
   else
      if first_kind == REFERENCE then operands[1] = reference(trace, first)
      elseif first_kind == LITERAL then operands[1] = format('#%-3d', first) end
      if second_kind == LITERAL then
         local literal = literals[plain]
         operands[2] = literal and literal(second) or format('#%-3d', second)
      elseif second_kind == REFERENCE then
         operands[2] = reference(trace, second)
      end
   end
   if first_kind == CONSTANT then operands[1] = constant(trace, number) end
   return format('%04d %s%s %s %s %s\n', number, band(kinds, GUARD) ~= 0 and '>' or ' ', band(kinds, PHI) ~= 0 and '+'
      or ' ',
      type_name(kinds), name, concat(operands, '  '))
end

-- Writes the instructions of a trace, with its snapshots if they are wanted.
function ir.write(output, trace, with_snapshots)
   local info = util.traceinfo(trace)
   output:write(format('---- TRACE %d IR\n', trace))
   local snapshot_number = 0
   local text, at
   if with_snapshots then text, at = ir.snapshot(trace, 0) end
   for number = 1, info.nins do
      while text and at <= number do
         output:write(text)
         snapshot_number = snapshot_number + 1
         text, at = ir.snapshot(trace, snapshot_number)
      end
      output:write(ir.line(trace, number) or '')
   end
   if text then output:write(text) end
end

-- Writes the machine code of a trace in hexadecimal.
function ir.write_machine_code(output, trace)
   local code, address, loop = util.tracemc(trace)
   if not code then return end
   output:write(format('---- TRACE %d mcode %d\n', trace, #code))
   for from = 1, #code, BYTES_A_LINE do
      local bytes = code:sub(from, from + BYTES_A_LINE - 1):gsub('.',
         function(byte) return format(' %02x', byte:byte()) end)
      local loops = loop > 0 and from - 1 <= loop and loop < from - 1 + BYTES_A_LINE
      output:write(format('%x %s%s\n', address + from - 1, bytes, loops and format('  ; loop at %x', address + loop)
         or ''))
   end
end

return ir
