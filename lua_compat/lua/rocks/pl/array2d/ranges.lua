-- Ranges in arrays, given by numbers or as text.
local utils = require 'pl.utils'

local ranges = {}

function ranges.size(a)
   utils.assert_arg(1, a, 'table')
   return #a, #a[1]
end

-- R2C3, or B3, where letters are columns.
local function cell(text)
   local upper = text:upper()
   local row, column = upper:match('^R(%d+)C(%d+)$')
   if not row then
      local letters
      letters, row = upper:match('^(%a%a?)(%d+)$')
      if letters then
         column = 0
         for letter in letters:gmatch('.') do column = column * 26 + letter:byte() - 64 end
      end
   end
   assert(row and column, 'bad cell specifier: ' .. text)
   return tonumber(row), tonumber(column)
end

-- The first row and column, and the last ones if there is a colon.
function ranges.parse(text)
   local first, last = text:match('^(.-):(.*)$')
   if not first then return cell(text) end
   local i1, j1 = cell(first)
   return i1, j1, cell(last)
end

-- The bounds of a range: by default the whole array, and never more than that.
function ranges.bounds(a, i1, j1, i2, j2)
   if type(i1) == 'string' and not (j1 or i2 or j2) then i1, j1, i2, j2 = ranges.parse(i1) end
   local rows, columns = ranges.size(a)
   local function from_end(index, n, default)
      index = index or default
      if index < 0 then index = n + index + 1 end
      return math.max(1, math.min(n, index))
   end
   return from_end(i1, rows, 1), from_end(j1, columns, 1), from_end(i2, rows, rows), from_end(j2, columns, columns)
end

return ranges
