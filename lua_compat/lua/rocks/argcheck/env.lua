-- The types that argcheck knows: scripts may replace these functions.
local env = { type = torch.type }

-- Whether a type's name has the pattern, in a part of it or, where that part is the pattern itself, in whole.
local function matches(name, pattern)
   local part = name:match(pattern)
   return part and (part ~= pattern or part == name)
end

-- Whether an object is of a type or, of Torch's classes, of one that inherits from it; patterns match their names.
function env.istype(obj, typename)
   local class_name = torch.typename(obj)
   if not class_name then return type(obj) == typename end
   if matches(class_name, typename) then return true end
   local metatable = torch.getmetatable(class_name)
   while metatable do
      if metatable.__typename and matches(metatable.__typename, typename) then return true end
      metatable = getmetatable(metatable)
   end
   return false
end

return env
