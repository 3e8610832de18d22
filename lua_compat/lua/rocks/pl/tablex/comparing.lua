-- Comparisons of tables.
local check = require 'pl.tablex.arguments'

local comparing = {}

-- compared: for each table of the first value, the tables of the second with which it is being compared. In a cycle the
-- answer is not known yet, so they are assumed equal.
local function same(a, b, ignore_metatables, tolerance, compared)
   local kind = type(a)
   if kind ~= type(b) then return false end
   if kind ~= 'table' then
      if kind == 'number' and tolerance then return math.abs(a - b) < tolerance end
      return a == b
   end
   local metatable = getmetatable(a)
   if not ignore_metatables and metatable and metatable.__eq then return a == b end
   compared[a] = compared[a] or {}
   if compared[a][b] then return true end
   compared[a][b] = true
   for key in pairs(b) do
      if a[key] == nil then return false end
   end
   for key, value in pairs(a) do
      if not same(value, b[key], ignore_metatables, tolerance, compared) then return false end
   end
   return true
end

-- Compares values, and tables by their fields; numbers within a tolerance.
function comparing.deepcompare(a, b, ignore_metatables, tolerance)
   return same(a, b, ignore_metatables, tolerance, {})
end

function comparing.compare(a, b, equal_values)
   check.indexable(1, a)
   check.indexable(2, b)
   if #a ~= #b then return false end
   equal_values = check.callable(3, equal_values)
   for i = 1, #a do
      if not equal_values(a[i], b[i]) then return false end
   end
   return true
end

local function equal(a, b) return a == b end

-- Whether the elements of one can be paired with those of the other.
function comparing.compare_no_order(a, b, equal_values)
   check.indexable(1, a)
   check.indexable(2, b)
   equal_values = equal_values and check.callable(3, equal_values) or equal
   if #a ~= #b then return false end
   local taken = {}
   for i = 1, #a do
      local partner
      for j = 1, #b do
         if not taken[j] and equal_values(a[i], b[j]) then
            partner = j
            break
         end
      end
      if not partner then return false end
      taken[partner] = true
   end
   return true
end

return comparing
