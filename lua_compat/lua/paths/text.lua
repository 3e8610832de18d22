-- Checks that the argument of a function of paths or lfs is a text, as their C functions do. Returns the text.
return function(value, place, name)
   if type(value) == 'number' then return tostring(value) end
   if type(value) ~= 'string' then
      error(("bad argument #%d to '%s' (string expected, got %s)"):format(place, name,
         value == nil and 'no value' or type(value)), 3)
   end
   return value
end
