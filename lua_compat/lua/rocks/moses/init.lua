-- The package moses, version 1.6.1: functions of tables, arrays, functions and objects, which also work as methods of a
-- wrapped value: moses(t):map(f):value().
local FOLDER = ...
local functions = {}
for _, part in ipairs{ 'objects', 'tables', 'arrays', 'utilities' } do
   for name, f in pairs(require(FOLDER .. '.' .. part)) do functions[name] = f end
end

-- Functions and their aliases.
for name, others in pairs{
   each = 'forEach', eachi = 'forEachi', cycle = 'loop', map = 'collect', reduce = 'inject foldl',
   reduceRight = 'injectr foldr', mapReduce = 'mapr', mapReduceRight = 'maprr', include = 'any some contains',
   select = 'filter', reject = 'discard', all = 'every',
   selectWhile = 'takeWhile', dropWhile = 'rejectWhile', pop = 'shift', pull = 'remove', removeRange = 'rmRange chop',
   slice = 'sub', first = 'head take', rest = 'tail', last = 'skip', difference = 'without diff',
   symmetricDifference = 'symdiff xor', unique = 'uniq', isunique = 'isuniq', zip = 'transpose', partition = 'part',
   permutation = 'perm', invert = 'mirror', concat = 'join',
   memoize = 'cache', juxtapose = 'juxt', uniqueId = 'uid', iterator = 'iter',
   functions = 'methods', pick = 'choose', omit = 'drop', template = 'defaults', isEqual = 'compare',
} do
   for other in others:gmatch('%S+') do functions[other] = functions[name] end
end

-- Without an object, the names of Moses' own functions.
local functions_of = functions.functions
function functions.functions(obj, recurseMt) return functions_of(obj or functions, recurseMt) end
functions.methods = functions.functions

local moses = {
   _VERSION = 'Moses v1.6.1', _URL = 'http://github.com/Yonaba/Moses',
   _LICENSE = 'MIT <http://raw.githubusercontent.com/Yonaba/Moses/master/LICENSE>',
   _DESCRIPTION = 'utility-belt library for functional programming in Lua',
}
local methods = {}
moses.__index = methods

local function wrapped(value) return setmetatable({ _value = value, _wrapped = true }, moses) end

setmetatable(moses, {
   __call = function(_, value) return wrapped(value) end,
   __index = function(_, name) return methods[name] end,
})

-- As a method of a wrapped value, a function returns its first result wrapped.
for name, f in pairs(functions) do
   methods[name] = function(value, ...)
      if type(value) == 'table' and value._wrapped then return wrapped((f(value._value, ...))) end
      return f(value, ...)
   end
end

function moses.chain(value) return wrapped(value) end
function moses:value() return self._value end
methods.chain, methods.value = moses.chain, moses.value

function methods.import(context, noConflict)
   context = context or _G
   for _, name in ipairs(functions.functions()) do
      if not (noConflict and rawget(context, name)) then context[name] = functions[name] end
   end
   return context
end

return moses
