-- pl.func: placeholder expressions as functions: _1 + 2*_2 is a function of two arguments.
local Expression = require 'pl.func.Expression'
local compiler = require 'pl.func.compiler'
local utils = require 'pl.utils'
local assert_arg = utils.assert_arg

local func = { PE = Expression.new, isPE = Expression.is, repr = compiler.text, instantiate = compiler.instantiate,
   collect_values = compiler.collect_values, I = compiler.as_function, bind1 = utils.bind1, curry = utils.bind1,
   lookup_imported_name = compiler.name_of }

for i = 1, 5 do func['_' .. i] = Expression.placeholder('_' .. i, i) end
func._0 = Expression.placeholder('...', 0)

-- Variables by name: Var 'x,y' gives two.
function func.Var(names)
   local variables = {}
   for i, name in ipairs(utils.split(names, '[%s,]+')) do variables[i] = Expression.placeholder(name, 0) end
   return unpack(variables)
end

-- Wraps any value as an expression.
func._ = Expression.wrap
func.Nil = func.Var('nil')

function func.Not(a) return Expression.new{ op = 'not', a } end
function func.Len(a) return Expression.new{ op = '#', a } end
for name, op in pairs{ And = 'and', Or = 'or', Eq = '==', Lt = '<', Gt = '>', Le = '<=', Ge = '>=' } do
   func[name] = function(a, b) return Expression.new{ op = op, a, b } end
end

local function deferred(f)
   return function(...) return Expression.new{ op = '()', f, ... } end
end

local function names_table(name) return type(_G[name]) == 'table' end

-- Turns the functions of a global table (given by name) into functions of placeholders, in `into` or the globals.
function func.import(name, into)
   assert_arg(1, name, 'string', names_table, 'arg# 1: not a name of a global table')
   for key, f in pairs(_G[name]) do
      rawset(into or _G, key, deferred(f))
      compiler.set_name(f, key)
   end
end

function func.register(f, name)
   assert_arg(1, f, 'function')
   if name then
      assert_arg(2, name, 'string')
      compiler.set_name(f, name)
   end
   return deferred(f)
end

local function arguments(...) return ... end
function func.Args(...) return Expression.new{ op = '()', arguments, ... } end

function func.tail(t)
   assert_arg(1, t, 'table')
   local rest = {}
   for i = 2, #t do rest[#rest + 1] = t[i] end
   return rest
end

-- compose(f, g)(...) is f(g(...)), for any number of functions.
function func.compose(...)
   local functions = { ... }
   local n = #functions
   local function call(i, ...)
      if i == 0 then return ... end
      return call(i - 1, functions[i](...))
   end
   return function(...) return call(n, ...) end
end

-- Binds arguments of a function; placeholders remain open.
func.bind = compiler.bind

utils.add_function_factory(Expression.metatable, func.I)

return func
