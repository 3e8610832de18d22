-- Calls f(...) with a mutex locked and returns its results; an error also unlocks it.
local python = require('th.python').functions

local function unlock(id, ok, ...)
   python.mutex_unlock(id)
   if not ok then error(..., 0) end
   return ...
end

return function(id, f, ...)
   python.mutex_lock(id)
   return unlock(id, pcall(f, ...))
end
