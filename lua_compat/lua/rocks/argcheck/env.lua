-- The type functions that argcheck uses; scripts may replace them.
local env = { type = torch.type }

-- Whether a type's name matches the pattern, as a part of it, or exactly if the pattern is the name itself.
local function matches(name, pattern)
   local part = name:match(pattern)
   return part and (part ~= pattern or part == name)
end

-- Whether an object has a type or, for Torch's classes, inherits from it; a pattern is matched with the names.
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
