-- Expressions: the operator is op, the operands are the list. Placeholders have op 'X', a text (repr) and the number of
-- the argument (index; 0: a named variable).
local Expression = { metatable = {} }
local metatable = Expression.metatable

function Expression.new(t) return setmetatable(t, metatable) end
function Expression.is(value) return getmetatable(value) == metatable end
function Expression.placeholder(text, index) return Expression.new{ op = 'X', repr = text, index = index } end
function Expression.wrap(value) return Expression.placeholder(value, 'wrap') end

function metatable.__index(expression, key) return Expression.new{ op = '[]', expression, key } end
function metatable.__call(f, ...) return Expression.new{ op = '()', f, ... } end
function metatable.__unm(a) return Expression.new{ op = 'unm', a } end
function metatable.__tostring(expression) return require('pl.func.compiler').text(expression) end

for name, op in pairs{ __add = '+', __sub = '-', __mul = '*', __div = '/', __mod = '%', __pow = '^', __concat = '..',
   __eq = '==' } do
   metatable[name] = function(a, b) return Expression.new{ op = op, a, b } end
end

return Expression
