-- Sums over windows of images of few elements, with a weight and a bias for each plane.
local memory = require 'torch.core.memory'
local is_apart = require('torch.core.overlap').is_apart
local ways = require 'torch.core.ways'
local rooms = require 'nn.shared.luajit.scratch'
local window_sums = require 'nn.shared.luajit.window_sums'

local luajit = ways.luajit
local first_element, is_contiguous, in_one_piece = memory.first_element, memory.is_contiguous, rooms.in_one_piece
local g = window_sums.geometry

-- a, b: weights and biases, or their gradients. What is summed up for an element is rounded to the type at each step,
-- as Torch7's; for a parameter, of many elements, it is not: each step would wait for the rounding.
local forward = window_sums.sums 'EACH(p[k + @]) = EACH(get(b, channels[k + @]) + cast(get(a, channels[k + @]) * s@))'
local backward = window_sums.loop{ EACH =
   'local s = cast(READ(q, k) * get(a, channels[k])) ALL(p[AT] = READ(p, AT) + s)' }
local accumulate = window_sums.loop{ FIRST = 'x, y = 0, 0',
   EACH = 'local s = READ(u, k) ALL(x = x + s * READ(q, AT)) y = y + s',
   LAST = 'a[c], b[c] = get(a, c) + cast(v * x), get(b, c) + cast(v * y)' }

-- Whether a parameter, or its gradient, has a number for each plane; in files of old versions it has three dimensions,
-- of which the first elements count.
local function is_by_plane(t) return rooms.plain(t, t.T) and t[1] == g.planes end

local function set(x, weight, bias, kw, kh, dw, dh)
   return weight.T == x.T and bias.T == x.T and window_sums.set(x, kw, kh, dw, dh, 0, 0) and is_by_plane(weight)
      and is_by_plane(bias)
end

function luajit.spatial_subsampling(out, x, weight, bias, kw, kh, dw, dh)
   if not set(x, weight, bias, kw, kh, dw, dh) then return false end
   x = in_one_piece(x)
   if out.T ~= x.T or not is_apart(out, x, weight, bias) or not is_contiguous(x)
      or not rooms.begin(out, x, g.rows, g.columns) then
      return false
   end
   return window_sums.run(forward, x, nil, first_element(out), window_sums.elements(x), nil, first_element(weight),
      first_element(bias))
end

function luajit.spatial_subsampling_grad_input(grad, x, grad_output, weight, bias, kw, kh, dw, dh)
   if not set(x, weight, bias, kw, kh, dw, dh) or not window_sums.are_results(grad_output, x) then return false end
   grad_output = in_one_piece(grad_output)
   if grad.T ~= x.T or not is_apart(grad, grad_output, weight) or not is_contiguous(grad_output) then return false end
   memory.resize_as(grad, x)
   if not is_contiguous(grad) then return false end
   return window_sums.run(backward, grad_output, nil, window_sums.zeros(grad), first_element(grad_output), nil,
      first_element(weight))
end

function luajit.spatial_subsampling_grad_parameters(grad_weight, grad_bias, x, grad_output, weight, bias, scale, kw, kh,
   dw, dh)
   if not set(x, weight, bias, kw, kh, dw, dh) or not window_sums.are_results(grad_output, x) then return false end
   if grad_weight.T ~= x.T or grad_bias.T ~= x.T or not (is_by_plane(grad_weight) and is_by_plane(grad_bias)) then
      return false
   end
   x, grad_output = in_one_piece(x), in_one_piece(grad_output)
   if not (is_contiguous(x) and is_contiguous(grad_output) and is_apart(grad_weight, x, grad_output)
      and is_apart(grad_bias, x, grad_output, grad_weight)) then
      return false
   end
   local q, u, a, b = first_element(x), first_element(grad_output), first_element(grad_weight), first_element(grad_bias)
   return window_sums.run(accumulate, x, grad_output, nil, q, u, a, b, x.T.cast(scale))
end
