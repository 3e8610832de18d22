-- What follows from the numbers of a layer and the sizes of its input, such as where its windows begin: a record that
-- is made once, kept, and passed on. Nothing in it changes afterwards, so that a call which Ctrl-C ends leaves nothing
-- half made.
local templates = require 'torch.core.templates'

local geometry = {}

local SLOTS, MOST_BYTES = 256, 2 ^ 24 -- of a kind of layer; with more bytes, all are made anew

-- Straight lines: LuaJIT enters a loop anew each time, and finds a field faster whose name it knows.
local TEXT = [[
   return function($parameters)
      local nd, first, second = x.nd, x[1], x[3]
      local last = x[2 * nd - 1]
      -- (LuaJIT does not compile the reading of a number behind a table's list.)
      local before, third = nd > 1 and x[2 * nd - 3], nd > 2 and x[2 * nd - 5]
      local g = kept.last
      if $same then return g end
      local slot = band(tobit($sum), $slots - 1)
      g = kept[slot]
      if $same then
         kept.last = g
         return g
      end
      return keep(slot, make({ $fields }, x))
   end
]]
local SIZES = 'nd, first, second, last, before, third, ' -- which are all there are
local PRIMES = { 1, 7, 31, 61, 97, 131, 173, 211, 241 }

-- A function(x, ...) of an input of at most five dimensions and a layer's numbers or booleans, which have these names,
-- separated by commas (there may be none). It gives a record that has them. make(record, x) completes and gives it,
-- with further fields; what else that gives is not kept. All records have all fields, in an order that does not depend
-- on which are numbers (LuaJIT's code for a record is for its layout). record.bytes: memory that the record holds, if
-- it is much
function geometry.of(names, further, make)
   local sum, same, fields, known = {}, {}, {}, {}
   for name in (SIZES .. names):gmatch '[%w_]+' do
      known[name], same[#same + 1] = name, ('g.%s == %s'):format(name, name)
      fields[#fields + 1] = ('%s = %s'):format(name, name)
      local prime = PRIMES[#same]
      sum[#sum + 1] = prime and ('(%s == true and 1 or %s or 0) * %d'):format(name, name, prime)
   end
   for name in (further .. ', bytes'):gmatch '[%w_]+' do
      if not known[name] then known[name], fields[#fields + 1] = name, name .. ' = false' end
   end
   table.sort(fields)
   local kept, bytes = { last = {} }, 0
   for slot = 0, SLOTS - 1 do kept[slot] = {} end
   local function keep(slot, g)
      if not g then return g end
      for name in pairs(g) do
         if not known[name] then error(('geometry: no field %s is declared'):format(name), 0) end
      end
      bytes = bytes + (g.bytes or 0)
      if bytes > MOST_BYTES then
         for k = 0, SLOTS - 1 do kept[k] = {} end
         bytes = g.bytes
      end
      kept[slot], kept.last = g, g
      return g
   end
   return templates.compile('nn.shared.luajit.geometry', TEXT,
      { parameters = ('x, ' .. names):gsub(', $', ''), sum = table.concat(sum, ' + '),
      same = table.concat(same, ' and '), fields = table.concat(fields, ', '), slots = SLOTS, kept = kept, make = make,
      keep = keep })
end

return geometry
