-- What Tensor:data() returns for elements in a GPU's memory, which Lua cannot access: a value that can be compared and
-- printed like a pointer. Reading or writing through it raises an error that says so.
local ffi = require 'ffi'

local addresses = setmetatable({}, { __mode = 'k' })
local types = setmetatable({}, { __mode = 'k' })

local function refuse(pointer)
   error(('the elements of a %s are in the GPU\'s memory, which Lua cannot reach by a pointer: use t[i], or copy '
      .. 'them with t:%s()'):format(types[pointer].tensor, types[pointer].host.name:lower()), 2)
end

local Pointer = {
   __index = refuse,
   __newindex = refuse,
   __metatable = false,
   __eq = function(a, b) return addresses[a] == addresses[b] end,
   __tostring = function(self)
      return tostring(ffi.cast(types[self].pointer, addresses[self]))
   end,
}

local device_pointers = {}

-- A pointer to an address in memory of type T.
function device_pointers.new(T, address)
   local pointer = setmetatable({}, Pointer)
   addresses[pointer], types[pointer] = address, T
   return pointer
end

-- The address as an FFI integer; nil for anything else.
function device_pointers.address(pointer)
   local address = addresses[pointer]
   return address and ffi.cast('intptr_t', address)
end

return device_pointers
