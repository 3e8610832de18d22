-- Sizes that a constructor is given, and checks of two tensors' sizes before a layer or criterion computes, with THNN's
-- errors.
local memory = require 'torch.core.memory'

local records, same_size = memory.records, memory.same_size

local sizes = {}

local function text(t) return '[' .. table.concat(t:size():totable(), ' x ') .. ']' end
sizes.text = text

-- The sizes that a constructor is given, as numbers or as a LongStorage, in a new LongStorage.
function sizes.given(...)
   local list = { ... }
   local count, first = #list, list[1]
   if count == 1 and torch.typename(first) == 'torch.LongStorage' then return torch.LongStorage(first:totable()) end
   local storage = torch.LongStorage(count)
   for i = 1, count do storage[i] = list[i] end
   return storage
end

-- Raises an error unless two tensors, of these names, have as many elements.
function sizes.check_counts(a, name, b, other)
   if a:nElement() == b:nElement() then return end
   error(('%s and %s have different number of elements: %s%s has %d elements, while %s%s has %d elements'):format(name,
      other, name, text(a), a:nElement(), other, text(b), b:nElement()), 0)
end

-- Returns gradOutput with the sizes of x, the layer's input or output, whose name is an argument. Torch7 accepts other
-- sizes if there are as many elements. strict: for a layer where it accepts the same sizes alone.
function sizes.like(gradOutput, x, name, strict)
   local g, r = records[gradOutput], records[x]
   if not g or not r or same_size(g, r) then return gradOutput end
   if strict then
      error(('%s and gradOutput shapes do not match: %s %s, gradOutput %s'):format(name, name, text(x),
         text(gradOutput)), 0)
   end
   sizes.check_counts(x, name, gradOutput, 'gradOutput')
   return gradOutput:contiguous():viewAs(x)
end

return sizes
