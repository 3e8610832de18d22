-- Compiles expressions to Lua functions.
local Expression = require 'pl.func.Expression'
local utils = require 'pl.utils'
local is_expression = Expression.is

local compiler = {}

local names = {}
function compiler.set_name(f, name) names[f] = name end
function compiler.name_of(f) return names[f] end

-- Operator precedence. An operand with lower precedence is put in parentheses; with equal precedence, the one on the
-- side that Lua would not evaluate first.
local BINDS = { ['or'] = 0, ['and'] = 2, ['=='] = 4, ['~='] = 4, ['<'] = 4, ['>'] = 4, ['<='] = 4, ['>='] = 4,
   ['..'] = 6, ['+'] = 8, ['-'] = 8, ['*'] = 10, ['/'] = 10, ['%'] = 10, ['not'] = 12, ['#'] = 12, unm = 12,
   ['^'] = 14 }
local FROM_THE_RIGHT = { ['..'] = true, ['^'] = true }

-- The Lua source of a value; outer: the precedence of the operator around it.
function compiler.text(value, outer)
   if type(value) == 'string' then return '"' .. value .. '"' end
   if type(value) == 'function' then return names[value] or tostring(value) end
   if not is_expression(value) then return tostring(value) end
   local op, binds = value.op, BINDS[value.op]
   if op == 'X' then return tostring(value.repr) end
   local operands = {}
   local first = FROM_THE_RIGHT[op] and 1 or 2 -- the operand that needs parentheses at equal precedence
   for i = 1, #value do
      operands[i] = compiler.text(value[i], binds and #value > 1 and i == first and binds + 1 or binds)
   end
   if op == '[]' then return operands[1] .. '[' .. operands[2] .. ']' end
   if op == '()' then
      local f = table.remove(operands, 1) or ''
      return f .. '(' .. table.concat(operands, ',') .. ')'
   end
   local text
   if #operands == 1 then
      text = (op == 'unm' and '-' or op) .. ' ' .. operands[1]
   else
      text = table.concat(operands, ' ' .. op .. ' ')
   end
   return outer and outer > binds and '(' .. text .. ')' or text
end

-- Appends the values in an expression, which become the constants _C1, _C2 ..., to a list. Returns the number of the
-- expression's arguments.
function compiler.collect_values(expression, values)
   if not is_expression(expression) then return 0 end
   if expression.op == 'X' then return expression.index end
   local most = 0
   for i = 1, #expression do
      local operand = expression[i]
      local wrapped = is_expression(operand) and operand.op == 'X' and operand.index == 'wrap'
      if is_expression(operand) and not wrapped then
         most = math.max(most, compiler.collect_values(operand, values))
      else
         if wrapped then operand = operand.repr end
         values[#values + 1] = operand
         expression[i] = Expression.placeholder('_C' .. #values, #values)
      end
   end
   return most
end

local function numbered(prefix, n)
   local list = {}
   for i = 1, n do list[i] = prefix .. i end
   return table.concat(list, ',')
end

local SOURCE = 'return function(%s) return function(%s) return %s end end'

function compiler.instantiate(expression)
   local values = {}
   local n = compiler.collect_values(expression, values)
   local source = SOURCE:format(numbered('_C', #values), numbered('_', n), compiler.text(expression))
   local chunk, problem = utils.load(source, 'fun')
   if not chunk then return nil, problem end
   local f = chunk()(unpack(values))
   rawset(expression, '__PE_function', f)
   return f
end

-- The function of an expression, compiled once.
function compiler.as_function(expression)
   return rawget(expression, '__PE_function') or compiler.instantiate(expression)
end

function compiler.bind(f, ...)
   local given, values, holders, last, takes_rest = utils.pack(...), {}, {}, 0, false
   for i = 1, given.n do
      local value = given[i]
      if is_expression(value) and value.op == 'X' then
         holders[i] = value.repr
         last = math.max(last, value.index)
         takes_rest = takes_rest or value.index == 0
      else
         values.n = (values.n or 0) + 1
         values[values.n] = value
         holders[i] = '_v' .. values.n
      end
   end
   local n = values.n or 0
   local outer = n > 0 and 'fn,' .. numbered('_v', n) or 'fn'
   local inner = numbered('_', last)
   if takes_rest then inner = inner == '' and '...' or inner .. ',...' end
   local source = SOURCE:format(outer, inner, 'fn(' .. table.concat(holders, ',') .. ')')
   return utils.load(source)()(f, unpack(values, 1, n))
end

return compiler
