-- Negative log likelihoods of rows and of images' pixels.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local overlap = require 'torch.core.overlap'
local few = require 'torch.luajit.elementwise'
local ways = require 'torch.core.ways'
local templates = require 'torch.core.templates'
local numbers = require 'nn.shared.luajit.as_doubles'
local all_within = require 'nn.shared.luajit.indices'
local new_room = require 'torch.core.scratch'

local luajit = ways.luajit
local count, is_contiguous = memory.count, memory.is_contiguous
local resize_as, first_element = memory.resize_as, memory.first_element
local is_apart, last_offset = overlap.is_apart, overlap.last_offset
local tobit, tonumber, place = bit.tobit, tonumber, few.place

local MOST = 8 -- times few.LIMIT elements: several operators of PyTorch stand against one loop
local room = new_room()

-- Rows and classes of log probabilities x, where weights and classes fit and all is in order; nil otherwise.
local function rows_and_classes(total, x, target, weights, ignored)
   local T = x.T
   if x.nd < 1 or x.nd > 2 or not few.small(x, x.nd == 2 and x[1] or 1) or total.T ~= T or total.nd ~= 1
      or total[1] ~= 1 then
      return nil
   end
   local rows, classes = x.nd == 2 and x[1] or 1, x.nd == 2 and x[3] or x[1]
   if weights and not (weights.T == T and weights.nd == 1 and weights[1] == classes) then return nil end
   if target.nd ~= 1 or not all_within(target, rows, classes, ignored) then return nil end
   return rows, classes
end

local function weight_of(weights, class)
   return weights and weights.T.get(weights.S.p, weights.off + (class - 1) * weights[2]) or 1
end

-- Of log probabilities of the pixels of images, images x height x width x classes, in whatever order they lie, what
-- each class counts; nil where that is for Python.
local function weights_for_pixels(total, x, target, weights)
   local T, all = x.T, x[1] * x[3] * x[5]
   if not T.real or all > MOST * few.LIMIT or x[4] ~= x[5] * x[6] or total.T ~= T or total.nd ~= 1 or total[1] ~= 1 then
      return nil
   end
   if target.nd ~= 3 or count(target) ~= all or target.T.host ~= types.Long or not target.T.here
      or not is_contiguous(target) then
      return nil
   end
   return numbers.weights(weights, T, x[7])
end

-- A loop over the pixels of images, of whose classes, but for the one that is ignored, $each_pixel is done with the
-- element of p `at` the pixel and its class, and the class's `factor`. Gives what it has left in `sum` and
-- `weight`. The classes are read once: nil where one is wrong, the rest is for Python then, and the error.
local PIXELS = [[
   return function(p, image_step, step, images, pixels, places, halves, skipped, last, offsets, factors,
      ignored)
      local sum, weight = 0, 0
      step = tobit(step)
      for image = 0, images - 1 do
         local first = tobit(image * image_step)
         for k = 2 * image * pixels, 2 * (image + 1) * pixels - 2, 2 do
            local class = halves[k]
            if halves[k + 1] == 0 and class >= 1 and class <= last then
               if class ~= skipped then
                  local at, factor = tobit(first + offsets[class]), factors[class - 1]
                  $each_pixel
               end
            elseif tonumber(places[k / 2]) ~= ignored then
               return nil
            end
            first = tobit(first + step)
         end
      end
      return sum, weight
   end
]]
local function of_pixels(each) -- for each type on its own: traces are for one type of memory
   return templates.for_each(types.codes_of_reals, function(code)
      return templates.compile('nn.criterions.luajit.nll', PIXELS, { each_pixel = each },
         { get = types[code].get, set = types[code].set })
   end)
end
local add_up_pixels = of_pixels 'sum, weight = sum - factor * get(p, at), weight + factor'
local set_pixels = of_pixels 'set(p, at, factor)'

-- Runs one over t's elements, whose sizes are those of the log probabilities. factors: of the classes
local function over_pixels(run_for, t, target, factors, ignored)
   local classes, step, places = t[7], t[8], first_element(target)
   -- of each class's elements from the first's
   local offsets = ffi.cast('int32_t *', room('offsets', 4 * (classes + 1)))
   for class = 1, classes do offsets[class] = (class - 1) * step end
   local is_class = ignored and ignored >= 1 and ignored <= classes and ignored % 1 == 0
   -- the lower comes first; LuaJIT computes with 32 bits as they are
   local halves = ffi.cast('int32_t *', places)
   local run = run_for(t.T.host.code)
   return run(first_element(t), t[2], t[6], t[1], t[3] * t[5], places, halves,
      tobit(is_class and ignored or 0), tobit(classes), offsets, factors, ignored)
end

local function class_nll_of_pixels(total, x, target, weights, average, ignored)
   local of_classes = weights_for_pixels(total, x, target, weights)
   if not of_classes then return false end
   local sum, weight = over_pixels(add_up_pixels, x, target, of_classes, ignored)
   if not sum then return false end
   total.T.set(total.S.p, total.off, weight)
   if weight == 0 then return true, 0 end
   return true, average and sum / weight or sum
end

local function class_nll(total, x, target, weights, average, ignored)
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
   total.T.set(total.S.p, total.off, weight)
   if weight == 0 then return true, 0 end
   return true, average and sum / weight or sum
end

-- The gradient's elements lie without gaps, whichever way round their dimensions are.
local function class_nll_gradient_of_pixels(gradient, x, target, weights, total, average, ignored)
   local slopes = weights_for_pixels(total, x, target, weights)
   if not slopes or gradient.T ~= x.T or not is_apart(gradient, x, total, weights)
      or not is_apart(gradient, target) then
      return false
   end
   resize_as(gradient, x)
   local classes, n = x[7], count(x)
   if gradient[4] ~= gradient[5] * gradient[6] or last_offset(gradient) - gradient.off ~= n - 1 then
      return false
   end
   ffi.fill(first_element(gradient), n * x.T.size)
   local weight = total.T.get(total.S.p, total.off)
   if not (weight > 0) then return true end
   for class = 0, classes - 1 do slopes[class] = -slopes[class] / (average and weight or 1) end
   return over_pixels(set_pixels, gradient, target, slopes, ignored) ~= nil
end

local function class_nll_gradient(gradient, x, target, weights, total, average, ignored)
   if x.nd == 4 then return class_nll_gradient_of_pixels(gradient, x, target, weights, total, average, ignored) end
   if not rows_and_classes(total, x, target, weights, ignored) or gradient.T ~= x.T then return false end
   if not is_apart(gradient, x, total, weights) then return false end
   resize_as(gradient, x)
   local n = count(x)
   if not few.zero(gradient, n) then return false end
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

luajit.class_nll, luajit.class_nll_gradient = class_nll, class_nll_gradient
