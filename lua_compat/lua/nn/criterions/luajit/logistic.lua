-- Functions and losses of few elements based on log(1 + exp(x)) and its derivative.
local memory = require 'torch.core.memory'
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'
local numbers = require 'nn.shared.luajit.as_doubles'

local count, same_size, max, min = memory.count, memory.same_size, math.max, math.min
local of, both, soften, squash, sum, write = numbers.of, numbers.both, numbers.soften, numbers.squash, numbers.sum,
   numbers.write

local LINEAR = 20 -- from here on, log(1 + exp(x)) is taken as x

local logistic = { forward = {}, backward = {} }

local function scale(p, n, factor)
   if factor ~= 1 then
      for k = 0, n - 1 do p[k] = p[k] * factor end
   end
end

-- Multiplies the n numbers at p, one for each element of x, by weights: nil, one for each element, or one for each
-- index of the last dimension. Returns whether it could.
function logistic.weigh(p, n, x, weights)
   if not weights then return true end
   local columns = x[2 * x.nd - 1]
   if not (same_size(weights, x) or weights.nd == 1 and weights[1] == columns) then
      return no 'weights of other sizes'
   end
   if not gates.typed(x.T, weights) then return false end
   local w, j, last = of('weights', weights), 0, count(weights) - 1
   if not w then return false end
   for k = 0, n - 1 do
      p[k] = p[k] * w[j]
      j = j < last and j + 1 or 0
   end
   return true
end

local weigh = logistic.weigh

-- Transfer functions, called by nn/transfer/luajit/elementwise.lua: r has x's sizes.
function logistic.forward.soft_plus(r, x, _, beta, n, threshold)
   local z = gates.plain(r, r.T) and of('first', x)
   if not z then return false end
   scale(z, n, beta)
   soften(z, n, threshold)
   return write(r, z, 1 / beta)
end
function logistic.forward.log_sigmoid(r, x, _, _, n)
   local z = gates.plain(r, r.T) and of('first', x)
   if not z then return false end
   scale(z, n, -1)
   soften(z, n, LINEAR)
   for k = 0, n - 1 do
      if z[k] == math.huge then z[k] = 0 / 0 end -- Torch7 computes infinity - infinity
   end
   return write(r, z, -1)
end

function logistic.backward.soft_plus(r, x, gradient, beta, n, threshold)
   if not gates.plain(r, r.T) then return false end
   local z, g = both(x, gradient)
   if not g then return false end
   scale(z, n, beta)
   local linear = numbers.room('linear', n)
   for k = 0, n - 1 do linear[k] = z[k] > threshold and 1 or 0 end
   squash(z, n)
   for k = 0, n - 1 do z[k] = max(z[k], linear[k]) * g[k] end
   return write(r, z, 1)
end

-- z = -x * y; nil if exp(z) may overflow, which is left to Python
local FAR = 88 -- in single precision
local function disagreements(x, y)
   local z, w = both(x, y)
   if not w then return nil end
   local greatest = 0
   for k = 0, count(x) - 1 do
      z[k] = -z[k] * w[k]
      greatest = max(greatest, z[k])
   end
   if not (greatest < FAR) then return no 'numbers of a large range' end
   return z, w
end

-- log(1 + exp(-x * y))
function logistic.soft_margin(x, y, average)
   local z = disagreements(x, y)
   if not z then return false end
   local n = count(x)
   soften(z, n, LINEAR)
   local loss = sum(z, n)
   return true, average and loss / n or loss
end

function logistic.soft_margin_gradient(r, x, y, average)
   if not gates.typed(x.T, r) or not gates.apart(r, x, y) then return false end
   local z, w = disagreements(x, y)
   if not z then return false end
   local n = count(x)
   squash(z, n)
   for k = 0, n - 1 do z[k] = z[k] * w[k] end
   return gates.resized_as(r, x) and write(r, z, average and -1 / n or -1)
end

-- The loss log(1 + exp(x)) - x * y
function logistic.multi_label_soft_margin(x, y, weights, average)
   local z, w = both(x, y)
   if not w then return false end
   local n = count(x)
   for k = 0, n - 1 do w[k] = z[k] * w[k] end
   soften(z, n, math.huge)
   for k = 0, n - 1 do z[k] = z[k] - w[k] end
   if not weigh(z, n, x, weights) then return false end
   local loss = sum(z, n)
   return true, average and loss / n or loss
end
-- Losses on probabilities; for other numbers Python raises the error.
local EPSILON = 1e-12 -- keeps the logarithms finite
function luajit.binary_cross_entropy(x, y, weights, average)
   local z, w = both(x, y)
   if not w then return false end
   local n = count(x)
   local complement = numbers.room('third', n)
   local lowest, highest = 0, 1
   for k = 0, n - 1 do
      lowest, highest = min(lowest, z[k]), max(highest, z[k])
      z[k], complement[k] = z[k] + EPSILON, 1 - z[k] + EPSILON
   end
   if not (lowest == 0 and highest == 1) then return no 'numbers that are not probabilities' end
   numbers.take_logarithms(z, n)
   numbers.take_logarithms(complement, n)
   for k = 0, n - 1 do z[k] = -(z[k] * w[k] + complement[k] * (1 - w[k])) end
   if not weigh(z, n, x, weights) then return false end
   local loss = sum(z, n)
   return true, average and loss / n or loss
end

return logistic
