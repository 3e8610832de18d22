-- What Penlight accepts as a function: a function, an operator as text, a lambda as text, a callable object.
local checks = require 'pl.utils.checks'
local raise = checks.raise

local functions = {}

function functions.memoize(f)
   local known = {}
   return function(key)
      local result = known[key]
      if result == nil then
         result = f(key)
         known[key] = result
      end
      return result
   end
end

-- By metatable: converts an object to a function.
local factories = {}
function functions.add_function_factory(metatable, factory) factories[metatable] = factory end

-- '|x,y| x + y', or an expression of _.
local function lambda(text)
   local arguments, body
   if text:find('_') then
      arguments, body = '_', text
   elseif text:find('^|') then
      arguments, body = text:match('|([^|]*)|(.+)')
      if not arguments then return raise('bad string lambda') end
   else
      return raise('not a string lambda')
   end
   local chunk, problem = loadstring('return function(' .. arguments .. ') return ' .. body .. ' end')
   if not chunk then return raise(problem) end
   return chunk()
end
functions.string_lambda = functions.memoize(lambda)

local function of_text(text)
   local operator = require('pl.operator').optable[text]
   if operator then return operator end
   return functions.string_lambda(text)
end

function functions.function_arg(index, f, message)
   checks.assert_arg(1, index, 'number')
   local kind = type(f)
   if kind == 'function' then return f end
   if kind == 'string' then
      local found, err = of_text(f)
      if not found then error(err .. ': ' .. f) end
      return found
   end
   if kind == 'table' or kind == 'userdata' then
      local metatable = getmetatable(f)
      if not metatable then error('not a callable object', 2) end
      local factory = factories[metatable]
      if factory then return factory(f) end
      if not metatable.__call then error('not a callable object', 2) end
      return f
   end
   message = message or ' must be callable'
   if index > 0 then error('argument ' .. index .. ': ' .. message, 2) end
   error(message, 2)
end

function functions.bind1(f, value)
   f = functions.function_arg(1, f)
   return function(...) return f(value, ...) end
end

function functions.bind2(f, value)
   f = functions.function_arg(1, f)
   return function(first, ...) return f(first, value, ...) end
end

return functions
