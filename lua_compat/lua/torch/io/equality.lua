-- Deep comparison with a tolerance, for torch.Tester. Each function returns whether the two values are equal within the
-- tolerance (negated: whether they are not) and, if not, a reason.
local memory = require 'torch.core.memory'
local few = require 'torch.luajit.elementwise'

local equality = {}

local difference_of_few = few.reduction([[
   local difference = abs($x - $y)
   if difference > result or difference ~= difference then result = difference end
]])

local function largest_difference(a, b)
   local r, s = memory.records[a], memory.records[b]
   local largest = r and s and difference_of_few(r, s, 0)
   if largest then return largest end
   -- types without abs are compared as doubles
   if not a.abs then a, b = a:double(), b:double() end
   return a:clone():add(-1, b):abs():max()
end

local function compare_elements(a, b, tolerance, negate, what)
   local difference = largest_difference(a, b)
   local ok = difference <= tolerance
   if negate then ok = not ok end
   if ok then return true end
   return false, ('%s%s violation: max diff=%s, tolerance=%s'):format(what, negate and 'NE(==)' or 'EQ(==)',
      tostring(difference), tostring(tolerance))
end

-- ignore_dims: tensors with the same number of elements count as having the same size.
function equality.tensors(a, b, tolerance, negate, ignore_dims)
   if not ignore_dims and a:dim() ~= b:dim() then return negate, 'The tensors have different dimensions' end
   if a:type() ~= b:type() then return negate, 'The tensors have different types' end
   if a:dim() == 0 and b:dim() == 0 then return not negate, 'Both tensors are empty' end
   local same
   if ignore_dims then same = a:nElement() == b:nElement() else same = a:isSameSizeAs(b) end
   if not same then return negate, 'The tensors have different sizes' end
   return compare_elements(a, b, tolerance, negate, 'Tensor')
end

local function storages(a, b, tolerance, negate)
   if a:size() ~= b:size() then return negate, 'The storages have different sizes' end
   if torch.type(a) ~= torch.type(b) then return negate, 'The storages have different types' end
   if a:size() == 0 then return not negate, 'Both storages are empty' end
   local constructor = torch.getconstructortable((torch.type(a):gsub('Storage$', 'Tensor')))
   return compare_elements(constructor(a, 1, a:size()), constructor(b, 1, b:size()), tolerance, negate, 'Storage')
end

local function numbers(a, b, tolerance, negate)
   local ok = math.abs(a - b) <= tolerance
   if negate then ok = not ok end
   if ok then return true end
   local message = ('%s: %s %s %s'):format(negate and 'NE failed' or 'EQ failed', tostring(a), negate and '==' or '~=',
      tostring(b))
   if tolerance > 0 then message = message .. ' with tolerance=' .. tostring(tolerance) end
   return false, message
end

-- Compares level by level, so that the shallowest difference is reported.
local function tables(a, b, tolerance, negate)
   local queue, head = { { a, b, nil } }, 1
   while queue[head] do
      local first, second, place = unpack(queue[head], 1, 3)
      head = head + 1
      local function inner(key) return (place and place .. '.' or '') .. tostring(key) end
      for key, value in pairs(first) do
         local other = second[key]
         if other == nil then
            return negate, ('Entry %s missing in second table (is %s in first)'):format(inner(key), tostring(value))
         end
         if type(value) == 'table' and type(other) == 'table' then
            queue[#queue + 1] = { value, other, inner(key) }
         else
            local ok, message = equality.any(value, other, tolerance, false)
            if not ok then return negate, ('At table location %s: %s'):format(inner(key), message) end
         end
      end
      for key, other in pairs(second) do
         if first[key] == nil then
            return negate, ('Entry %s missing in first table (is %s in second)'):format(inner(key), tostring(other))
         end
      end
   end
   return not negate, 'The tables are equal'
end

function equality.any(got, expected, tolerance, negate)
   if type(got) ~= type(expected) then
      if negate then return true end
      return false, ('EQ failed: values have different types (first: %s, second: %s)'):format(type(got), type(expected))
   elseif type(got) == 'number' then
      return numbers(got, expected, tolerance, negate)
   elseif type(expected) == 'table' then
      return tables(got, expected, tolerance, negate)
   elseif torch.isTensor(got) then
      return equality.tensors(got, expected, tolerance, negate)
   elseif torch.isStorage(got) then
      return storages(got, expected, tolerance, negate)
   end
   local ok = got == expected
   if negate then ok = not ok end
   if ok then return true end
   return false, ('%s: %s (%s) %s %s (%s)'):format(negate and 'NE failed' or 'EQ failed', tostring(got), type(got),
      negate and '==' or '~=', tostring(expected), type(expected))
end

return equality
