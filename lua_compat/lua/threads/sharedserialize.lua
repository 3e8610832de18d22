-- Like threads.serialize, but the elements of tensors and storages are the same memory in both Lua states. Such a
-- storage can no longer grow in either of them. The result of save can be loaded only once.
local memory = require 'torch.core.memory'
local serialization = require 'torch.io.serialization'
local python = require('th.python').functions
require 'tds' -- its objects can be sent to a thread that did not load it

local storages = {}

function storages.write(file, S)
   local number, base = memory.lend(S)
   file:writeLong(number)
   file:writeLong(base)
end

function storages.read(file, S, n)
   local number, base = file:readLong(), file:readLong()
   local handle, address = python.borrow(number)
   memory.adopt(S, handle, address, base, n)
end

return require('threads.serializer')(function(file) serialization.elements_by(file, storages) end)
