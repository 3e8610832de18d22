-- Runs the cases of a family's file. Each case has a seed of its own: a new one changes no other's draws. Prints how
-- many results were compared, and for each operation and way how often it computed, and how often without a reason.
-- usage: th two_ways.lua FILE SEED ROUNDS [cuda]
require 'nn'
local file, seed, rounds = arg[1], tonumber(arg[2]), tonumber(arg[3])
PLACE = arg[4]
package.path = arg[0]:match('^(.*/)[^/]*$') .. '?.lua;' .. package.path
local h, ways = require 'harness', require 'torch.core.ways'

local function seed_of(...)
   local number = seed
   for byte in table.concat({ ... }, ' '):gmatch('.') do number = (number * 31 + byte:byte()) % 2 ^ 31 end
   return number
end

for _, case in ipairs(dofile(file)) do
   for round = 1, rounds * (case.times or 1) do
      for _, T in ipairs(case.types) do
         h.seed = seed_of(case.name, T, round)
         torch.manualSeed(h.seed)
         local ok, problem = pcall(case.run, T)
         if not ok then error(('%s, %s, round %d: %s'):format(case.name, T, round, problem), 0) end
      end
   end
end
print(h.compared)
for _, row in ipairs(ways.counted()) do print(row.name, row.way, row.calls, row.reasons['no reason is given'] or 0) end
