-- Calls all methods of tensors that only compute, with tensors of several types and layouts; an error if LuaJIT or BLAS
-- refuses without a reason. Prints how many calls did not raise.
require 'torch'
local ways, allowed = require 'torch.core.ways', require 'th.allowed'
torch.manualSeed(1)

local TYPES = { 'Double', 'Float', 'Long', 'Byte', 'Int', 'Half' }
local LAYOUTS = {
   function() return torch.rand(3, 3) end, function() return torch.rand(3, 3):t() end,
   function() return torch.rand(9) end, function() return torch.rand(1, 3):expand(3, 3) end,
   function() return torch.rand(160, 160) end, function() return torch.rand(160, 320):narrow(2, 1, 160) end,
   function() return torch.rand(4, 3, 3):transpose(1, 3) end, function() return torch.rand(20, 1, 70) end,
}
local function any(type_name)
   return LAYOUTS[torch.random(#LAYOUTS)]():mul(4):type(type_name
      or ('torch.%sTensor'):format(TYPES[torch.random(#TYPES)]))
end
-- What stands for the arguments of a method of t.
local MADE = {
   other = function(t) return any(t:type()) end,
   alike = function(t) return torch.rand(t:size()):mul(3):type(t:type()) end,
   indices = function() return torch.LongTensor{ 1, 3, 2 } end,
   mask = function(t) return torch.rand(t:size()):mul(1.9):byte() end,
   any = function() return any() end,
}
local LISTS = { {}, { 2 }, { 1, 1 }, { 'other' }, { 'other', 1 }, { 1, 'other' }, { 'other', 'other' },
   { 'other', 2, 'other' }, { 1, 'indices' }, { 1, 'indices', 'other' }, { 1, 'indices', 1 }, { 'other', 1, 'indices' },
   { 'mask' }, { 'mask', 1 }, { 'mask', 'other' }, { 2, 1 }, { 'other', 2, 1 }, { 'alike' }, { 'alike', 2 },
   { 'alike', 'alike' }, { 1, 'alike', 'alike' }, { 'any' } }

local computed, reasonless = 0, {}
for name in pairs(allowed.tensor) do
   for _, list in ipairs(LISTS) do
      local t, values = any(), {}
      for k, word in ipairs(list) do values[k] = MADE[word] and MADE[word](t) or word end
      ways.forget()
      if name ~= 'free' and pcall(function() return t[name](t, unpack(values, 1, #list)) end) then
         computed = computed + 1
      end
      for _, row in ipairs(ways.counted()) do
         if row.reasons['no reason is given'] then reasonless[#reasonless + 1] = row.name end
      end
   end
end
assert(#reasonless == 0, table.concat(reasonless, ' '))
print(computed)
