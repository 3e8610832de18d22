-- jit.v: one line for each trace that LuaJIT compiles or gives up, in LuaJIT's own form. Why it gave one up is a
-- number: the words for it belong to LuaJIT's build (jit.vmdef's traceerr).
local util = require 'jit.util'
local place_of = require('jit.ir').place_of

local verbose = {}
local begun, parent = '?', ''

-- How a finished trace goes on.
local function link_of(trace)
   local info = util.traceinfo(trace)
   if info.linktype == 'interpreter' then return '-- fallback to interpreter' end
   if info.link == trace or info.link == 0 then return info.linktype end
   if info.linktype == 'root' then return ('-> %d'):format(info.link) end
   return ('-> %d %s'):format(info.link, info.linktype)
end

local function reason_of(code, detail)
   if type(code) ~= 'number' then return tostring(code) end
   if type(detail) == 'function' then detail = place_of(detail) end
   return ('reason %d%s'):format(code, detail ~= nil and (' (%s)'):format(tostring(detail)) or '')
end

local function on_trace(output, what, trace, f, place, other, detail)
   if what == 'start' then
      begun = place_of(f, place)
      parent = other and ('(%s/%s) '):format(other, detail == -1 and 'stitch' or detail) or ''
   elseif what == 'stop' then
      output:write(('[TRACE %3d %s%s %s]\n'):format(trace, parent, begun, link_of(trace)))
   elseif what == 'abort' then
      local ended = place_of(f, place)
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
