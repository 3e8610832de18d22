-- threads.safe(f [, mutex]): calls f under a mutex in whichever thread it is called, including threads that f was sent
-- to.
local points = require 'threads.points'

return function(f, mutex)
   if type(f) ~= 'function' then error('threads.safe: function expected, got ' .. type(f), 2) end
   local id = (mutex or points.Mutex()):id()
   -- sent to other threads: only f and a number
   return function(...) return require('threads.locked')(id, f, ...) end
end
