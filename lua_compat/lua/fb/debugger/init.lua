-- The module fb.debugger (of fblualib): enter() stops a script and opens Lua's own prompt (debug.debug), which runs
-- lines of Lua until `cont`.
local debugger = {}

function debugger.enter()
   local place = debug.getinfo(2, 'Sl')
   io.stderr:write(('stopped in %s:%d; lines of Lua are run until: cont\n'):format(place.short_src, place.currentline))
   debug.debug()
end

-- Calls f(...), and stops where it fails.
function debugger.call(f, ...)
   return xpcall(f, function(problem)
      io.stderr:write(debug.traceback(tostring(problem), 2), '\n')
      debugger.enter()
      return problem
   end, ...)
end

return debugger
