-- Like threads.serialize, but the elements of tensors and storages are the same memory in both Lua states. Such a
-- storage can no longer grow in either of them. The result of save can be loaded only once.
local memory = require 'torch.core.memory'
local serialization = require 'torch.io.serialization'
local python = require('th.python').functions
require 'tds' -- its objects can be sent to a thread that did not load it

local storages = {}

-- The number of what is lent; negative if it was lent before.
function storages.write(file, S)
   local number, again = memory.lend(S)
   file:writeLong(again and -number or number)
end

function storages.read(file, S, n)
   local number = file:readLong()
   local handle, address, base, count = python.borrow(math.abs(number), S.T.code)
   if count ~= n then error('threads: a shared storage has another size than its message says', 0) end
   memory.adopt(S, handle, address, base, n, number < 0)
end

return require('threads.serializer')(function(file) serialization.elements_by(file, storages) end)
