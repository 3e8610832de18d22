-- The geometry of a layer: what follows from its numbers and its input's sizes, such as where windows begin. It is a
-- record that is computed once, cached, and passed on. It is not changed afterwards, so a call interrupted by Ctrl-C
-- leaves no incomplete record.
local templates = require 'torch.core.templates'

local geometry = {}

local SLOTS, MOST_BYTES = 256, 2 ^ 24 -- for each kind of layer; with more bytes, the cache is emptied

-- Written without loops: LuaJIT enters a loop anew each time, and finds fields with constant names faster.
local TEXT = [[
   return function($parameters)
      local nd, first, second = x.nd, x[1], x[3]
      local last = x[2 * nd - 1]
      -- (LuaJIT does not compile reading an index beyond the end of a table's array part.)
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
local NONE = {} -- in empty slots: equal to no layer
local SIZES = 'nd, first, second, last, before, third, ' -- all sizes of an input
local PRIMES = { 1, 7, 31, 61, 97, 131, 173, 211, 241 }

-- Returns a function(x, ...) of an input with at most five dimensions and a layer's numbers or booleans, whose names
-- are comma-separated in `names` (possibly none). It returns a record with them. make(record, x) completes the record
-- with the `further` fields and returns it; false or nil is not cached. All records have the same fields in the same
-- order, because LuaJIT's code depends on a table's layout. record.bytes: the memory that the record holds, if that is
-- large.
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
   local kept, bytes = { last = NONE }, 0
   for slot = 0, SLOTS - 1 do kept[slot] = NONE end
   local function keep(slot, g)
      if not g then return g end
      for name in pairs(g) do
         if not known[name] then error(('geometry: no field %s is declared'):format(name), 0) end
      end
      bytes = bytes + (g.bytes or 0)
      if bytes > MOST_BYTES then
         for k = 0, SLOTS - 1 do kept[k] = NONE end
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
