-- jit.dump: what LuaJIT's compiler does, trace by trace. on(options, name of a file): letters of
--   t the start and end of each trace, b the bytecode that is recorded, i the compiler's instructions, s with their
--   snapshots, m the machine code in hexadecimal (there is no disassembler), x each exit taken from a trace;
-- tbim by default; + or - before letters changes the default. T, H, A, X and r, LuaJIT's colors and registers, are
-- taken and change nothing.
local bc, ir = require 'jit.bc', require 'jit.ir'
local util = require 'jit.util'
local attach, open = jit.attach, io.open
local band, format = bit.band, string.format

local LAST_COMPARISON = 15 -- among the codes of the bytecode: ISLT to ISF
local DEFAULT, KNOWN = 'tbim', 'tbismxXTHAar'

local dump = {}
local output, own_file, wanted

local function parsed(options)
   local letters = {}
   local sign, rest = (options or ''):match('^([+-]?)(.*)$')
   if sign ~= '' or rest == '' then
      for letter in DEFAULT:gmatch('.') do letters[letter] = true end
   end
   for letter in rest:gmatch('.') do
      if not KNOWN:find(letter, 1, true) then
         error(("jit.dump: unknown option '%s': letters of %s are known, with + or - before them"):format(letter,
            KNOWN), 3)
      end
      letters[letter] = sign ~= '-' or nil
   end
   return letters
end

-- The words behind "stop", "abort".
local function link_of(trace)
   local info = util.traceinfo(trace)
   if info.linktype == 'interpreter' then return '-- fallback to interpreter' end
   if info.linktype == 'root' or info.linktype == 'none' then return '-> ' .. info.link end
   if info.link == trace or info.link == 0 then return '-> ' .. info.linktype end
   return format('-> %d %s', info.link, info.linktype)
end

local function on_trace(what, trace, f, place, other, detail)
   if what == 'stop' then
      if wanted.i then ir.write(output, trace, wanted.s) end
      if wanted.m then ir.write_machine_code(output, trace) end
   end
   if not wanted.t and not wanted.b then return end
   if what == 'start' then
      local parent = other and format('%s/%s ', other, detail == -1 and 'stitch' or detail) or ''
      output:write(format('---- TRACE %d start %s%s\n', trace, parent, ir.place_of(f, place)))
   elseif what == 'stop' then
      output:write(format('---- TRACE %d stop %s\n\n', trace, link_of(trace)))
   elseif what == 'abort' then
      if type(other) == 'number' then
         other = format('reason %d%s', other, detail ~= nil and format(' (%s)', tostring(detail)) or '')
      end
      output:write(format('---- TRACE %d abort %s -- %s\n\n', trace, ir.place_of(f, place), other))
   elseif what == 'flush' then
      output:write('---- TRACE flush\n\n')
   end
   output:flush()
end

-- One instruction as it is recorded, a comparison with its jump; functions that are called stand one step further to
-- the right for each level.
local function on_record(_, f, place, depth)
   local dots = (' .'):rep(depth)
   if place >= 0 then
      output:write(bc.line(f, place, dots))
      if band(util.funcbc(f, place), 0xff) <= LAST_COMPARISON then output:write(bc.line(f, place + 1, dots)) end
   else
      output:write(format('0000 %s FUNCC               ; %s\n', dots, ir.place_of(f)))
   end
end

-- LuaJIT calls this in the midst of leaving compiled code: a function in Lua that is compiled itself, as string.format
-- is, must not be called here.
local function on_exit(trace, exit) output:write('---- TRACE ' .. trace .. ' exit ' .. exit .. '\n') end

function dump.off()
   attach(on_trace)
   attach(on_record)
   attach(on_exit)
   if own_file then output:close() end
   output, own_file = nil, nil
end

-- Begins to write; name: a file's, '-': stdout, as by default.
function dump.on(options, name)
   local letters = parsed(options)
   dump.off()
   wanted = letters
   own_file = name ~= nil and name ~= '-'
   output = own_file and assert(open(name, letters.a and 'a' or 'w')) or io.stdout
   attach(on_trace, 'trace')
   if wanted.b then attach(on_record, 'record') end
   if wanted.x or wanted.X then attach(on_exit, 'texit') end
end
dump.start = dump.on

return dump
