-- Fields that two records have in common, by name, compared and copied in straight lines: LuaJIT enters a
-- loop anew each time, and finds a field whose name it knows faster.
local compiled = require 'torch.compiled'

-- Two functions for a list of names: one gives whether two records have the same values there, the other
-- gives the first those of the second.
return function(names)
   local compared, copied = {}, {}
   for k, name in ipairs(names) do
      compared[k] = ('a.%s == b.%s'):format(name, name)
      copied[k] = ('a.%s = b.%s'):format(name, name)
   end
   return compiled.from_text(('return function(a, b) return %s end, function(a, b) %s end'):format(table.concat(compared, ' and '),
      table.concat(copied, ' ')), 'nn.few.fields')()
end
