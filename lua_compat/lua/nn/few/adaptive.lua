-- Maxima and means of as many windows as given, which cover an image, of few elements, as nn/few.lua says.
local math = require('th.own').math
local ffi = require 'ffi'
local types = require 'torch.types'
local memory = require 'torch.memory'
local is_apart = require('torch.apart').is_apart
local few = require 'torch.few'
local kernels = require 'torch.kernels'
local rooms = require 'nn.few.rooms'
local numbers = require 'nn.few.numbers'

local count, is_contiguous, resize, resize_as = memory.count, memory.is_contiguous, memory.resize, memory.resize_as
local floor, ceil, tonumber, room = math.floor, math.ceil, tonumber, numbers.room
local in_lua = kernels.in_lua

local MOST = 2 ^ 16 -- elements of the images; PyTorch finds these maxima one window after the other

-- A room with where each of n windows of a dimension starts, and where it ends: behind its last element.
local function windows(name, size, n, place)
   local p = ffi.cast('int32_t *', room(name, n))
   for k = 0, n - 1 do p[2 * k], p[2 * k + 1] = floor(place(k, n, size)), ceil(place(k + 1, n, size)) end
   return p
end
-- Of maxima Torch7 divides and multiplies in single precision.
local single = types.Float.cast
local function place_of_maximum(k, n, size) return single(single(k / n) * size) end
local function place_of_mean(k, n, size) return k * size / n end

-- The sizes of images, in how many planes, where n x m windows of them are for this.
local function images(x, n, m)
   local nd = x.nd
   if nd ~= 3 and nd ~= 4 or n % 1 ~= 0 or m % 1 ~= 0 or n < 1 or m < 1 then return nil end
   local height, width = x[2 * nd - 3], x[2 * nd - 1]
   if n > height or m > width or height > 2 ^ 15 or width > 2 ^ 15 then return nil end
   return height, width, count(x) / (height * width)
end

local function sizes_of_both(out)
   if out.nd == 3 then return 4, { 2, out[1], out[3], out[5] } end
   return 5, { 2, out[1], out[3], out[5], out[7] }
end

function in_lua.adaptive_max_pooling(out, indices, x, n, m)
   if out.T ~= x.T or indices.T.host ~= types.Long or not indices.T.here or not is_apart(out, x, indices) or not is_apart(indices, x) then return false end
   local height, width, planes = images(x, n, m)
   local p = height and numbers.seen('first', x, MOST)
   if not p or not rooms.begin(out, x, n, m) then return false end
   resize(indices, sizes_of_both(out))
   if not is_contiguous(indices) then return false end
   local rows, columns = windows('rows', height, n, place_of_maximum), windows('columns', width, m, place_of_maximum)
   local r, of_rows, k = out.S.p + out.off, indices.S.p + indices.off, 0
   local of_columns = of_rows + count(out)
   for first = 0, (planes - 1) * height * width, height * width do
      for i = 0, n - 1 do
         local top, bottom = rows[2 * i], rows[2 * i + 1]
         for j = 0, m - 1 do
            local left, right = columns[2 * j], columns[2 * j + 1]
            local greatest, at_row, at_column = p[first + top * width + left], top, left
            for y = top, bottom - 1 do
               local row = first + y * width
               for z = left, right - 1 do
                  if p[row + z] > greatest then greatest, at_row, at_column = p[row + z], y, z end
               end
            end
            r[k], of_rows[k], of_columns[k] = greatest, at_row - top + 1, at_column - left + 1
            k = k + 1
         end
      end
   end
   return true
end

-- Whether gradients are for the images, few, and to be written.
local function fit(gradient, x, grad_output)
   local nd = x.nd
   if gradient.T ~= x.T or grad_output.T ~= x.T or grad_output.nd ~= nd or x[1] ~= grad_output[1] or nd == 4 and x[3] ~= grad_output[3] then
      return false
   end
   return is_apart(gradient, x, grad_output) and count(x) > 0 and count(x) <= MOST
end

-- A room of as many zeros as x has elements.
local function zeros_for(x)
   local p = room('gradients', count(x))
   for k = 0, count(x) - 1 do p[k] = 0 end
   return p
end

local function write(gradient, x, p)
   resize_as(gradient, x)
   return is_contiguous(gradient) and numbers.write(gradient, p, 1)
