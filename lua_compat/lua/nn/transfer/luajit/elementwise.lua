-- Transfer functions and their gradients for few elements: those for which Lua's result is exact except for the last
-- bit.
local memory = require 'torch.core.memory'
local few = require 'torch.luajit.elementwise'
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'
local rectifiers = require 'nn.transfer.luajit.rectifiers'
local logistic = require 'nn.criterions.luajit.logistic'

local count, resize_as = memory.count, memory.resize_as

local MOST = 8 -- times few.LIMIT elements: one loop replaces several operators of PyTorch

-- A function of $x, and perhaps of $y, v and w, the layer's parameters. plain: the same for finite numbers, without
-- branches, which would be mispredicted for random signs.
local function of(expression, plain) return few.pointwise(expression, false, 'OF_LAYER', plain) end

-- $x clamped between two bounds; NaN becomes the upper bound, or stays
local function clamping(low, high)
   local function of_any(condition)
      return of(('$x < %s and %s or '):format(low, low) .. condition:format(high, high),
         ('min(%s, max(%s, $x))'):format(high, low))
   end
   return of_any('$x <= %s and $x or %s'), of_any '$x > %s and %s or $x'
end
local hard_tanh, hard_tanh_in_place = clamping('v', 'w')
local relu6, relu6_in_place = clamping('0', '6')

-- $y where $x is strictly between two bounds, or NaN; otherwise 0 (without a sign)
local function within(low, high)
   return of(('($x <= %s or $x >= %s) and 0 or $y'):format(low, high),
      ('$y * $gate(min($x - %s, %s - $x)) + 0'):format(low, high))
end
local outside = of('($x > v or $x < -v) and $y or 0', '$y * $gate(abs($x) - v) + 0')

-- f of the elements of x, then `further` of these ($x) and of s ($y). Left to Python if r shares memory with x or s.
local function after(f, further)
   further = of(further)
   return function(r, x, s, _, n)
      return gates.apart(r, x, s) and f(r, x, x, nil, n) and further(r, r, s, nil, n)
   end
end

local functions = few.functions

-- $x if above zero, else v * (exp($x) - 1)
local below_zero, with_exponentials = of('$x > 0 and 0 or $x', 'min($x, 0)'),
   of('$y > 0 and $y or v * ($x - 1)', 'max($y, 0) + v * ($x - 1)')
local function elu(r, x, _, v, n)
   return gates.apart(r, x) and below_zero(r, x, x, nil, n) and functions.exp(r, r, r, nil, n)
      and with_exponentials(r, r, x, v, n)
end

local soft_shrink = of('$x > v and $x - v or $x < -v and $x + v or 0', 'max($x - v, 0) + min($x + v, 0)')

local squared, of_square = of '$x * $x', of '2 * $y * $x'
-- Powers. Those that are products and roots are faster, but differ from C's for infinity and -0.
local power, of_power = few.pointwise('$x ^ v', false, 1), few.pointwise('v * $y * $x ^ (v - 1)', false, 1)
local powers = { [2] = squared, [3] = of '$x * $x * $x', [0.5] = of 'sqrt($x)', [-0.5] = of '1 / sqrt($x)' }
local of_powers = { [2] = of_square, [3] = of 'v * $y * ($x * $x)', [1.5] = of 'v * $y * sqrt($x)',
   [0.5] = of 'v * $y * (1 / sqrt($x))' }

local with_threshold, with_threshold_in_place = of '$x > v and $x or w', of '$x <= v and w or $x'

-- At -infinity the logarithm and its derivative are NaN, as in Torch7 (nn/criterions/luajit/logistic.lua).
local log_sigmoid_slopes, without_slope = after(functions.exp, '$y / (1 + $x)'), of '$y == -1 / 0 and 0 / 0 or $x'
local function of_log_sigmoid(r, x, s, _, n)
   return log_sigmoid_slopes(r, x, s, nil, n) and without_slope(r, r, x, nil, n)
end

