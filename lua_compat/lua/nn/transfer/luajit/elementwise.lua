-- Transfer functions and their gradients for few elements. Those of which Lua's result is the same
-- but for the last bit.
local memory = require 'torch.core.memory'
local is_apart = require('torch.core.overlap').is_apart
local few = require 'torch.luajit.elementwise'
local ways = require 'torch.core.ways'
local rectifiers = require 'nn.transfer.luajit.rectifiers'
local logistic = require 'nn.criterions.luajit.logistic'

local luajit = ways.luajit
local count, same_size, resize_as = memory.count, memory.same_size, memory.resize_as

local MOST = 8 -- times few.LIMIT elements: several operators of PyTorch stand against one loop

-- A function of X, and perhaps Y, v and w, the layer's parameters. plain: the same of finite numbers without branches,
-- which a processor guesses where signs are random.
local function of(expression, plain) return few.pointwise(expression, false, MOST, plain) end

local gate = few.gate

-- X between two bounds; a NaN becomes the upper one, or itself
local function clamping(expression)
   return function(low, high)
      local text = expression:gsub('LOW', low):gsub('HIGH', high)
      return of(text, ('min(%s, max(%s, X))'):format(high, low))
   end
end
local clamp, clamp_in_place = clamping 'X < LOW and LOW or X <= HIGH and X or HIGH',
   clamping 'X < LOW and LOW or X > HIGH and HIGH or X'

-- Y between two bounds, or where X is a NaN, else 0 (which has no sign), and outside of them
local function within(low, high)
   local expression = ('(X <= %s or X >= %s) and 0 or Y'):format(low, high)
   return of(expression, ('Y * %s + 0'):format(gate(('min(X - %s, %s - X)'):format(low, high))))
end
local outside = of('(X > v or X < -v) and Y or 0', ('Y * %s + 0'):format(gate 'abs(X) - v'))

-- f of the elements of x, then `further` of those (X) and s (Y): function as above. Where r has memory of these, that
-- is for Python.
local function after(f, further)
   further = of(further)
   return function(r, x, s, _, n)
      return is_apart(r, x, s) and f(r, x, x, nil, n) and further(r, r, s, nil, n)
   end
end

local functions = few.functions

-- X above zero, else v * (exp(X) - 1)
local below_zero, with_exponentials = of('X > 0 and 0 or X', 'min(X, 0)'),
   of('Y > 0 and Y or v * (X - 1)', 'max(Y, 0) + v * (X - 1)')
local function elu(r, x, _, v, n)
   return is_apart(r, x) and below_zero(r, x, x, nil, n) and functions.exp(r, r, r, nil, n)
      and with_exponentials(r, r, x, v, n)
end

local soft_shrink = of('X > v and X - v or X < -v and X + v or 0', 'max(X - v, 0) + min(X + v, 0)')

local squared, of_square = of 'X * X', of '2 * Y * X'
-- Powers; and those that are products and roots, which are faster, and of infinity and -0 others than C's
local power, of_power = few.pointwise('X ^ v', false, 1), few.pointwise('v * Y * X ^ (v - 1)', false, 1)
local powers = { [2] = squared, [3] = of 'X * X * X', [0.5] = of 'sqrt(X)', [-0.5] = of '1 / sqrt(X)' }
local of_powers = { [2] = of_square, [3] = of 'v * Y * (X * X)', [1.5] = of 'v * Y * sqrt(X)',
   [0.5] = of 'v * Y * (1 / sqrt(X))' }

local with_threshold, with_threshold_in_place = of 'X > v and X or w', of 'X <= v and w or X'

-- The slope of the logarithm at -infinity is a NaN, as in Torch7, and so is the logarithm (few/logistic.lua).
local log_sigmoid_slopes, without_slope = after(functions.exp, 'Y / (1 + X)'), of 'Y == -1 / 0 and 0 / 0 or X'
local function of_log_sigmoid(r, x, s, _, n)
   return log_sigmoid_slopes(r, x, s, nil, n) and without_slope(r, r, x, nil, n)
