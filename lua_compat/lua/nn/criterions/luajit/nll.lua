-- Negative log likelihoods of rows and of the pixels of images.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local overlap = require 'torch.core.overlap'
local few = require 'torch.luajit.elementwise'
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'
local numbers = require 'nn.shared.luajit.as_doubles'
local all_within = require 'nn.shared.luajit.indices'
local new_room = require 'torch.core.scratch'

local count = memory.count
local resize_as, first_element = memory.resize_as, memory.first_element
local tonumber, place = tonumber, few.place

local MOST_ROWS, MOST_PIXELS = 2 ^ 11, 2 ^ 14 -- for pixels, one loop replaces several operators of PyTorch
local room = new_room()

-- The numbers of rows and classes of the log probabilities x, if weights and classes fit and are valid; nil otherwise.
local function rows_and_classes(total, x, target, weights, ignored)
   if x.nd < 1 or x.nd > 2 or target.nd ~= 1 then return no 'neither a matrix nor a vector' end
   local rows, classes = x.nd == 2 and x[1] or 1, x.nd == 2 and x[3] or x[1]
   return gates.typed(x.T, x) and gates.few(rows, MOST_ROWS) and gates.vector(total, x.T, 1, true)
      and gates.vector(weights, x.T, classes, true) and all_within(target, rows, classes, ignored) and rows, classes
end

local function weight_of(weights, class)
   return weights and weights.T.get(weights.S.p, weights.off + (class - 1) * weights[2]) or 1
end

-- The class weights for log probabilities of the pixels of images (images x height x width x classes, in any layout);
-- nil if Python has to compute.
local function weights_for_pixels(total, x, target, weights)
   local T, all = x.T, x[1] * x[3] * x[5]
   if x[4] ~= x[5] * x[6] then return no 'images whose rows are not contiguous' end
   if target.nd ~= 3 or count(target) ~= all then return no 'tensors of different sizes' end
   return gates.typed(T, x) and gates.few(all, MOST_PIXELS) and gates.vector(total, T, 1, true)
      and gates.indices(target) and gates.plain(target, target.T) and numbers.weights(weights, T, x[7])
end

-- A loop over the pixels of images. For each pixel whose class is not the ignored one it runs $each_pixel with the
-- index `at` of that class's element in p, and the class's `factor`. Returns `sum` and `weight`. Classes are read only
-- once: nil if one is invalid; Python then computes, and raises the error.
local PIXELS = [[
   return function(t, target, offsets, factors, skipped, ignored)
      local p, places, pixels = first_element(t), first_element(target), t[3] * t[5]
      local sum, weight, image_step, step, last = 0, 0, t[2], tobit(t[6]), tobit(t[7])
      local halves = cast(whole_numbers, places) -- the low half comes first; LuaJIT computes in 32 bits
      skipped = tobit(skipped)
      for image = 0, t[1] - 1 do
         local first = tobit(image * image_step)
         for k = 2 * image * pixels, 2 * (image + 1) * pixels - 2, 2 do
            local class = halves[k]
            if halves[k + 1] == 0 and class >= 1 and class <= last then
               if class ~= skipped then
                  local at, factor = tobit(first + offsets[class]), factors[class - 1]
                  $each_pixel
               end
            elseif tonumber(places[k / 2]) ~= ignored then
               return no 'an index out of range'
            end
            first = tobit(first + step)
         end
      end
      return sum, weight
   end
]]
local function of_pixels(each)
   return types.compiled('nn.criterions.luajit.nll', PIXELS,
      { each_pixel = each, whole_numbers = ffi.typeof 'int32_t *', no = no, first_element = first_element })
end
local add_up_pixels = of_pixels 'sum, weight = sum - factor * get(p, at), weight + factor'
local set_pixels = of_pixels 'set(p, at, factor)'

