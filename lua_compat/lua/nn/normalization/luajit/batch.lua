-- Batch normalization of few elements in LuaJIT, for finite numbers.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local templates = require 'torch.core.templates'
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'
local geometry = require 'nn.shared.luajit.geometry'
local rooms = require 'nn.shared.luajit.scratch'

local count, first_element = memory.count, memory.first_element
local sqrt, huge = math.sqrt, math.huge
local apart, room = gates.apart, rooms.room
local doubles = ffi.typeof 'double *'

local MOST = 2 ^ 14 -- elements; PyTorch vectorises larger inputs
local LARGEST_FLOAT = 2 ^ 128 - 2 ^ 104

-- The geometry: planes, elements of a plane in each example (pixels) and in all (total), and the layout of a plane's
-- elements: `several` runs of n elements with stride `step`, `between` apart.
local geometry_of = geometry.of('', 'planes, pixels, total, several, n, step, between', function(g, x)
   local examples, planes, pixels = x[1], x[3], 1
   for d = 5, 2 * x.nd - 1, 2 do pixels = pixels * x[d] end
   g.planes, g.pixels, g.total = planes, pixels, examples * pixels
   if pixels == 1 then
      g.several, g.n, g.step, g.between = 1, examples, planes, 0
   else
      g.several, g.n, g.step, g.between = examples, pixels, 1, planes * pixels
   end
   return g
end)

-- The geometry, if x is suitable for LuaJIT.
local function begin(x)
   if x.nd < 2 or x.nd > 5 then return no 'no batch' end
   return gates.typed(x.T, x) and gates.few_for_now(count(x), MOST) and gates.plain(x, x.T) and gates.finite(x)
      and geometry_of(x)
end

-- Whether tensors, some of which may be nil, have one number for each plane.
local function are_vectors(g, T, a, b, c, d)
   return gates.vector(a, T, g.planes) and gates.vector(b, T, g.planes) and gates.vector(c, T, g.planes)
      and gates.vector(d, T, g.planes)
end

local function compiled(text, values)
   return templates.compile('nn.normalization.luajit.batch', text, values, { square = function(x) return x * x end })
end

-- The sum of a term over a plane. The sums of both halves do not depend on each other. LuaJIT needs whole numbers as
-- loop counters.
local SUM = [[
   return function(q, first, g, mean, u)
      local n, step = g.n, g.step
      local a, b, half = 0, 0, floor(n / 2) * step
      for _ = 1, g.several do
         for at = first, first + half - 1, step do a, b = a + $term(at), b + $term(at + half) end
         if n % 2 == 1 then a = a + $term(first + 2 * half) end
         first = first + g.between
      end
      return a + b
   end
]]
local sum, squares = compiled(SUM, { term = 'q[$1]' }), compiled(SUM, { term = 'square(q[$1] - mean)' })
local products = compiled(SUM, { term = 'u[$1] * (q[$1] - mean)' })

-- Writes a value to each element of a plane.
local WRITE = [[
   return function(p, q, first, g, factor, shift, u, slope)
      local reach, step = g.n * g.step - 1, g.step
      for _ = 1, g.several do
         for at = first, first + reach, step do p[at] = $value end
         first = first + g.between
      end
   end
]]
local scale_and_shift = compiled(WRITE, { value = 'q[at] * factor + shift' })
local combine = compiled(WRITE, { value = 'u[at] * factor + q[at] * slope + shift' })

local function number(t, k) return t.T.get(t.S.p, t.off + k) end
local function set(t, k, v) t.S.p[t.off + k] = v end

