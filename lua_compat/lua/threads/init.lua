-- Threads with a Lua state each, and pools of them that do jobs.
-- threads.points: mutexes and conditions; threads.threads: pools; threads.worker: what a thread of a pool does.
local points = require 'threads.points'

local threads = {
   Thread = require 'threads.thread',
   Mutex = points.Mutex,
   Condition = points.Condition,
   Threads = require 'threads.threads',
   safe = require 'threads.safe',
}

-- In old scripts the package is the class of pools itself.
return setmetatable(threads, {
   __index = threads.Threads,
   __newindex = threads.Threads,
   __call = function(_, ...) return threads.Threads.new(...) end,
})
