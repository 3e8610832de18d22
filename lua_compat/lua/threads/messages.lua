-- Messages in the queues that all threads of a script share: serialized objects, each a CharStorage. The memory of a
-- large one is handed over; the bytes of others are copied.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local storage = require 'torch.tensor.storage'
local blocks = require 'torch.core.blocks'
local shortened = require 'th.traces'
local python = require('th.python').functions

local messages = {}

local MOST_COPIED = 2 ^ 16 -- bytes; larger messages are handed over

-- tag: a number sent with the message.
function messages.put(queue, tag, bytes)
   local S = storage.check(bytes, 1, types.Char)
   if S.n > MOST_COPIED then
      python.queue_put(queue, tag, (memory.lend(S)))
   else
      python.queue_put_copy(queue, tag, S.n > 0 and blocks.address_of(S.p) or 0, S.n)
   end
end

-- The oldest message's tag and bytes; nothing if the queue is closed.
function messages.take(queue)
   local tag, handle, address, base, n = python.queue_take(queue)
   if tag == nil then return end
   if type(handle) == 'string' then
      local bytes, S = memory.new_storage(types.Char, #handle)
      if #handle > 0 then ffi.copy(S.p, handle, #handle) end
      return tag, bytes
   end
   local bytes, S = memory.new_storage(types.Char, 0)
   memory.adopt(S, handle, address, base, n)
   return tag, bytes
end

-- An error handler: the error as text with a traceback.
function messages.with_traceback(problem)
   local text = debug.traceback(tostring(problem), 2)
   local ok, short = pcall(shortened, text)
   return ok and short or text
end

return messages
