-- Sums over windows of images of few elements, with a weight and a bias for each plane.
local memory = require 'torch.core.memory'
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'
local rooms = require 'nn.shared.luajit.scratch'
local window_sums = require 'nn.shared.luajit.window_sums'

local first_element, in_one_piece = memory.first_element, rooms.in_one_piece

-- a, b: weights and biases, or their gradients. The sum for an element is rounded to the type after each step, as in
-- Torch7. The sum for a parameter, over many elements, is not: each step would wait for the rounding.
local forward = window_sums.sums [[
   $each($1){p[k + @]} = $each($1){get(b, channels[k + @]) + to_type(get(a, channels[k + @]) * s@)}
]]
local backward = window_sums.loop{ window =
   'local s = to_type($read(q, k) * get(a, channels[k])) $all(p[$at] = $read(p, $at) + s)' }
local accumulate = window_sums.loop{ first = 'x, y = 0, 0',
   window = 'local s = $read(u, k) $all(x = x + s * $read(q, $at)) y = y + s',
   last = 'a[c], b[c] = get(a, c) + to_type(v * x), get(b, c) + to_type(v * y)' }

local of_images = window_sums.geometry_of('kw, kh, dw, dh', window_sums.complete)

-- Whether a parameter, or its gradient, has one number for each plane. In files of old versions it has three
-- dimensions, of which only the first elements are used.
local function is_by_plane(t, T, g)
   return gates.plain(t, T) and (t[1] == g.planes or no 'parameters that are not one for each plane')
end

-- The geometry, if the parameters fit it.
local function geometry_for(x, weight, bias, kw, kh, dw, dh)
   local g = gates.typed(x.T, x, weight, bias) and of_images(x, kw, kh, dw, dh)
   return g and is_by_plane(weight, x.T, g) and is_by_plane(bias, x.T, g) and g
end

function luajit.spatial_subsampling(out, x, weight, bias, kw, kh, dw, dh)
   local g = geometry_for(x, weight, bias, kw, kh, dw, dh)
   return g and gates.apart(out, weight, bias)
      and window_sums.reduce(forward, g, out, x, first_element(weight), first_element(bias))
end

function luajit.spatial_subsampling_grad_input(grad, x, grad_output, weight, bias, kw, kh, dw, dh)
   local g = geometry_for(x, weight, bias, kw, kh, dw, dh)
   return g and gates.apart(grad, weight)
      and window_sums.distribute(backward, g, grad, x, grad_output, first_element(weight))
end

function luajit.spatial_subsampling_grad_parameters(grad_weight, grad_bias, x, grad_output, weight, bias, scale, kw, kh,
   dw, dh)
   local g = geometry_for(x, weight, bias, kw, kh, dw, dh)
   if not g then return false end
   x, grad_output = in_one_piece(x), in_one_piece(grad_output)
   return window_sums.is_for_now(g) and gates.sized(grad_output, x, g.rows, g.columns)
      and is_by_plane(grad_weight, x.T, g) and is_by_plane(grad_bias, x.T, g) and gates.plain(x, x.T)
      and gates.plain(grad_output, x.T) and gates.apart(grad_weight, x, grad_output)
      and gates.apart(grad_bias, x, grad_output) and gates.lies_apart(grad_bias, grad_weight)
      and accumulate(x.T, g.taps, window_sums.reads_plainly(x, grad_output))(g, nil, first_element(x),
         first_element(grad_output), first_element(grad_weight), first_element(grad_bias), x.T.cast(scale))
end
