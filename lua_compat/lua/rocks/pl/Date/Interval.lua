-- Time intervals.
local class = require 'pl.class'

return function(Date)
   local Interval = class(Date)

   function Interval:_init(seconds) self:set(seconds) end

   function Interval:set(seconds)
      self.time = seconds
      self.tab = os.date('!*t', seconds)
   end

   function Interval:__tostring()
      local t, parts = self.tab, {}
      local function add(n, name, plural)
         if n > 0 then parts[#parts + 1] = n .. ' ' .. name .. (plural and n > 1 and plural or '') .. ' ' end
      end
      add(t.year - 1970, 'year', 's')
      add(t.month - 1, 'month', 's')
      local has_months = #parts > 0
      add(t.day - 1, 'day', 's')
      if not has_months then
         add(t.hour, 'hour', 's')
         add(t.min, 'min')
         add(t.sec, 'sec')
      end
      return #parts > 0 and table.concat(parts) or 'zero'
   end

   return Interval
end
