-- Rows that are sorted by buckets have the order that Torch7's quicksort gives them: sort, median, kthvalue, topk and
-- mode of random rows compared with what they are where no row is for buckets. Arguments: seed, rounds. Prints how many
-- results were compared.
require 'torch'
local buckets, records = require 'torch.luajit.sorting.buckets', require('torch.core.memory').records
local ffi = require 'ffi'
torch.manualSeed(tonumber(arg[1]))

local TYPES = { 'Double', 'Float', 'Int', 'Short', 'Char', 'Byte', 'Long' }
local special = { 0, -0.0, 1 / 0, -1 / 0, 0 / 0, 1e308, -1e308, 5e-324 }

local function pick(...) return (select(torch.random(select('#', ...)), ...)) end

-- Rows in one layout or another, of which some are easy and some are not.
local function rows()
   local n, m = pick(1, 5, 11, 12, 13, 30, 64, 200), pick(1, 3, 20, 150)
   local t = torch.randn(m, n)
   local what = torch.random(6)
   if what == 1 then t:mul(3):floor()
   elseif what == 2 then t:mul(10):exp()
   elseif what == 3 then
      for _ = 1, torch.random(5) do t[torch.random(m)][torch.random(n)] = special[torch.random(#special)] end
   elseif what == 4 then t:mul(1e-320)
   elseif what == 5 then t[torch.random(m)]:fill(2) end
   if torch.random(2) == 1 and what ~= 3 then t:mul(100) end
   t = t:type('torch.' .. TYPES[torch.random(#TYPES)] .. 'Tensor')
   local layout = torch.random(4)
   if layout == 1 then return t:t(), 1 end
   if layout == 2 then return t:view(m, 1, n):expand(m, 2, n), 3 end
   if layout == 3 then return torch.cat(t, t, 2):narrow(2, torch.random(n), n), 2 end
   return t, 2
end

local function bytes(t)
   t = t:contiguous()
   return ffi.string(t:data(), t:nElement() * t:elementSize())
end

-- A function that computes values and positions of t along d, into results that it makes, or into t.
local function computation(n)
   local what, k, falling = torch.random(6), torch.random(n), torch.random(2) == 1
   if what == 1 then return function(t, d) return t:median(d) end end
   if what == 2 then return function(t, d) return t:kthvalue(k, d) end end
   if what == 3 then return function(t, d) return t:topk(k, d, falling, true) end end
   if what == 4 then return function(t, d) return t:mode(d) end end
   if what == 5 then return function(t, d) return torch.sort(t, torch.LongTensor(), t, d, falling) end end
   return function(t, d) return t:sort(d, falling) end
end

local fit, compared, in_buckets = buckets.fit, 0, 0
for _ = 1, tonumber(arg[2]) do
   local t, d = rows()
   local compute = computation(t:size(d))
   local other = t.new():set(t:storage().new(t:storage():size()):copy(t:storage()), t:storageOffset(), t:size(),
      t:stride())
   if fit(records[t], d) then in_buckets = in_buckets + 1 end
   local values, positions = compute(t, d)
   buckets.fit = function() return false end
   local wanted, wanted_positions = compute(other, d)
   buckets.fit = fit
   assert(bytes(values) == bytes(wanted) and bytes(positions) == bytes(wanted_positions))
   assert(bytes(t) == bytes(other))
   compared = compared + 1
end
assert(in_buckets > compared / 4)
print(compared)
