-- Moses' functions for functions.
local FOLDER = (...):gsub('[^.]+$', '')
local arrays, tables = require(FOLDER .. 'arrays'), require(FOLDER .. 'tables')
local append, reverse = arrays.append, tables.reverse
local M = {}

function M.noop() end

function M.constant(value)
   return function() return value end
end

-- Cached results may be dropped by the garbage collector.
function M.memoize(f, hash)
   local results = setmetatable({}, { __mode = 'kv' })
   return function(...)
      local key = ...
      if hash then key = hash(...) end
      if not results[key] then results[key] = f(...) end
      return results[key]
   end
end

-- From the count-th call on, f receives the arguments of that call.
function M.before(f, count)
   local calls, arguments = 0, {}
   return function(...)
      calls = calls + 1
      if calls <= count then arguments = { ... } end
      return f(unpack(arguments))
   end
end

function M.once(f) return M.before(f, 1) end

function M.after(f, count)
   local calls = 0
   return function(...)
      calls = calls + 1
      if calls >= count then return f(...) end
   end
end

function M.compose(...)
   local steps = reverse{ ... }
   return function(...)
      local result
      for place, f in ipairs(steps) do
         if place == 1 then result = f(...) else result = f(result) end
      end
      return result
   end
end

function M.pipe(value, ...) return M.compose(...)(value) end

function M.complement(f)
   return function(...) return not f(...) end
end

function M.juxtapose(value, ...)
   local results = {}
   for _, f in pairs{ ... } do results[#results + 1] = f(value) end
   return unpack(results)
end

function M.wrap(f, wrapper) return M.bind(wrapper, f) end

function M.times(n, iter, ...)
   local results = {}
   for k = 1, n do results[k] = iter(k, ...) end
   return results
end

function M.bind(f, v)
   return function(...) return f(v, ...) end
end

function M.bind2(f, v)
   return function(t, ...) return f(t, v, ...) end
end

function M.bindn(f, ...)
   local first = { ... }
   return function(...) return f(unpack(append(first, { ... }))) end
end

function M.bindAll(obj, ...)
   for _, name in ipairs{ ... } do
      if obj[name] then obj[name] = M.bind(obj[name], obj) end
   end
   return obj
end

local last_id = -1

function M.uniqueId(template, ...)
   last_id = last_id + 1
   if type(template) == 'string' then return template:format(last_id) end
   if type(template) == 'function' then return template(last_id, ...) end
   return last_id
end

function M.iterator(f, x)
   return function()
      x = f(x)
      return x
   end
end

function M.array(...)
   local values = {}
   for value in ... do values[#values + 1] = value end
   return values
end

function M.flip(f)
   return function(...) return f(unpack(reverse{ ... })) end
end

function M.over(...)
   local transforms = { ... }
   return function(...)
      local results = {}
      for _, transform in ipairs(transforms) do results[#results + 1] = transform(...) end
      return results
   end
end

local function over_all(join)
   return function(...)
      local results_of = M.over(...)
      return function(...) return tables.reduce(results_of(...), join) end
   end
end
M.overEvery = over_all(function(state, value) return state and value end)
M.overSome = over_all(function(state, value) return state or value end)

function M.overArgs(f, ...)
   local transforms = { ... }
   return function(...)
      local arguments = { ... }
      for place = 1, #transforms do
         if arguments[place] then arguments[place] = transforms[place](arguments[place]) end
      end
      return f(unpack(arguments))
   end
end

-- The given arguments with '_' replaced by later ones; those used are removed from `later`.
local function filled(given, later)
   local arguments = {}
   for place, value in ipairs(given) do
      arguments[place] = value == '_' and arrays.pop(later) or value
   end
   return arguments
end

function M.partial(f, ...)
   local given = { ... }
   return function(...)
      local later = { ... }
      local arguments = filled(given, later)
      return f(unpack(append(arguments, later)))
   end
end

function M.partialRight(f, ...)
   local given = { ... }
   return function(...)
      local later = { ... }
      local arguments = filled(given, later)
      return f(unpack(append(later, arguments)))
   end
end

function M.curry(f, n_args)
   n_args = n_args or 2
   local arguments = {}
   local function curried(v)
      if n_args == 1 then return f(v) end
      if v ~= nil then arguments[#arguments + 1] = v end
      if #arguments < n_args then return curried end
      local results = { f(unpack(arguments)) }
      arguments = {} -- if f raises an error, its arguments are kept
      return unpack(results)
   end
   return curried
end

local function timed(start, ...) return os.clock() - start, ... end

function M.time(f, ...) return timed(os.clock(), f(...)) end

return M
