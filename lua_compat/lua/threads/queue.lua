-- threads.queue: a bounded queue of jobs, which any thread may add or run.
local points = require 'threads.points'
local messages = require 'threads.messages'
local python = require('th.python').functions

-- Queue(size [, name of the serialization]), or Queue(id) for a queue that another thread has made.
local Queue, metatable = points.shared_class('Queue', function(size, serialization)
   if type(size) ~= 'number' or size < 1 then error('threads.queue: a size above 0 expected', 4) end
   return python.threads_new('Queue', size, serialization or 'threads.serialize')
end)

local function number(self) return points.number(self, 'Queue', metatable) end

local function serializer(self) return require(python.queue_label(number(self))) end

-- Waits while the queue is full.
function Queue:addjob(callback, ...)
   if type(callback) ~= 'function' then error('function expected, got ' .. type(callback), 2) end
   messages.put(number(self), 0, serializer(self).save{ callback, select('#', ...), ... })
end

-- Waits for a job, runs it, and returns its results.
function Queue:dojob()
   local _, bytes = messages.take(number(self))
   local job = serializer(self).load(bytes)
   return job[1](unpack(job, 3, 2 + job[2]))
end

-- Values that are read as fields.
local fields = {
   size = function(self) return python.queue_size(number(self)) end,
   isempty = function(self) return python.queue_length(number(self)) == 0 and 1 or 0 end,
   isfull = function(self) return python.queue_length(number(self)) >= python.queue_size(number(self)) and 1 or 0 end,
   serialize = function(self) return python.queue_label(number(self)) end,
}
function metatable.__index(self, key)
   local field = fields[key]
   if field then return field(self) end
   return Queue[key]
end

return Queue
