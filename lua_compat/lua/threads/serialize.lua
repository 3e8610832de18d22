-- Objects as bytes (a CharStorage) and back: what goes from one Lua state to another is a copy.
local function save(object)
   local file = torch.MemoryFile():binary()
   file:writeObject(object)
   local bytes = file:storage()
   file:close()
   return bytes
end

local function load(bytes)
   local file = torch.MemoryFile(bytes, 'r'):binary()
   local object = file:readObject()
   file:close()
   return object
end

return { save = save, load = load }
