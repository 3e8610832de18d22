-- threads.Thread(code): a thread with its own Lua state that runs Lua source. free() waits until it ends.
local points = require 'threads.points'
local shared = require 'th.python'
local python = shared.functions

local Thread = points.class('Thread', function(code)
   if type(code) ~= 'string' then error('threads.Thread: Lua source expected, got ' .. type(code), 3) end
   return python.thread_start(code, shared.threads)
end)

function Thread:free() python.thread_join(self:id()) end

return Thread