end

local forward = {
   abs = of 'abs(X)', square = squared, sqrt = of 'sqrt(X)', sigmoid = functions.sigmoid, tanh = functions.tanh,
      exp = functions.exp,
   log = functions.log, soft_sign = of 'X / (1 + abs(X))',
   hard_shrink = of('(X > v or X < -v) and X or 0', ('X * %s + 0'):format(gate 'abs(X) - v')),
   soft_shrink = function(r, t, s, v, n) return v >= 0 and soft_shrink(r, t, s, v, n) end,
   elu = elu, leaky_relu = rectifiers.leaky, hard_tanh = clamp('v', 'w'), relu6 = clamp('0', '6'),
   power = function(r, t, s, v, n) return (powers[v] or power)(r, t, s, v, n) end,
   hard_tanh_in_place = clamp_in_place('v', 'w'), relu6_in_place = clamp_in_place('0', '6'),
      leaky_relu_in_place = rectifiers.leaky,
   threshold = function(r, t, s, v, n, w) return (w == 0 and rectifiers.threshold or with_threshold)(r, t, s, v, n,
      w) end,
   threshold_in_place = function(r, t, s, v, n, w)
      return (w == 0 and rectifiers.threshold_in_place or with_threshold_in_place)(r, t, s, v, n, w)
   end,
}

local backward = {
   abs = of('X >= 0 and Y or -Y', ('Y * (1 - 2 * %s)'):format(gate '-X')),
   square = of_square, sqrt = of 'X == 0 and 0 or 0.5 * Y / X', sigmoid = of 'Y * ((1 - X) * X)',
      tanh = of 'Y * (1 - X * X)',
   exp = of 'Y * X', log = of 'Y / X', soft_sign = of 'Y / ((1 + abs(X)) * (1 + abs(X)))',
   log_sigmoid = of_log_sigmoid, hard_shrink = outside, soft_shrink = outside,
   elu = of('X <= 0 and Y * (X + v) or Y', (('Y * (GATE + (1 - GATE) * (X + v))'):gsub('GATE', gate 'X'))),
   leaky_relu = rectifiers.leaky, hard_tanh = within('v', 'w'), relu6 = within('0', '6'),
      threshold = rectifiers.threshold,
   hard_tanh_in_place = within('v', 'w'), relu6_in_place = within('0', '6'),
      leaky_relu_in_place = of('X <= 0 and v * Y or Y', (('Y * (GATE + (1 - GATE) * v)'):gsub('GATE', gate 'X'))),
   threshold_in_place = rectifiers.threshold_in_place,
   power = function(r, t, s, v, n) return (of_powers[v] or of_power)(r, t, s, v, n) end,
}

for name, f in pairs(logistic.forward) do forward[name] = f end
for name, f in pairs(logistic.backward) do backward[name] = f end

-- Whether a layer's parameter is one that the functions above can take
local function is_plain(parameter) return parameter == nil or type(parameter) == 'number' end

-- A parameter as Torch7 compares and computes with it: in the type of the elements.
local function rounded(T, parameter) return parameter and T.cast(parameter) end

local function transfer(out, x, name, v, w)
   local f, n = is_plain(v) and is_plain(w) and forward[name], count(x)
   if not f or out.T ~= x.T or not x.T.real or n == 0 or n > MOST * few.LIMIT then return false end
   resize_as(out, x)
   return f(out, x, x, rounded(x.T, v), n, rounded(x.T, w))
end

local function transfer_gradient(gradient, x, grad_output, name, v, w)
   local f, n = is_plain(v) and is_plain(w) and backward[name], count(x)
   if not f or gradient.T ~= x.T or grad_output.T ~= x.T or not x.T.real or n == 0 or n > MOST * few.LIMIT
      or not same_size(x, grad_output) then
      return false
   end
   resize_as(gradient, x)
   return f(gradient, x, grad_output, rounded(x.T, v), n, rounded(x.T, w))
end

luajit.transfer, luajit.transfer_gradient = transfer, transfer_gradient
