-- A small tensor's elements in scratch buffers of doubles, and functions of them: losses and layers that read each
-- element several times, or need exp and log on the way, compute with these. One loop for each purpose serves all
-- types; only what reads and writes elements has one for each.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local vectors = require 'torch.luajit.vectors'
local memory = require 'torch.core.memory'
local few = require 'torch.luajit.elementwise'
local templates = require 'torch.core.templates'
local new_room = require 'torch.core.scratch'
local no = require('torch.core.ways').no
local gates = require 'nn.shared.luajit.gates'
local rooms = require 'nn.shared.luajit.scratch'

local is_contiguous = memory.is_contiguous
local count, cast, exp, log, abs, max, min = memory.count, ffi.cast, math.exp, math.log, math.abs, math.max, math.min
local doubles = ffi.typeof 'double *'
local room = new_room()

local numbers = {}

numbers.MOST = 2 ^ 13 -- as many elements cost about as much in Python as here

-- The n elements at q to the doubles at p: gives 0 where all are finite; back, times a factor; and added to
-- those that are there.
local function by_type(text)
   return templates.for_each(types.codes_of_reals, function(code)
      return templates.compile('nn.shared.luajit.as_doubles', text, {}, { get = types[code].get })
   end)
end
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

-- Room for n doubles, by name.
function numbers.room(name, n) return (cast(doubles, room(name, 8 * n))) end

-- A room with the elements of t, of real numbers; nil where these are none or too many (more than MOST or as given), or
-- not all finite.
function numbers.of(name, t, most)
   local n = count(t)
   if not gates.typed(t.T, t) or not gates.few(n, most or numbers.MOST) then return nil end
   t = rooms.in_one_piece(t)
   local p = numbers.room(name, n)
   return take(t.T.host.code)(p, memory.first_element(t), n) == 0 and p or no 'numbers that are not finite'
end

-- The same for what only reads: doubles are taken where they lie.
function numbers.seen(name, t, most)
   if t.T.host ~= types.Double or not is_contiguous(t) then return numbers.of(name, t, most) end
   if not gates.few(count(t), most or numbers.MOST) then return nil end
   return few.reads_plainly(t, t) and t.S.p + t.off or numbers.of(name, t, most)
end

-- What each of n classes counts, from weights of type T, or none: a room; nil where those are not for this.
function numbers.weights(weights, T, n)
   if weights then return gates.vector(weights, T, n, true) and numbers.of('weights', weights) end
   local p = numbers.room('weights', n)
   for k = 0, n - 1 do p[k] = 1 end
   return p
end

-- Where the doubles of r, in one piece, are written: its own memory, or a room of which numbers.write gives them to r.
function numbers.place_for(r)
   return r.T.host == types.Double and r.S.p + r.off or numbers.room('results', count(r))
end

-- Whether a parameter's gradients, from x and grad_output, can be added to `gradient` where it is.
function numbers.takes(gradient, parameter, x, grad_output)
   return gates.plain(gradient, x.T) and gates.same_size(gradient, parameter)
      and gates.apart(gradient, x, grad_output, parameter)
end

-- Adds factor times the numbers at p to t, in one piece.
function numbers.add_to(t, p, factor)
   add(t.T.host.code)(memory.first_element(t), p, count(t), factor)
end

local function apply(name, f)
   return function(p, n)
      local of_many = n > few.LIMIT_OF_FUNCTIONS and vectors.routine(types.Double, name, n)
      if of_many then return of_many(p, p, n) end
      for k = 0, n - 1 do p[k] = f(p[k]) end
   end
end

-- p[0] to [n - 1] become their exponentials, or their logarithms.
local exponentiate, take_logarithms = apply('exp', exp), apply('log', log)
numbers.exponentiate, numbers.take_logarithms = exponentiate, take_logarithms

-- p[k] = exp(-abs(z[k]))
local function decays(p, z, n)
   for k = 0, n - 1 do p[k] = -abs(z[k]) end
   exponentiate(p, n)
end

-- z becomes log(1 + exp(z)); of what is above `limit` itself. (As exact as log1p.)
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

-- z becomes 1 / (1 + exp(-z)).
function numbers.squash(z, n)
   local e = numbers.room('decays', n)
   decays(e, z, n)
   -- above zero 1 / (1 + e), which is at most 1, else e / (1 + e): without a branch, for signs are as good as random
   for k = 0, n - 1 do z[k] = max(e[k], min(1, z[k] * 1e308 * 1e308)) / (1 + e[k]) end
end

-- The sum of n numbers.
function numbers.sum(p, n)
   local sum = 0
   for k = 0, n - 1 do sum = sum + p[k] end
   return sum
end

-- Gives r, of as many elements in one piece, the numbers at p times a factor.
function numbers.write(r, p, factor)
   local q = memory.first_element(r)
   if q ~= p then give(r.T.host.code)(q, p, count(r), factor) end
   return true
end

return numbers
