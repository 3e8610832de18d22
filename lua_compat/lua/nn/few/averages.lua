-- Means of windows of images of few elements, as nn/few.lua says, where all windows lie on the image or its border.
local math = require('th.own').math
local ffi = require 'ffi'
local memory = require 'torch.memory'
local is_apart = require('torch.apart').is_apart
local in_lua = require('torch.kernels').in_lua
local rooms = require 'nn.few.rooms'
local window_sums = require 'nn.few.window_sums'

local first_element, is_contiguous, in_one_piece = memory.first_element, memory.is_contiguous, rooms.in_one_piece
local min, max = math.min, math.max
local g = window_sums.geometry

-- p = the means of q; the elements of p become larger by what the gradients q of the means are for each. a: how many elements each window of a
-- plane has. Sums and quotients are rounded to the type at each step, as Torch7's.
local average = window_sums.loop{ EACH = 'local s = 0 ALL(s = cast(s + READ(q, AT))) p[k] = s / a[j]' }
local distribute = window_sums.loop{ EACH = 'local s = cast(READ(q, k) / a[j]) ALL(p[AT] = READ(p, AT) + s)' }

-- The elements of each window that count, those of the border among them or not. kh, kw: a window
local divisors, room_for_divisors = ffi.new('int32_t[?]', 1), 1
local function find_divisors(kh, kw, with_border)
   if g.windows > room_for_divisors then divisors, room_for_divisors = ffi.new('int32_t[?]', g.windows), g.windows end
   with_border = with_border or g.ph == 0 and g.pw == 0
   for j = 0, g.windows - 1 do divisors[j] = kh * kw end
   if with_border then return divisors end
   for row = 0, g.rows - 1 do
      local top, bottom = max(row * g.dh, g.ph), min(row * g.dh + kh, g.ph + g.height)
      for column = 0, g.columns - 1 do
         local left, right = max(column * g.dw, g.pw), min(column * g.dw + kw, g.pw + g.width)
         divisors[row * g.columns + column] = (bottom - top) * (right - left)
      end
   end
   return divisors
end

function in_lua.spatial_average_pooling(out, x, kw, kh, dw, dh, pw, ph, by_ceil, with_border)
   if not window_sums.set(x, kw, kh, dw, dh, pw, ph, by_ceil) then return false end
   x = in_one_piece(x)
   if out.T ~= x.T or not is_apart(out, x) or not is_contiguous(x) or not rooms.begin(out, x, g.rows, g.columns) then return false end
   return window_sums.run(average, x, nil, first_element(out), window_sums.elements(x), nil, find_divisors(kh, kw, with_border))
end

function in_lua.spatial_average_pooling_grad_input(gradient, x, grad_output, kw, kh, dw, dh, pw, ph, by_ceil, with_border)
   if not window_sums.set(x, kw, kh, dw, dh, pw, ph, by_ceil) or not window_sums.are_results(grad_output, x) then return false end
   grad_output = in_one_piece(grad_output)
   if gradient.T ~= x.T or not is_apart(gradient, grad_output) or not is_contiguous(grad_output) then return false end
   memory.resize_as(gradient, x)
   if not is_contiguous(gradient) then return false end
   local p = window_sums.zeros(gradient)
   window_sums.run(distribute, grad_output, nil, p, first_element(grad_output), nil, find_divisors(kh, kw, with_border))
   window_sums.write(gradient, p)
   return true
end
