-- Unpooling of few images and volumes, which puts elements at given positions in larger planes of zeros, and its
-- gradients.
local memory = require 'torch.core.memory'
local few = require 'torch.luajit.elementwise'
local luajit = require('torch.core.ways').luajit
local gates = require 'nn.shared.luajit.gates'
local at_places = require('nn.pooling.luajit.maxima').at_places

local count, first_element = memory.count, memory.first_element

local MOST = 2 ^ 15 -- elements

local put, take = at_places 'p[at] = get(q, k)', at_places 'p[k] = get(q, at)'

-- The numbers of elements of x's planes, and of a result's, of a x b or (volumes) a x b x c; nil if Python has to
-- compute.
local function numbers_of_planes(r, x, indices, a, b, c)
   if not (gates.planes(x, c and 3 or 2) and gates.whole(1, a, b, c)) then return nil end
   local n, last, pixels = count(x), 2 * x.nd - 1, a * b * (c or 1)
   local windows = x[last] * x[last - 2] * (c and x[last - 4] or 1)
   return gates.same_size(x, indices) and gates.few(n, MOST)
      and gates.few(n / windows * pixels, MOST) and gates.apart(r, x, indices) and gates.indices(indices)
      and gates.plain(indices, indices.T) and windows, pixels
end

function luajit.max_unpooling(out, x, indices, a, b, c)
   local windows, pixels = numbers_of_planes(out, x, indices, a, b, c)
   return windows and gates.result(out, x, c and b or a, c or b, nil, c and a) and few.zero(out, count(out))
      and put(x.T, first_element(out), first_element(x), first_element(indices), count(x), windows, pixels)
end

function luajit.max_unpooling_grad_input(gradient, x, grad_output, indices, a, b, c)
   local windows, pixels = numbers_of_planes(gradient, x, indices, a, b, c)
   return windows and gates.gradient(gradient, x, grad_output, c and b or a, c or b, nil, c and a)
      and take(x.T, first_element(gradient), first_element(grad_output), first_element(indices), count(x), windows,
         pixels)
end