-- Runs the loop over t's elements, which has the sizes of the log probabilities. factors: of the classes
local function over_pixels(run_for, t, target, factors, ignored)
   local classes, step = t[7], t[8]
   -- offset of each class's elements from the first class's
   local offsets = ffi.cast('int32_t *', room('offsets', 4 * (classes + 1)))
   for class = 1, classes do offsets[class] = (class - 1) * step end
   local is_class = ignored and ignored >= 1 and ignored <= classes and ignored % 1 == 0
   return run_for(t.T)(t, target, offsets, factors, is_class and ignored or 0, ignored)
end

-- Writes the weight of all classes to `total`, and returns true and the loss.
local function loss_of(total, sum, weight, average)
   total.T.set(total.S.p, total.off, weight)
   if weight == 0 then return true, 0 end
   return true, average and sum / weight or sum
end

local function class_nll_of_pixels(total, x, target, weights, average, ignored)
   local of_classes = weights_for_pixels(total, x, target, weights)
   if not of_classes then return false end
   local sum, weight = over_pixels(add_up_pixels, x, target, of_classes, ignored)
   if not sum then return false end
   return loss_of(total, sum, weight, average)
end

function luajit.class_nll(total, x, target, weights, average, ignored)
   if x.nd == 4 then return class_nll_of_pixels(total, x, target, weights, average, ignored) end
   local rows, classes = rows_and_classes(total, x, target, weights, ignored)
   if not rows then return false end
   local get, p, places, step = x.T.get, x.S.p, target.S.p + target.off, target[2]
   local row, column = x.nd == 2 and x[2] or 0, x.nd == 2 and x[4] or x[2]
   local sum, weight = 0, 0
   for i = 0, rows - 1 do
      if tonumber(places[i * step]) ~= ignored then
         local class = place(places, i * step, classes)
         local w = weight_of(weights, class)
         sum, weight = sum - w * get(p, x.off + i * row + (class - 1) * column), weight + w
      end
   end
   return loss_of(total, sum, weight, average)
end

-- The gradient's elements are contiguous, in any order of its dimensions.
local function class_nll_gradient_of_pixels(gradient, x, target, weights, total, average, ignored)
   local slopes = weights_for_pixels(total, x, target, weights)
   if not (slopes and gates.typed(x.T, gradient) and gates.apart(gradient, x, total, weights)
      and gates.apart(gradient, target)) then
      return false
   end
   resize_as(gradient, x)
   local classes, n = x[7], count(x)
   if gradient[4] ~= gradient[5] * gradient[6] or overlap.last_offset(gradient) - gradient.off ~= n - 1 then
      return no 'a gradient with gaps'
   end
   ffi.fill(first_element(gradient), n * x.T.size)
   local weight = total.T.get(total.S.p, total.off)
   if not (weight > 0) then return true end
   for class = 0, classes - 1 do slopes[class] = -slopes[class] / (average and weight or 1) end
   return over_pixels(set_pixels, gradient, target, slopes, ignored) and true
end

function luajit.class_nll_gradient(gradient, x, target, weights, total, average, ignored)
   if x.nd == 4 then return class_nll_gradient_of_pixels(gradient, x, target, weights, total, average, ignored) end
   local n = count(x)
   if not (rows_and_classes(total, x, target, weights, ignored) and gates.typed(x.T, gradient)
      and gates.apart(gradient, x, total, weights) and gates.resized_as(gradient, x) and few.zero(gradient, n)) then
      return false
   end
   local weight = total.T.get(total.S.p, total.off)
   if not (weight > 0) then return true end
   local classes = x[2 * x.nd - 1]
   local p, set, places, step = gradient.S.p + gradient.off, x.T.set, target.S.p + target.off, target[2]
   for i = 0, n / classes - 1 do
      if tonumber(places[i * step]) ~= ignored then
         local class = place(places, i * step, classes)
         set(p, i * classes + class - 1, -weight_of(weights, class) / (average and weight or 1))
      end
   end
   return true
end
