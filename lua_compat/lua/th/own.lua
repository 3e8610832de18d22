-- The globals of our own files: Lua's functions and copies of its libraries as they were before the script, which may
-- put others in their place or take them away. Everything else is read from the script's globals, and written there. (A
-- script in the sandbox has globals of its own instead, and the table stays empty.)
-- Called by th/boot.lua; returns the table and the function that fills it.
local globals = _G
local next, type, rawget, rawset, setmetatable = next, type, rawget, rawset, setmetatable

local own = setmetatable({}, { __index = globals, __newindex = globals })

local function copy(library)
   local fields = {}
   for name, value in next, library do fields[name] = value end
   return fields
end

-- Scripts send what is printed elsewhere, or stay where th would leave: a function of theirs is called here, too.
local function theirs_first(library_name, name)
   local ours = library_name and rawget(own, library_name)[name] or rawget(own, name)
   return function(...)
      local holder = globals
      if library_name then holder = rawget(globals, library_name) end
      local theirs = type(holder) == 'table' and rawget(holder, name)
      if type(theirs) == 'function' then return theirs(...) end
      return ours(...)
   end
end

-- Where packages are looked for may be changed by scripts, and by us.
local function with_paths(library)
   local fields = copy(library)
   fields.path, fields.cpath = nil, nil
   return setmetatable(fields, { __index = library, __newindex = library })
end

local function fill()
   for name, value in next, globals do
      if name == 'package' then value = with_paths(value)
      elseif type(value) == 'table' and value ~= globals then value = copy(value) end
      if name ~= 'arg' then rawset(own, name, value) end
   end
   rawset(own, 'print', theirs_first(nil, 'print'))
   own.io.write, own.os.exit = theirs_first('io', 'write'), theirs_first('os', 'exit')
   -- strings' methods, where the script has taken one away
   setmetatable(string, { __index = own.string })
end

return own, fill
