-- Serialized objects in the queues that all threads of a script share. Each is a CharStorage whose memory is handed
-- over, not copied.
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local storage = require 'torch.tensor.storage'
local python = require('th.python').functions

local messages = {}

-- tag: a number sent along with it.
function messages.put(queue, tag, bytes)
   python.queue_put(queue, tag, memory.pin(storage.check(bytes, 1, types.Char)))
end

-- The oldest message's tag and bytes; nothing once the queue is closed.
function messages.take(queue)
   local tag, handle, address, base, n = python.queue_take(queue)
   if tag == nil then return end
   local bytes, S = memory.new_storage(types.Char, 0)
   memory.adopt(S, handle, address, base, n)
   return tag, bytes
end

-- For a protected call: the error as text with a traceback, without what lies below the job.
function messages.with_traceback(problem)
   return (debug.traceback(tostring(problem), 2):gsub("\n\t%[C%]: in function 'raw_xpcall'.*$", ''))
end

return messages