function luajit.batch_normalization(out, x, weight, bias, running_mean, running_var, save_mean, save_std, train,
   momentum, eps)
   local T, g = x.T, begin(x)
   if not (g and are_vectors(g, T, running_mean, running_var, save_mean, save_std) and are_vectors(g, T, weight, bias)
      and gates.typed(T, out) and apart(out, x, weight, bias) and apart(out, running_mean, running_var)
      and (not train or apart(out, save_mean, save_std))) then
      return false
   end
   local planes, pixels, total = g.planes, g.pixels, g.total
   if train and total < 2 then return no 'one number for each plane' end
   if not gates.resized_as(out, x) then return false end
   local p, q = first_element(out), first_element(x)
   -- The running statistics are updated last: if the kernel has to compute after all, it needs the old ones.
   local means = ffi.cast(doubles, room('means', 16 * planes))
   local all_squares = means + planes
   for c = 0, planes - 1 do
      local first, mean, inverse = c * pixels, nil, nil
      if train then
         mean = T.cast(sum(q, first, g)) / total
         local sum_of_squares = squares(q, first, g, mean)
         -- Squares have the tensor's type: the kernel handles those that overflow.
         if sum_of_squares > LARGEST_FLOAT and sum_of_squares < huge and T.size == 4 then
            return no 'squares that overflow'
         end
         inverse = 1 / sqrt(sum_of_squares / total + eps)
         means[c], all_squares[c] = mean, sum_of_squares
         set(save_mean, c, mean)
         set(save_std, c, inverse)
      else
         mean, inverse = number(running_mean, c), 1 / sqrt(number(running_var, c) + eps)
      end
      local factor = weight and inverse * number(weight, c) or inverse
      scale_and_shift(p, q, first, g, factor, (bias and number(bias, c) or 0) - mean * factor)
   end
   for c = 0, train and planes - 1 or -1 do
      set(running_mean, c, momentum * means[c] + (1 - momentum) * number(running_mean, c))
      set(running_var, c, momentum * all_squares[c] / (total - 1) + (1 - momentum) * number(running_var, c))
   end
   return true
end

-- Whether a parameter's gradient, if any, can be added to.
local function takes(t, x, grad_output, weight, means, deviations)
   return not t or apart(t, x, grad_output, weight) and apart(t, means, deviations)
end

function luajit.batch_normalization_gradients(grad_input, grad_weight, grad_bias, x, grad_output, weight, running_mean,
   running_var, save_mean, save_std, train, scale, eps)
   local T, g = x.T, begin(x)
   if not (g and gates.same_size(x, grad_output) and gates.typed(T, grad_output) and begin(grad_output)
      and are_vectors(g, T, running_mean, running_var, save_mean, save_std)
      and are_vectors(g, T, weight, grad_weight, grad_bias) and (not weight or apart(weight, x, grad_output))
      and takes(grad_weight, x, grad_output, weight, running_mean, running_var)
      and takes(grad_bias, x, grad_output, weight, running_mean, running_var)
      and takes(grad_weight, x, grad_output, weight, save_mean, save_std)
      and takes(grad_bias, x, grad_output, weight, save_mean, save_std)) then
      return false
   end
   if grad_input and not (gates.plain(grad_input, T) and gates.same_size(grad_input, x)
      and apart(grad_input, x, grad_output, weight) and apart(grad_input, running_mean, running_var)
      and apart(grad_input, save_mean, save_std)) then
      return false
   end
   local planes, pixels, total = g.planes, g.pixels, g.total
   local p, q, u = grad_input and first_element(grad_input), first_element(x), first_element(grad_output)
   for c = 0, planes - 1 do
      local first = c * pixels
      local mean = number(train and save_mean or running_mean, c)
      local inverse = train and number(save_std, c) or 1 / sqrt(number(running_var, c) + eps)
      local of_output, of_products = 0, 0
      if train or grad_weight or grad_bias then
         of_output = sum(u, first, g)
         of_products = products(q, first, g, mean, u)
      end
      if p then
         local factor = weight and inverse * number(weight, c) or inverse
         if train then
            local slope = of_products * inverse * inverse / total
            combine(p, q, first, g, factor, (mean * slope - of_output / total) * factor, u, -slope * factor)
         else
            scale_and_shift(p, u, first, g, factor, 0)
         end
      end
      if grad_weight then set(grad_weight, c, number(grad_weight, c) + T.cast(scale * of_products * inverse)) end
      if grad_bias then set(grad_bias, c, number(grad_bias, c) + T.cast(scale * of_output)) end
   end
   return true
end
