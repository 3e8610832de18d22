-- Soft maxima over the planes of few images, as nn/few.lua says: planes x height x width, or a batch of them. Each pixel has a place in a room,
-- and one loop goes through all planes of an image: LuaJIT enters a loop anew for each plane.
local math = require('th.own').math
local memory = require 'torch.memory'
local few = require 'torch.few'
local is_apart = require('torch.apart').is_apart
local numbers = require 'nn.few.numbers'

local count, is_contiguous, first_element, same_size, resize_as = memory.count, memory.is_contiguous, memory.first_element, memory.same_size, memory.resize_as
local max, exponentiate, take_logarithms, room, reads_plainly = math.max, numbers.exponentiate, numbers.take_logarithms, numbers.room, few.reads_plainly

local soft_planes = {}

local MOST = 2 ^ 13 -- elements

-- Whether r may be computed from x and y, finite numbers in one piece.
local function fit(r, x, y)
   local nd = x.nd
   if (nd ~= 3 and nd ~= 4) or not x.T.real or r.T ~= x.T or y.T ~= x.T or few.LIMIT == 0 or count(x) > MOST then return false end
   if not (is_contiguous(x) and (x == y or same_size(x, y) and is_contiguous(y)) and is_apart(r, x, y) and reads_plainly(x, y)) then return false end
   resize_as(r, x)
   return is_contiguous(r)
end

-- The pixels of an image, and the elements of an image and of all.
local function sizes_of(x)
   local nd = x.nd
   local pixels = x[2 * nd - 3] * x[2 * nd - 1]
   return pixels, x[2 * nd - 5] * pixels, count(x)
end

function soft_planes.forward(out, x, factor, of_logarithms)
   if not fit(out, x, x) then return false end
   local pixels, of_image, n = sizes_of(x)
   local p, q, e, of_pixels = first_element(out), first_element(x), room('exponentials', n), room('pixels', pixels)
   for first = 0, n - 1, of_image do
      local j, stop = 0, first + of_image - 1
      for k = first, first + pixels - 1 do of_pixels[k - first] = factor * q[k] end
      for k = first, stop do
         of_pixels[j] = max(of_pixels[j], factor * q[k])
         j = j + 1
         if j == pixels then j = 0 end
      end
      for k = first, stop do
         e[k] = factor * q[k] - of_pixels[j]
         j = j + 1
         if j == pixels then j = 0 end
      end
   end
   if of_logarithms then
      for k = 0, n - 1 do p[k] = e[k] end
   end
   exponentiate(e, n)
   for first = 0, n - 1, of_image do
      local j, stop = 0, first + of_image - 1
      for k = 0, pixels - 1 do of_pixels[k] = 0 end
      for k = first, stop do
         of_pixels[j] = of_pixels[j] + e[k]
         j = j + 1
         if j == pixels then j = 0 end
      end
      if of_logarithms then
         take_logarithms(of_pixels, pixels)
         for k = first, stop do
            p[k] = p[k] - of_pixels[j]
            j = j + 1
            if j == pixels then j = 0 end
         end
      else
         for k = 0, pixels - 1 do of_pixels[k] = 1 / of_pixels[k] end
         for k = first, stop do
            p[k] = e[k] * of_pixels[j]
            j = j + 1
            if j == pixels then j = 0 end
         end
      end
   end
   return true
end

-- From the output y.
function soft_planes.gradient(gradient, y, grad_output, factor, of_logarithms)
   if not fit(gradient, y, grad_output) then return false end
   local pixels, of_image, n = sizes_of(y)
   local p, q, u, e, of_pixels = first_element(gradient), first_element(y), first_element(grad_output), room('exponentials', n), room('pixels', pixels)
   if of_logarithms then
      for k = 0, n - 1 do e[k] = q[k] end
      exponentiate(e, n)
   end
   for first = 0, n - 1, of_image do
      local j, stop = 0, first + of_image - 1
      for k = 0, pixels - 1 do of_pixels[k] = 0 end
      if of_logarithms then
         for k = first, stop do
            of_pixels[j] = of_pixels[j] + u[k]
            j = j + 1
            if j == pixels then j = 0 end
         end
         for k = first, stop do
            p[k] = u[k] - e[k] * of_pixels[j]
            j = j + 1
            if j == pixels then j = 0 end
         end
      else
         for k = first, stop do
            of_pixels[j] = of_pixels[j] + u[k] * q[k]
            j = j + 1
            if j == pixels then j = 0 end
         end
         for k = first, stop do
            p[k] = factor * q[k] * (u[k] - of_pixels[j])
            j = j + 1
            if j == pixels then j = 0 end
         end
      end
   end
   return true
end

return soft_planes
