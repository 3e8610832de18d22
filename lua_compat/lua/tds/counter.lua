-- Counters that several threads of a script share. Returns their metatable, and a function that makes one.
local kernel = require('torch.core.kernels').of_tensors
local class = require 'torch.core.class'
local serialization = require 'torch.io.serialization'

local prototype = newproxy(true)
local metatable = debug.getmetatable(prototype)
local cells = setmetatable({}, { __mode = 'k' }) -- by counter: a tensor of one element, which threads share

local function new()
   local counter = newproxy(prototype)
   cells[counter] = torch.LongTensor{ 0 }
   return counter
end

class.metatype('tds.AtomicCounter', metatable)
metatable.__factory, metatable.__version = new, 0

local methods = {}
function metatable.__index(_, name) return methods[name] or error('no such method', 2) end

-- Adds 1 and returns the previous value.
function methods:inc() return kernel.add_atomically(cells[self], 1) end
-- Not cells[self][1]: in a loop that waits for another thread, LuaJIT would read it only once.
function methods:get() return kernel.add_atomically(cells[self], 0) end
function methods:set(value) cells[self][1] = value end

function metatable.__tostring(self) return 'tds.AtomicCounter=' .. cells[self][1] end

-- Threads that share tensors share the cell; everywhere else the value is written.
function metatable.__write(self, file)
   if serialization.are_elements_shared(file) then
      file:writeObject(cells[self])
   else
      file:writeLong(cells[self][1])
   end
end
function metatable.__read(self, file)
   if serialization.are_elements_shared(file) then
      cells[self] = file:readObject()
   else
      cells[self][1] = file:readLong()
   end
end

return { metatable = metatable, new = new }