local forward = {
   abs = of 'abs($x)', square = squared, sqrt = of 'sqrt($x)', sigmoid = functions.sigmoid, tanh = functions.tanh,
   exp = functions.exp, log = functions.log, soft_sign = of '$x / (1 + abs($x))',
   hard_shrink = of('($x > v or $x < -v) and $x or 0', '$x * $gate(abs($x) - v) + 0'),
   soft_shrink = function(r, t, s, v, n) return v >= 0 and soft_shrink(r, t, s, v, n) or no 'a threshold below 0' end,
   elu = elu, leaky_relu = rectifiers.leaky, hard_tanh = hard_tanh, relu6 = relu6,
   power = function(r, t, s, v, n) return (powers[v] or power)(r, t, s, v, n) end,
   hard_tanh_in_place = hard_tanh_in_place, relu6_in_place = relu6_in_place, leaky_relu_in_place = rectifiers.leaky,
   threshold = function(r, t, s, v, n, w)
      return (w == 0 and 1 / w > 0 and rectifiers.threshold or with_threshold)(r, t, s, v, n, w)
   end,
   threshold_in_place = function(r, t, s, v, n, w)
      return (w == 0 and 1 / w > 0 and rectifiers.threshold_in_place or with_threshold_in_place)(r, t, s, v, n, w)
   end,
}

local backward = {
   abs = of('$x >= 0 and $y or -$y', '$y * (1 - 2 * $gate(-$x))'),
   square = of_square, sqrt = of '$x == 0 and 0 or 0.5 * $y / $x', sigmoid = of '$y * ((1 - $x) * $x)',
   tanh = of '$y * (1 - $x * $x)', exp = of '$y * $x', log = of '$y / $x',
   soft_sign = of '$y / ((1 + abs($x)) * (1 + abs($x)))',
   log_sigmoid = of_log_sigmoid, hard_shrink = outside, soft_shrink = outside,
   elu = of('$x <= 0 and $y * ($x + v) or $y', '$y * ($gate($x) + (1 - $gate($x)) * ($x + v))'),
   leaky_relu = rectifiers.leaky, hard_tanh = within('v', 'w'), relu6 = within('0', '6'),
   hard_tanh_in_place = within('v', 'w'), relu6_in_place = within('0', '6'),
   leaky_relu_in_place = of('$x <= 0 and v * $y or $y', '$y * ($gate($x) + (1 - $gate($x)) * v)'),
   threshold = rectifiers.threshold, threshold_in_place = rectifiers.threshold_in_place,
   power = function(r, t, s, v, n) return (of_powers[v] or of_power)(r, t, s, v, n) end,
}

for name, f in pairs(logistic.forward) do forward[name] = f end
for name, f in pairs(logistic.backward) do backward[name] = f end

-- Whether the functions above accept a layer's parameter.
local function is_plain(parameter) return parameter == nil or type(parameter) == 'number' end

-- A parameter rounded to the elements' type, as in Torch7's arithmetic.
local function rounded(T, parameter) return parameter and T.cast(parameter) end

-- One of the functions, and the number of elements of x, if a result of x's type can be computed in LuaJIT.
local function function_for(functions, name, x, result, other, v, w)
   local f, n = functions[name], count(x)
   if not f then return no 'a function that only PyTorch computes' end
   if not is_plain(v) or not is_plain(w) then return no 'parameters that are not numbers' end
   return gates.typed(x.T, x, result, other) and gates.few_for_now(n, MOST * few.LIMIT) and f, n
end

function luajit.transfer(out, x, name, v, w)
   local f, n = function_for(forward, name, x, out, nil, v, w)
   if not f then return false end
   resize_as(out, x)
   return f(out, x, x, rounded(x.T, v), n, rounded(x.T, w))
end

function luajit.transfer_gradient(gradient, x, grad_output, name, v, w)
   local f, n = function_for(backward, name, x, gradient, grad_output, v, w)
   if not f or not gates.same_size(x, grad_output) then return false end
   resize_as(gradient, x)
   return f(gradient, x, grad_output, rounded(x.T, v), n, rounded(x.T, w))
end
