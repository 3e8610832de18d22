-- Softmax over the planes of few images: planes x height x width, or a batch. Scratch buffers hold one number for each
-- pixel.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local templates = require 'torch.core.templates'
local gates = require 'nn.shared.luajit.gates'
local numbers = require 'nn.shared.luajit.as_doubles'

local count, first_element = memory.count, memory.first_element
local exponentiate, take_logarithms, room = numbers.exponentiate, numbers.take_logarithms, numbers.room

local soft_planes = {}

local MOST = 2 ^ 13 -- elements

-- Resizes r to x's sizes if it can be computed from x and y, finite and contiguous.
local function begin(r, x, y)
   return gates.planes(x, 2) and gates.typed(x.T, x, r, y) and gates.few_for_now(count(x), MOST) and gates.plain(x, x.T)
      and (x == y or gates.same_size(x, y) and gates.plain(y, x.T)) and gates.apart(r, x, y)
      and gates.finite(x) and (x == y or gates.finite(y)) and gates.resized_as(r, x)
end

-- The numbers of pixels of an image, of elements of an image, and of all elements.
local function sizes_of(x)
   local nd = x.nd
   local pixels = x[2 * nd - 3] * x[2 * nd - 1]
   return pixels, x[2 * nd - 5] * pixels, count(x)
end

-- A function(first, last, pixels, s, p, q, u, factor) that processes all elements k of an image's planes, each with its
-- pixel j. One loop covers all planes if they are small, because LuaJIT enters a loop anew for each; otherwise four
-- pixels at a time.
local LOOP = [[
   return function(first, last, pixels, s, p, q, u, factor)
      if pixels < $fewest then
         local j = 0
         for k = first, last do
            $some(1)
            j = j + 1
            if j == pixels then j = 0 end
         end
         return
      end
      local whole = pixels - pixels % 4
      for plane = first, last, pixels do
         for j = 0, whole - 4, 4 do
            local k = plane + j
            $some(4)
         end
         for j = whole, pixels - 1 do
            local k = plane + j
            $some(1)
         end
      end
   end
]]
local FEWEST = 32 -- pixels
local function for_planes(target, expression)
   return templates.compile('nn.transfer.luajit.softmax_of_images', LOOP, { fewest = FEWEST, target = target,
      expression = expression, some = '$each($1){$target} = $each($1){$expression}' },
      { s = 's[j + @]', p = 'p[k + @]', q = 'q[k + @]', u = 'u[k + @]' })
end

local find_greatest, subtract_greatest = for_planes('$s', 'max($s, factor * $q)'),
   for_planes('$p', 'factor * $q - $s')
local add_up, add_up_products = for_planes('$s', '$s + $q'), for_planes('$s', '$s + $q * $u')
local subtract, scale = for_planes('$p', '$p - $s'), for_planes('$p', '$q * $s')
local subtract_share, subtract_sum = for_planes('$p', '$u - $q * $s'),
   for_planes('$p', 'factor * $q * ($u - $s)')

local function set_to_zero(s, pixels) ffi.fill(s, 8 * pixels) end

function soft_planes.forward(out, x, factor, of_logarithms)
   if not begin(out, x, x) then return false end
   local pixels, of_image, n = sizes_of(x)
   local p, q, e, s = first_element(out), first_element(x), room('exponentials', n), room('pixels', pixels)
   for first = 0, n - 1, of_image do
      for k = 0, pixels - 1 do s[k] = factor * q[first + k] end
      find_greatest(first, first + of_image - 1, pixels, s, nil, q, nil, factor)
      subtract_greatest(first, first + of_image - 1, pixels, s, e, q, nil, factor)
   end
   if of_logarithms then
      for k = 0, n - 1 do p[k] = e[k] end
   end
   exponentiate(e, n)
   for first = 0, n - 1, of_image do
      local last = first + of_image - 1
      set_to_zero(s, pixels)
      add_up(first, last, pixels, s, nil, e)
      if of_logarithms then
         take_logarithms(s, pixels)
         subtract(first, last, pixels, s, p)
      else
         for k = 0, pixels - 1 do s[k] = 1 / s[k] end
         scale(first, last, pixels, s, p, e)
      end
   end
   return true
end

-- Computes it from the output y.
function soft_planes.gradient(gradient, y, grad_output, factor, of_logarithms)
   if not begin(gradient, y, grad_output) then return false end
   local pixels, of_image, n = sizes_of(y)
   local p, q, u, e, s = first_element(gradient), first_element(y), first_element(grad_output), room('exponentials', n),
      room('pixels', pixels)
   if of_logarithms then
      for k = 0, n - 1 do e[k] = q[k] end
      exponentiate(e, n)
   end
   for first = 0, n - 1, of_image do
      local last = first + of_image - 1
      set_to_zero(s, pixels)
      if of_logarithms then
         add_up(first, last, pixels, s, nil, u)
         subtract_share(first, last, pixels, s, p, e, u)
      else
         add_up_products(first, last, pixels, s, nil, q, u)
         subtract_sum(first, last, pixels, s, p, q, u, factor)
      end
   end
   return true
end

return soft_planes
