-- Equality within a tolerance: each function returns whether it holds and, if not, the reason.
local function wanted(kind, is, a, b, tolerance)
   assert(is(a), 'First argument should be a ' .. kind)
   assert(is(b), 'Second argument should be a ' .. kind)
   assert(type(tolerance) == 'number',
      'Third argument should be a number describing a tolerance on equality for a single element')
end

local function violated(what, negate, name, a, b, other_name)
   return ('%s%s violation: %s=%s, %s=%s'):format(what, negate and 'NE(==)' or 'EQ(==)', name, tostring(a), other_name,
      tostring(b))
end

-- Whether a difference is within the tolerance or, if negated, exceeds it.
local function close(difference, tolerance, negate, what)
   local ok = (difference <= tolerance) ~= negate
   return ok, not ok and violated(what, negate, 'max diff', difference, tolerance, 'tolerance') or nil
end

local function largest_difference(a, b)
   if not a.abs then a = a:double() end -- missing for bytes, chars and shorts
   if not b.abs then b = b:double() end
   return a:clone():add(-1, b):abs():max()
end

function totem.areTensorsEq(a, b, tolerance, negate)
   negate, tolerance = negate or false, tolerance or 0
   wanted('Tensor', torch.isTensor, a, b, tolerance)
   if a:dim() ~= b:dim() then return negate, 'The tensors have different dimensions' end
   if a:type() ~= b:type() then return negate, 'The tensors have different types' end
   if a:dim() == 0 then return not negate, 'Both tensors are empty' end
   if not a:isSameSizeAs(b) then return negate, 'Both tensors are empty' end -- sic
   return close(largest_difference(a, b), tolerance, negate, 'Tensor')
end

local function as_tensor(storage)
   return torch[torch.type(storage):match('(%a+)Storage') .. 'Tensor'](storage)
end

function totem.areStoragesEq(a, b, tolerance, negate)
   negate, tolerance = negate or false, tolerance or 0
   wanted('Storage', torch.isStorage, a, b, tolerance)
   if a:size() ~= b:size() then return negate, 'The storages have different sizes' end
   if torch.type(a) ~= torch.type(b) then return negate, 'The storages have different types' end
   return close(largest_difference(as_tensor(a), as_tensor(b)), tolerance, negate, 'Storage')
end

function totem.areTablesEq(a, b, tolerance, negate)
   negate, tolerance = negate or false, tolerance or 0
   wanted('Table', function(t) return type(t) == 'table' end, a, b, tolerance)
   for _, keys in ipairs{ b, a } do
      for key in pairs(keys) do
         local ok, problem = totem.areEq(a[key], b[key], tolerance, false)
         if not ok then return negate, problem end
      end
   end
   return not negate, 'The tables are equal.'
end

function totem.areEq(got, expected, tolerance, negate)
   negate, tolerance = negate or false, tolerance or 0
   local kind = type(got)
   if kind ~= type(expected) then
      return negate, not negate and ('Arguments are not of the same type (got: %s, expected: %s)'):format(kind,
         type(expected)) or nil
   elseif kind == 'number' then
      return close(math.abs(got - expected), tolerance, negate, kind)
   elseif kind == 'table' then
      return totem.areTablesEq(got, expected, tolerance, negate)
   elseif torch.isTensor(got) then
      return totem.areTensorsEq(got, expected, tolerance, negate)
   elseif torch.isStorage(got) then
      return totem.areStoragesEq(got, expected, tolerance, negate)
   end
   local ok = (got == expected) ~= negate
   return ok, not ok and violated(kind, negate, 'val1', got, expected, 'val2') or nil
end

function totem.areTensorsNe(a, b, tolerance) return totem.areTensorsEq(a, b, tolerance, true) end
function totem.areStoragesNe(a, b, tolerance) return totem.areStoragesEq(a, b, tolerance, true) end

for name, compare in pairs{ Tensor = 'areTensorsEq', Storage = 'areStoragesEq', Table = 'areTablesEq' } do
   totem['assert' .. name .. 'Eq'] = function(a, b, tolerance) return assert(totem[compare](a, b, tolerance)) end
   totem['assert' .. name .. 'Ne'] = function(a, b, tolerance) return assert(totem[compare](a, b, tolerance, true)) end
end
