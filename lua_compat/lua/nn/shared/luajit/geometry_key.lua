-- Fields that two records have in common, by name, compared and copied in straight lines: LuaJIT enters a
-- loop anew each time, and finds a field whose name it knows faster.
local templates = require 'torch.core.templates'

-- Three functions for a list of names: whether two records have the same values there; what gives the first
-- those of the second; and what makes a record have none's. What is kept for a record is found after the third
-- is called and before the second is, which gives it the first field last: Ctrl-C, or a lack of memory, may
-- come while only a part is there.
local TEXT = 'return function(a, b) return $same end, function(a, b) $copy end, function(a) a.$first = nil end'
return function(names)
   local compared, copied = {}, {}
   for k, name in ipairs(names) do
      compared[k] = ('a.%s == b.%s'):format(name, name)
      copied[#names + 1 - k] = ('a.%s = b.%s'):format(name, name)
   end
   return templates.compile('nn.shared.luajit.geometry_key', TEXT, { same = table.concat(compared, ' and '),
      copy = table.concat(copied, ' '), first = names[1] })
end
