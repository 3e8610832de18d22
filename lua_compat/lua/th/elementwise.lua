-- Reads the arguments of elementwise functions (cephes, randomkit): numbers, or tensors with the same number of
-- elements, after an optional tensor for the results. Returns the tensor for the results, the parameters as contiguous
-- DoubleTensors, the number of results, and whether all parameters were numbers.
return function(package, name, count, ...)
   local given = select('#', ...)
   for place = 1, given do
      if select(place, ...) == nil then
         error(('Bad %s call - argument %d is nil when calling function %s!'):format(package, place, name), 4)
      end
   end
   if given ~= count and given ~= count + 1 then
      error(('CHKPARAMS: need %d arguments and optionally, one result tensor, instead got %d arguments'):format(count,
         given), 4)
   end
   local parameters, result = { ... }, nil
   if given == count + 1 then
      result = table.remove(parameters, 1)
      if not torch.isTensor(result) then error('Invalid type ' .. type(result) .. ' for result', 4) end
   end
   local size, numbers = 1, result == nil
   for place, parameter in ipairs(parameters) do
      local elements = 1
      if torch.isTensor(parameter) then
         numbers, elements = false, parameter:nElement()
         parameters[place] = parameter:double():contiguous()
      elseif type(parameter) == 'number' or type(parameter) == 'cdata' then
         parameters[place] = torch.DoubleTensor{ tonumber(parameter) }
      else
         error(('Invalid type %s for parameter %d.'):format(type(parameter), place), 4)
      end
      if elements ~= 1 and size ~= 1 and elements ~= size then
         error('Incoherent number of elements for parameters', 4)
      end
      size = math.max(size, elements)
   end
   if result and size ~= 1 and size ~= result:nElement() then
      error(("Parameter's number of elements (%d) does not match result's number of elements (%d)"):format(size,
         result:nElement()), 4)
   end
   return result, parameters, size, numbers
end
