-- pl.comprehension: lists as expressions: C 'x^2 for x' {1, 2, 3}.
local parse = require 'pl.comprehension.parser'
local utils = require 'pl.utils'

-- The initial result of each operation, and how values are added to it.
local OPERATIONS = {
   list = { '{}', '__result[#__result + 1] = (%s)' },
   table = { '{}', 'local __k, __v = %s __result[__k] = __v' },
   sum = { '0', '__result = __result + (%s)' },
   min = { 'nil', 'local __new = %s if not __result or __new < __result then __result = __new end' },
   max = { 'nil', 'local __new = %s if not __result or __new > __result then __result = __new end' },
}

local function source_of(parsed)
   local operation = assert(OPERATIONS[parsed.operation])
   local code = operation[2]:gsub('%%s', (parsed.output:gsub('%%', '%%%%')))
   for i = #parsed.conditions, 1, -1 do code = ('if %s then %s end'):format(parsed.conditions[i], code) end
   local inputs = {}
   for i = #parsed.loops, 1, -1 do
      local loop = parsed.loops[i]
      if loop.kind then
         code = ('for %s %s %s do %s end'):format(table.concat(loop.names, ', '), loop.kind,
            table.concat(loop.values, ', '), code)
      else
         code = ('for __i%d = 1, #__in%d do local %s = __in%d[__i%d] %s end'):format(i, i, loop.names[1], i, i, code)
         table.insert(inputs, 1, '__in' .. i)
      end
   end
   local arguments = {}
   for i = 1, parsed.parameters do arguments[i] = '_' .. i end
   for _, input in ipairs(inputs) do arguments[#arguments + 1] = input end
   local head = #arguments > 0 and 'local ' .. table.concat(arguments, ', ') .. ' = ... ' or ''
   return ('%slocal __result = %s %s return __result'):format(head, operation[1], code)
end

local function compile(expression, environment)
   local source = source_of(parse(expression))
   local f, problem = utils.load(source, 'tmp', 't', environment)
   if not f then error(problem .. ' with generated code ' .. source, 0) end
   return f
end

local comprehension = {}

-- Returns an object that turns comprehensions into functions; their names are looked up in `environment`.
function comprehension.new(environment)
   environment = environment or utils.getfenv(2)
   local function make(self, expression)
      local f = rawget(self, expression) or compile(expression, environment)
      rawset(self, expression, f)
      return f
   end
   return setmetatable({ new = comprehension.new }, { __index = make, __call = make })
end

return comprehension
