-- Local response normalization over neighbouring planes of few elements, in LuaJIT, for finite numbers.
local memory = require 'torch.core.memory'
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'
local numbers = require 'nn.shared.luajit.as_doubles'

local count = memory.count
local floor, max, min, sqrt = math.floor, math.max, math.min, math.sqrt

local LARGEST_FLOAT = (2 - 2 ^ -23) * 2 ^ 127

-- The numbers of elements of an image and of a plane.
local function sizes(x)
   local nd = x.nd
   local pixels = x[2 * nd - 3] * x[2 * nd - 1]
   return x[2 * nd - 5] * pixels, pixels
end

-- s = the sums of q over `before` planes before each and `after` planes after it, for n elements. Planes are
-- contiguous, so the neighbours of all planes of an image are added in one loop.
local function add_neighbours(s, q, n, image, pixels, before, after)
   local others = image / pixels - 1
   before, after = min(before, others), min(after, others)
   for k = 0, n - 1 do s[k] = 0 end
   for first = 0, n - 1, image do
      for plane = -before, after do
         local shift = plane * pixels
         for k = first + max(0, -shift), first + image - 1 - max(0, shift) do s[k] = s[k] + q[k + shift] end
      end
   end
end

-- r = s ^ -beta
local function take_powers(r, s, n, beta)
   if beta == 0.75 then -- the usual case: roots are faster than exp and log
      for k = 0, n - 1 do
         local root = sqrt(s[k])
         r[k] = 1 / (root * sqrt(root))
      end
      return
   end
   for k = 0, n - 1 do r[k] = s[k] end
   numbers.take_logarithms(r, n)
   for k = 0, n - 1 do r[k] = -beta * r[k] end
   numbers.exponentiate(r, n)
end

-- The numbers of x, their factors, and the sums that the factors are powers of; nil if Python has to compute.
local function factors(x, size, alpha, beta, more)
   if not gates.planes(x, 2) or not gates.whole(1, size) then return nil end
   local image, pixels = sizes(x)
   local p, n = numbers.of('first', x), count(x)
   if not p then return nil end
   local squares, sums, powers = numbers.room('squares', n), numbers.room('sums', n),
      numbers.room('powers', n)
   local total = 0
   for k = 0, n - 1 do
      squares[k] = p[k] * p[k]
      total = total + squares[k]
   end
   if total > LARGEST_FLOAT and x.T.size < 8 then return no 'squares that overflow' end -- in float, as in Torch7
   add_neighbours(sums, squares, n, image, pixels, floor(size / 2), floor((size - 1) / 2))
   for k = 0, n - 1 do sums[k] = more + alpha / size * sums[k] end
   take_powers(powers, sums, n, beta)
   return p, powers, sums
end

function luajit.cross_map_lrn(out, x, size, alpha, beta, more)
   if not gates.typed(x.T, out) or not gates.apart(out, x) then return false end
   local p, powers = factors(x, size, alpha, beta, more)
   if not p then return false end
   for k = 0, count(x) - 1 do p[k] = p[k] * powers[k] end
   return gates.resized_as(out, x) and numbers.write(out, p, 1)
end

function luajit.cross_map_lrn_gradient(gradient, x, grad_output, size, alpha, beta, more)
   if not (gates.typed(x.T, gradient, grad_output) and gates.same_size(x, grad_output)
      and gates.apart(gradient, x, grad_output)) then
      return false
   end
   local p, powers, sums = factors(x, size, alpha, beta, more)
   local g = p and numbers.of('second', grad_output)
   if not g then return false end
   local n, image, pixels = count(x), sizes(x)
   local products = numbers.room('squares', n)
   for k = 0, n - 1 do products[k] = g[k] * p[k] * powers[k] / sums[k] end
   -- each plane is in the neighbourhoods of the planes on its other side
   add_neighbours(sums, products, n, image, pixels, floor((size - 1) / 2), floor(size / 2))
   local factor = 2 * alpha * beta / size
   for k = 0, n - 1 do p[k] = g[k] * powers[k] - factor * p[k] * sums[k] end
   return gates.resized_as(gradient, x) and numbers.write(gradient, p, 1)
end
