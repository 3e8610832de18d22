-- Mutexes and condition variables. All threads of a script refer to one by the same number, its id.
local python = require('th.python').functions

local numbers = setmetatable({}, { __mode = 'k' })

local points = {}

-- A class of userdata that represent numbers; new(...) returns the number of a new one.
function points.class(name, new)
   local proto = newproxy(true)
   local metatable = debug.getmetatable(proto)
   local class = {}
   metatable.__index = class
   function metatable.__tostring(self) return ('threads.%s <%x>'):format(name, numbers[self]) end

   function class.new(...)
      local self = newproxy(proto)
      numbers[self] = new(...)
      return self
   end

   function class:id() return points.number(self, name, metatable) end
   return setmetatable(class, { __call = function(_, ...) return class.new(...) end }), metatable
end

function points.number(object, name, metatable)
   if type(object) ~= 'userdata' or debug.getmetatable(object) ~= metatable then
      error(('threads.%s expected, got %s'):format(name, type(object)), 3)
   end
   return numbers[object]
end

-- A class of that kind whose new(id) finds the object that another thread has made.
function points.shared_class(name, make)
   local class, metatable = points.class(name, function(...)
      local id = points.existing(...)
      if not id then return make(...) end
      python.threads_retain(name, id)
      return id
   end)

   function class:retain() python.threads_retain(name, points.number(self, name, metatable)) end
   function class:free() python.threads_free(name, points.number(self, name, metatable)) end
   return class, metatable
end

-- Returns the number if new(number) refers to an existing object; ids are larger than any size of a queue.
function points.existing(first, second)
   if type(first) == 'number' and second == nil and first >= python.threads_first() then return first end
end

local function without_size(name)
   return function(id)
      if id ~= nil then error(('threads.%s: no such id: %s'):format(name, tostring(id)), 4) end
      return python.threads_new(name)
   end
end

local Mutex, mutex_metatable = points.shared_class('Mutex', without_size('Mutex'))
points.Mutex = Mutex

function Mutex:lock() python.mutex_lock(points.number(self, 'Mutex', mutex_metatable)) end
function Mutex:unlock() python.mutex_unlock(points.number(self, 'Mutex', mutex_metatable)) end

local Condition, condition_metatable = points.shared_class('Condition', without_size('Condition'))
points.Condition = Condition

-- Unlocks the mutex while waiting for a signal.
function Condition:wait(mutex)
   local id = points.number(self, 'Condition', condition_metatable)
   python.condition_wait(id, points.number(mutex, 'Mutex', mutex_metatable))
end
function Condition:signal() python.condition_signal(points.number(self, 'Condition', condition_metatable)) end

return points
