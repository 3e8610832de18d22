-- threads.safe(f [, mutex]): f under a mutex, whichever thread calls it, including threads that f was sent to.
local points = require 'threads.points'

return function(f, mutex)
   if type(f) ~= 'function' then error('threads.safe: function expected, got ' .. type(f), 2) end
   local id = (mutex or points.Mutex()):id()
   -- what is sent to other threads: f and a number
   return function(...) return require('threads.locked')(id, f, ...) end
end
