-- Threads, each with its own Lua state, and pools of threads that run jobs. threads.points: mutexes and conditions;
-- threads.threads: pools; threads.worker: the loop of a pool's thread.
local points = require 'threads.points'

local threads = {
   Thread = require 'threads.thread',
   Mutex = points.Mutex,
   Condition = points.Condition,
   Threads = require 'threads.threads',
   safe = require 'threads.safe',
}

-- In old scripts the package itself is the class of pools.
return setmetatable(threads, {
   __index = threads.Threads,
   __newindex = threads.Threads,
   __call = function(_, ...) return threads.Threads.new(...) end,
})
