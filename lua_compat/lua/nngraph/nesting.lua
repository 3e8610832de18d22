-- Operations on tensors, or nested tables of tensors.
local nesting = {}

function nesting.cloneNested(value)
   if torch.isTensor(value) then return value:clone() end
   local copy = {}
   for key, child in pairs(value) do copy[key] = nesting.cloneNested(child) end
   return copy
end

function nesting.fillNested(value, number)
   if torch.isTensor(value) then
      value:fill(number)
   else
      for _, child in pairs(value) do nesting.fillNested(child, number) end
   end
end

-- Gives `output` the structure and the sizes of `input`.
function nesting.resizeNestedAs(output, input)
   if torch.isTensor(output) then
      output:resizeAs(input)
      return
   end
   for key, child in pairs(input) do
      if output[key] then
         nesting.resizeNestedAs(output[key], child)
      else
         output[key] = nesting.cloneNested(child)
      end
   end
   for key in pairs(output) do
      if not input[key] then output[key] = nil end
   end
end

function nesting.copyNested(output, input)
   if torch.isTensor(output) then
      output:copy(input)
      return
   end
   for key in pairs(output) do
      if not input[key] then error(('key %s present in output but not in input'):format(tostring(key)), 2) end
   end
   for key, child in pairs(input) do nesting.copyNested(output[key], child) end
end

function nesting.addNestedTo(output, input)
   if torch.isTensor(output) then
      output:add(input)
      return
   end
   for key, child in pairs(input) do
      assert(output[key] ~= nil, 'missing key')
      nesting.addNestedTo(output[key], child)
   end
end

return nesting
