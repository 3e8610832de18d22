-- Calls a metamethod that is not a function: an object with __call. Otherwise raises LuaJIT's error, without a
-- position.
local metatable_of, rawget, error, type = debug.getmetatable, rawget, error, type

return function(method, ...)
   local metatable = metatable_of(method)
   if metatable and rawget(metatable, '__call') ~= nil then return method(...) end
   return error(('attempt to call a %s value'):format(type(method)), 0)
end
