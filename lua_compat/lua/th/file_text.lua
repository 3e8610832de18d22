-- The contents of a file; nil if it cannot be read.
return function(path)
   local file = io.open(path)
   local text = file and file:read('*a')
   if file then file:close() end
   return text
end
