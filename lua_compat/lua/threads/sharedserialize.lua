-- Like threads.serialize, but the elements of tensors and storages are the same memory in both Lua states. Such a
-- storage can no longer grow in either of them. The result of save can be loaded only once.
local memory = require 'torch.core.memory'
local serialization = require 'torch.io.serialization'
local python = require('th.python').functions
require 'tds' -- its objects can be sent to a thread that did not load it

local storages = {}

function storages.write(file, S) file:writeLong(memory.lend(S)) end

function storages.read(file, S, n)
   local handle, address, base, count = python.borrow(file:readLong(), S.T.code)
   if count ~= n then error('threads: a shared storage has another size than its message says', 0) end
   memory.adopt(S, handle, address, base, n)
end

return require('threads.serializer')(function(file) serialization.elements_by(file, storages) end)
