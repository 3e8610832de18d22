-- jit.v: prints one line for each trace that LuaJIT compiles or aborts, in LuaJIT's own format. The reason for an abort
-- is a number; its text belongs to LuaJIT's build (jit.vmdef's traceerr).
local util = require 'jit.util'
local format = string.format

local verbose = {}
local begun, parent = '?', ''

-- The names of Lua's own functions, which have no position.
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

-- A function's position in the source, or its name.
local function position_of(f, position)
   local info = util.funcinfo(f, position or 0)
   if info.loc then return info.loc end
   local name = library_name(f)
   if name then return name end
   if info.ffid then return format('[builtin#%d]', info.ffid) end
   return info.addr and format('C:%x', info.addr) or '(?)'
end

-- How a finished trace continues.
local function link_of(trace)
   local info = util.traceinfo(trace)
   if info.linktype == 'interpreter' then return '-- fallback to interpreter' end
   if info.link == trace or info.link == 0 then return info.linktype end
   if info.linktype == 'root' then return ('-> %d'):format(info.link) end
   return ('-> %d %s'):format(info.link, info.linktype)
end

local function reason_of(code, detail)
   if type(code) ~= 'number' then return tostring(code) end
   if type(detail) == 'function' then detail = position_of(detail) end
   return ('reason %d%s'):format(code, detail ~= nil and (' (%s)'):format(tostring(detail)) or '')
end

local function on_trace(output, what, trace, f, position, other, detail)
   if what == 'start' then
      begun = position_of(f, position)
      parent = other and ('(%s/%s) '):format(other, detail == -1 and 'stitch' or detail) or ''
   elseif what == 'stop' then
      output:write(('[TRACE %3d %s%s %s]\n'):format(trace, parent, begun, link_of(trace)))
   elseif what == 'abort' then
      local ended = position_of(f, position)
      output:write(('[TRACE --- %s%s -- %s%s]\n'):format(parent, begun, reason_of(other, detail),
         ended == begun and '' or ' at ' .. ended))
   elseif what == 'flush' then
      output:write('[TRACE flush]\n')
   end
   output:flush()
end

verbose.on, verbose.off = require('jit.listing')('trace', on_trace)
verbose.start = verbose.on

return verbose
