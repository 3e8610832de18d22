-- PReLU of few elements: elements that are not above zero are multiplied by a weight, either a single one or their
-- plane's. (Planes are the second dimension, or the only one of a vector.)
local memory = require 'torch.core.memory'
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'
local numbers = require 'nn.shared.luajit.as_doubles'
local leaky = require('nn.transfer.luajit.rectifiers').leaky

local count, first_element, max, min = memory.count, memory.first_element, math.max, math.min
local of, seen, room, place_for, gate = numbers.of, numbers.seen, numbers.room, numbers.place_for, numbers.gate

-- The weights of the elements of one sample, in a scratch buffer; and the numbers of samples and of elements in each.
local function beside(x, weight)
   local T, nd, n = x.T, x.nd, count(x)
   if not (gates.few(n, numbers.MOST) and gates.typed(T, x, weight) and gates.plain(weight, T)) then return nil end
   local planes, w = nd == 1 and x[1] or x[3], of('weights', weight)
   local given = count(weight)
   if given ~= 1 and given ~= planes then return no 'a weight of another size' end
   if not w then return nil end
   local samples = nd == 1 and 1 or x[1]
   local elements = n / samples
   local inner, each = elements / planes, room('weights_of_elements', elements)
   for j = 0, planes - 1 do
      local one = w[given == 1 and 0 or j]
      for k = j * inner, (j + 1) * inner - 1 do each[k] = one end
   end
   return each, samples, elements
end

-- With one weight: r = s where x is above zero, else s times the weight.
local function with_one_weight(r, x, s, weight)
   local T, n = x.T, count(x)
   if count(weight) ~= 1 then return no 'a weight for each plane' end
   if not (gates.few(n, numbers.MOST) and gates.typed(T, x, weight) and gates.same_size(x, s)) then return false end
   memory.resize_as(r, x)
   return leaky(r, x, s, T.get(weight.S.p, weight.off), n)
end

function luajit.prelu(out, x, weight)
   if not gates.typed(x.T, out) or not gates.apart(out, x, weight) then return false end
   if with_one_weight(out, x, x, weight) then return true end
   local each, samples, elements = beside(x, weight)
   local p = each and seen('first', x)
   if not p or not gates.resized_as(out, x) then return false end
   local r = place_for(out)
   for first = 0, (samples - 1) * elements, elements do
      local result, of_sample = r + first, p + first
      for k = 0, elements - 1 do result[k] = max(of_sample[k], 0) + each[k] * min(of_sample[k], 0) end
   end
   return numbers.write(out, r, 1)
end

-- The input and the gradient as doubles.
local function with_gradient(x, grad_output)
   if gates.same_size(x, grad_output) then return numbers.both(x, grad_output, seen) end
end

function luajit.prelu_grad_input(gradient, x, grad_output, weight)
   if not gates.typed(x.T, gradient, grad_output) or not gates.apart(gradient, x, grad_output, weight) then
      return false
   end
   if with_one_weight(gradient, x, grad_output, weight) then return true end
   local each, samples, elements = beside(x, weight)
   if not each then return false end
   local p, g = with_gradient(x, grad_output)
   if not g or not gates.resized_as(gradient, x) then return false end
   local r = place_for(gradient)
   for first = 0, (samples - 1) * elements, elements do
      local result, of_sample, of_gradient = r + first, p + first, g + first
      for k = 0, elements - 1 do
         local above = gate(of_sample[k])
         result[k] = of_gradient[k] * (above + (1 - above) * each[k])
      end
   end
   return numbers.write(gradient, r, 1)
end

function luajit.prelu_grad_parameters(grad_weight, _, x, grad_output, weight, _, scale)
   if not (gates.same_size(grad_weight, weight) and gates.plain(grad_weight, x.T)
      and gates.apart(grad_weight, x, grad_output)) then
      return false
   end
   local each, samples, elements = beside(x, weight)
   if not each then return false end
   local p, g = with_gradient(x, grad_output)
   if not g then return false end
   for k = 0, elements - 1 do each[k] = 0 end
   for first = 0, (samples - 1) * elements, elements do
      local of_sample, of_gradient = p + first, g + first
      for k = 0, elements - 1 do each[k] = each[k] + of_gradient[k] * min(of_sample[k], 0) end
   end
   local given, r, get = count(weight), first_element(grad_weight), x.T.get
   local of_one = elements / given
   for j = 0, given - 1 do
      local sum = 0
      for k = j * of_one, (j + 1) * of_one - 1 do sum = sum + each[k] end
      r[j] = get(r, j) + scale * sum
   end
   return true
end
