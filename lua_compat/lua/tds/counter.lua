-- Counters that several threads of a script share. Returns their metatable, and a function that makes one.
local attached = require 'torch.core.attached'
local class = require 'torch.core.class'
local serialization = require 'torch.io.serialization'
local heap = require 'tds.heap'
local shared = require 'tds.shared'

local prototype = newproxy(true)
local metatable = debug.getmetatable(prototype)
-- By counter: its `value` or, once threads share it, a heap whose header has it as `length`.
local records, attach = attached.kind()

local function new()
   local counter = newproxy(prototype)
   attach(counter, { value = 0 })
   return counter
end

class.metatype('tds.AtomicCounter', metatable)
metatable.__factory, metatable.__version = new, 0

local methods = {}
function metatable.__index(_, name) return methods[name] or error('no such method', 2) end

-- Adds 1 and returns the previous value.
function methods:inc()
   local r = records[self]
   local header = r.header
   if header then
      heap.lock(r)
      local before = header.length
      header.length = before + 1
      heap.unlock(r)
      return before
   end
   local before = r.value
   r.value = before + 1
   return before
end

function methods:get()
   local r = records[self]
   if not r.header then return r.value end
   heap.forget_reads()
   return r.header.length
end

function methods:set(value)
   if type(value) ~= 'number' then error('number expected, got ' .. type(value), 2) end
   local r = records[self]
   if r.header then r.header.length = value else r.value = value end
end

function metatable.__tostring(self) return 'tds.AtomicCounter=' .. self:get() end

-- Threads that share tensors share the counter; everywhere else the value is written.
function metatable.__write(self, file)
   if not serialization.are_elements_shared(file) then return file:writeLong(self:get()) end
   local r = records[self]
   if not r.header then
      shared.allocate(self, r, 0)
      r.header.length = r.value
   end
   shared.write(r.number, file)
end

function metatable.__read(self, file)
   if serialization.are_elements_shared(file) then
      attach(self, shared.read(self, records, file))
   else
      self:set(file:readLong())
   end
end

return { metatable = metatable, new = new }