end

function in_lua.adaptive_max_pooling_grad_input(gradient, x, grad_output, indices)
   local nd = x.nd
   if nd ~= 3 and nd ~= 4 or not fit(gradient, x, grad_output) or not is_apart(gradient, indices) then return false end
   local n, m = grad_output[2 * nd - 3], grad_output[2 * nd - 1]
   if indices.T.host ~= types.Long or not indices.T.here or indices.nd ~= nd + 1 or indices[1] ~= 2 or not is_contiguous(indices) then return false end
   for d = 1, nd do
      if indices[2 * d + 1] ~= grad_output[2 * d - 1] then return false end
   end
   local height, width, planes = images(x, n, m)
   local g = height and few.LIMIT > 0 and numbers.of('first', grad_output, MOST)
   if not g then return false end
   local rows, columns = windows('rows', height, n, place_of_maximum), windows('columns', width, m, place_of_maximum)
   local p, of_rows, k = zeros_for(x), indices.S.p + indices.off, 0
   local of_columns = of_rows + count(grad_output)
   for plane = 0, planes - 1 do
      for i = 0, n - 1 do
         for j = 0, m - 1 do
            local at = (tonumber(of_rows[k]) - 1 + rows[2 * i]) * width + tonumber(of_columns[k]) - 1 + columns[2 * j]
            if not (at >= 0 and at < height * width) then return false end
            at = plane * height * width + at
            p[at], k = p[at] + g[k], k + 1
         end
      end
   end
   return write(gradient, x, p)
end

-- The rows and columns of windows that are all equal; nil of others: these are averaged as other layers' windows are.
local function equal_windows(x, n, m)
   local height, width = images(x, n, m)
   if height and height % n == 0 and width % m == 0 then return height / n, width / m end
end

function in_lua.adaptive_average_pooling(out, x, n, m)
   local kh, kw = equal_windows(x, n, m)
   if kh and in_lua.spatial_average_pooling(out, x, kw, kh, kw, kh, 0, 0) then return true end
   if out.T ~= x.T or not is_apart(out, x) then return false end
   local height, width, planes = images(x, n, m)
   local p = height and numbers.seen('first', x, MOST)
   if not p or not rooms.begin(out, x, n, m) then return false end
   local rows, columns = windows('rows', height, n, place_of_mean), windows('columns', width, m, place_of_mean)
   local r, k = out.S.p + out.off, 0
   for first = 0, (planes - 1) * height * width, height * width do
      for i = 0, n - 1 do
         local top, bottom = rows[2 * i], rows[2 * i + 1]
         for j = 0, m - 1 do
            local left, right, sum = columns[2 * j], columns[2 * j + 1], 0
            for y = top, bottom - 1 do
               local row = first + y * width
               for z = row + left, row + right - 1 do sum = sum + p[z] end
            end
            r[k], k = sum / ((bottom - top) * (right - left)), k + 1
         end
      end
   end
   return true
end

function in_lua.adaptive_average_pooling_gradient(gradient, x, grad_output, n, m)
   local kh, kw = equal_windows(x, n, m)
   if kh and in_lua.spatial_average_pooling_grad_input(gradient, x, grad_output, kw, kh, kw, kh, 0, 0) then return true end
   local height, width, planes = images(x, n, m)
   if not height or not fit(gradient, x, grad_output) or grad_output[2 * x.nd - 3] ~= n or grad_output[2 * x.nd - 1] ~= m then return false end
   local g = numbers.of('first', grad_output, MOST)
   if not g then return false end
   local rows, columns = windows('rows', height, n, place_of_mean), windows('columns', width, m, place_of_mean)
   local p, k = zeros_for(x), 0
   for first = 0, (planes - 1) * height * width, height * width do
      for i = 0, n - 1 do
         local top, bottom = rows[2 * i], rows[2 * i + 1]
         for j = 0, m - 1 do
            local left, right = columns[2 * j], columns[2 * j + 1]
            local each = g[k] / ((bottom - top) * (right - left))
            k = k + 1
            for y = top, bottom - 1 do
               local row = first + y * width
               for z = row + left, row + right - 1 do p[z] = p[z] + each end
            end
         end
      end
   end
   return write(gradient, x, p)
end
