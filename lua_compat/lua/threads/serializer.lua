-- Returns two functions: from objects to bytes (a CharStorage), and back. prepare(file) is called on the files they
-- use.
return function(prepare)
   local function save(object)
      local file = torch.MemoryFile():binary()
      prepare(file)
      file:writeObject(object)
      local bytes = file:storage()
      file:close()
      return bytes
   end

   local function load(bytes)
      local file = torch.MemoryFile(bytes, 'r'):binary()
      prepare(file)
      local object = file:readObject()
      file:close()
      return object
   end

   return { save = save, load = load }
end
