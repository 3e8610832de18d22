-- Losses of few elements that compare each with a margin or a probability.
local memory = require 'torch.core.memory'
local few = require 'torch.luajit.elementwise'
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'
local classes = require 'nn.criterions.luajit.multi_class'
local logistic = require 'nn.criterions.luajit.logistic'

local count, resize_as, first_element = memory.count, memory.resize_as, memory.first_element

-- The term that each element adds: $x of the input, $y of the target; v: the margin
local sums = {
   margin = few.reduction('result = result + max(0, v - $x * $y)'),
   hinge_embedding = few.reduction([[
      local x, y = $x, $y
      result = result + (y == -1 and 0 or x) + ((y == 1 or v - x <= 0) and 0 or v - x)]]),
}

-- Each element of the gradient; v: the margin, w: the weight of each element
local slopes = {
   margin = few.pointwise('v - $x * $y > 0 and -w * $y or 0', false, 2, '-w * $y * $gate(v - $x * $y) + 0'),
   hinge_embedding = few.pointwise('$y == -1 and $x > v and 0 or w * $y'),
}

-- Whether input and target are few numbers of one type and of equal sizes, without NaNs. Weighted losses are left to
-- Python.
local function are_plain(x, target, weights)
   if weights then return no 'weights' end
   return gates.few(count(x), few.LIMIT) and gates.typed(x.T, x, target) and gates.same_elements(x, target)
      and (few.reads_plainly(x, target) or no 'numbers that are not finite')
end

-- Rounds a loss's number, such as its margin, to the input's type, as in Torch7.
local function rounded(T, number) return number and T.cast(number) end

function luajit.loss(x, target, weights, name, average, margin, ...)
   if classes[name] then return classes[name](x, target, weights, average, margin, ...) end
   if name == 'multi_label_soft_margin' then return logistic.multi_label_soft_margin(x, target, weights, average) end
   if not sums[name] then return no 'a loss that only PyTorch computes' end
   local sum = are_plain(x, target, weights) and sums[name](x, target, 0, rounded(x.T, margin))
   if not sum then return false end
   return true, average and sum / count(x) or sum
end

local gradients_of_classes = { multi_margin = classes.multi_margin_gradient,
   multi_label_margin = classes.multi_label_margin_gradient }

function luajit.loss_gradient(gradient, x, target, weights, name, average, margin, ...)
   local of_classes = gradients_of_classes[name]
   if of_classes then return of_classes(gradient, x, target, weights, average, margin, ...) end
   local slope = slopes[name]
   if not slope then return no 'a loss that only PyTorch computes' end
   if not (gates.typed(x.T, gradient) and are_plain(x, target, weights) and gates.apart(gradient, x, target)) then
      return false
   end
   resize_as(gradient, x)
   local n = count(x)
   return slope(gradient, x, target, rounded(x.T, margin), n, average and 1 / n or 1)
end

local slope_of_cross_entropy = few.pointwise('v * ($x - $y) / ((1 - $x + 1e-12) * ($x + 1e-12))')
function luajit.binary_cross_entropy_gradient(gradient, x, target, weights, average)
   local n = count(x)
   if not (gates.few(n, few.LIMIT) and gates.typed(x.T, x, gradient, target) and gates.same_elements(x, target)
      and gates.apart(gradient, x, target, weights)) then
      return false
   end
   resize_as(gradient, x)
   return slope_of_cross_entropy(gradient, x, target, average and 1 / n or 1, n)
      and (not weights or gates.plain(gradient, x.T) and logistic.weigh(first_element(gradient), n, x, weights))
end
