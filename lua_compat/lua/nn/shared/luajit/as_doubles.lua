-- A small tensor's elements in scratch buffers of doubles, and functions of them. Losses and layers that read each
-- element several times, or need exp and log, use these. One loop for each operation serves all types; only reading and
-- writing are specialised by type.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local vectors = require 'torch.luajit.vectors'
local memory = require 'torch.core.memory'
local few = require 'torch.luajit.elementwise'
local library = require 'torch.core.library'
local new_room = require 'torch.core.scratch'
local no = require('torch.core.ways').no
local gates = require 'nn.shared.luajit.gates'
local rooms = require 'nn.shared.luajit.scratch'

local is_contiguous = memory.is_contiguous
local count, cast, exp, log, abs, max, min = memory.count, ffi.cast, math.exp, math.log, math.abs, math.max, math.min
local doubles = ffi.typeof 'double *'
local room = new_room()

local numbers = {}

numbers.MOST = 2 ^ 13 -- elements; above that, Python is about as fast

-- Copies n elements at q to doubles at p, and returns 0 if all are finite; copies them back, times a factor; adds them
-- to existing elements.
local function by_type(text) return types.compiled('nn.shared.luajit.as_doubles', text, {}) end
local take = by_type [[
   return function(p, q, n)
      local odd = 0
      for k = 0, n - 1 do
         local x = get(q, k)
         p[k], odd = x, odd + x * 0
      end
      return odd
   end
]]
local give = by_type 'return function(q, p, n, factor) for k = 0, n - 1 do q[k] = p[k] * factor end end'
local add = by_type [[
   return function(q, p, n, factor)
      for k = 0, n - 1 do q[k] = get(q, k) + factor * p[k] end
   end
]]

-- A scratch buffer of n doubles, by name.
function numbers.room(name, n) return (cast(doubles, room(name, 8 * n))) end

-- A scratch buffer with the elements of t, of real numbers; nil if t has no elements, more than `most` (default MOST),
-- or elements that are not finite.
function numbers.of(name, t, most)
   local n = count(t)
   if not gates.typed(t.T, t) or not gates.few_for_now(n, most or numbers.MOST) then return nil end
   t = rooms.in_one_piece(t)
   local p = numbers.room(name, n)
   return take(t.T)(p, memory.first_element(t), n) == 0 and p or no 'numbers that are not finite'
end

-- The same for reading only: doubles are used in place.
function numbers.seen(name, t, most)
   if t.T.host ~= types.Double or not is_contiguous(t) then return numbers.of(name, t, most) end
   if not gates.few_for_now(count(t), most or numbers.MOST) then return nil end
   return few.reads_plainly(t, t) and t.S.p + t.off or numbers.of(name, t, most)
end

-- Two tensors of one type with as many elements, read by `numbers_of` (numbers.of, the default, if they will be
-- overwritten); nil if Python has to compute.
function numbers.both(a, b, numbers_of)
   if count(a) ~= count(b) then return no 'tensors of different sizes' end
   if not gates.typed(a.T, b) then return nil end
   numbers_of = numbers_of or numbers.of
   local p = numbers_of('first', a)
   return p, p and numbers_of('second', b)
end

-- The numbers of rows and columns of a matrix; a vector is a row.
function numbers.rows_and_columns(x)
   if x.nd == 2 then return x[1], x[3] end
   return 1, x[1]
end

-- 1 for a number above zero, else 0
function numbers.gate(x) return (min(1, max(0, x * 1e308 * 1e308))) end

-- The weights of n classes, from a tensor of type T or nil, in a scratch buffer; nil if the tensor is unsuitable.
function numbers.weights(weights, T, n)
   if weights then return gates.vector(weights, T, n, true) and numbers.of('weights', weights) end
   local p = numbers.room('weights', n)
   for k = 0, n - 1 do p[k] = 1 end
   return p
end

-- Where to write the doubles of r, which is contiguous: its own memory, or a scratch buffer that numbers.write copies
-- to r.
function numbers.place_for(r)
   return r.T.host == types.Double and r.S.p + r.off or numbers.room('results', count(r))
end

-- Whether a parameter's gradient, from x and grad_output, can be added to `gradient` in place.
function numbers.takes(gradient, parameter, x, grad_output)
   return gates.plain(gradient, x.T) and gates.same_size(gradient, parameter)
      and gates.apart(gradient, x, grad_output, parameter)
end

-- Adds factor times the numbers at p to t, which is contiguous.
function numbers.add_to(t, p, factor)
   add(t.T)(memory.first_element(t), p, count(t), factor)
end

local function apply(name, f)
   return function(p, n)
      local of_many = n > few.LIMIT_OF_FUNCTIONS and library.is_worth(few.STEPS_OF_FUNCTION * n)
         and vectors.routine(types.Double, name, n)
      if of_many then return of_many(p, p, n) end
      for k = 0, n - 1 do p[k] = f(p[k]) end
   end
end

-- Replaces p[0] to p[n - 1] by their exponentials, or by their logarithms.
local exponentiate, take_logarithms = apply('exp', exp), apply('log', log)
numbers.exponentiate, numbers.take_logarithms = exponentiate, take_logarithms

-- p[k] = exp(-abs(z[k]))
local function decays(p, z, n)
   for k = 0, n - 1 do p[k] = -abs(z[k]) end
   exponentiate(p, n)
end

-- Replaces z by log(1 + exp(z)); numbers above `limit` are kept. (As accurate as log1p.)
function numbers.soften(z, n, limit)
   local e, u = numbers.room('decays', n), numbers.room('logarithms', n)
   decays(e, z, n)
   for k = 0, n - 1 do u[k] = 1 + e[k] end
   take_logarithms(u, n)
   for k = 0, n - 1 do
      local one_more = 1 + e[k]
      local rest = u[k] - ((one_more - 1) - e[k]) / one_more
      z[k] = z[k] > limit and z[k] or max(z[k], 0) + rest
   end
end

-- Replaces z by 1 / (1 + exp(-z)).
function numbers.squash(z, n)
   local e = numbers.room('decays', n)
   decays(e, z, n)
   -- 1 / (1 + e), at most 1, for positive z, else e / (1 + e): without a branch, because signs are random
   for k = 0, n - 1 do z[k] = max(e[k], min(1, z[k] * 1e308 * 1e308)) / (1 + e[k]) end
end

-- The sum of n numbers.
function numbers.sum(p, n)
   local sum = 0
   for k = 0, n - 1 do sum = sum + p[k] end
   return sum
end

-- Writes the numbers at p, times a factor, to r, which is contiguous and has as many elements.
function numbers.write(r, p, factor)
   local q = memory.first_element(r)
   if q ~= p then give(r.T)(q, p, count(r), factor) end
   return true
end

return numbers
