-- The globals of our own files: Lua's functions and copies of its libraries from before the script started, because the
-- script may replace or remove them. Everything else is read from the script's globals, and written there. (A script in
-- the sandbox has separate globals instead, and this table stays empty.) Called by th/boot.lua with the folder of our
-- packages. Returns the table, and the function that fills it.
local folder = ...
local globals = _G
local next, type, rawget, rawset, setmetatable = next, type, rawget, rawset, setmetatable

local own = setmetatable({}, { __index = globals, __newindex = globals })

local function copy(library)
   local fields = {}
   for name, value in next, library do fields[name] = value end
   return fields
end

-- Scripts replace these to redirect output, or to prevent an exit, so a script's function is called if there is one.
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

-- Both scripts and our code may change where packages are searched for.
local function with_paths(library)
   local fields = copy(library)
   fields.path, fields.cpath = nil, nil
   return setmetatable(fields, { __index = library, __newindex = library })
end

-- Our files find each other without a search: it would begin in the script's folder, and the script may change
-- package.path. Whole packages are searched for, because a script may bring its own.
local function with_own_files(require)
   local loadfile, loaded, preload, gsub, find = loadfile, package.loaded, package.preload, string.gsub, string.find
   return function(name)
      if loaded[name] == nil and type(name) == 'string' and find(name, '.', 1, true) then
         local path = folder .. '/' .. gsub(name, '%.', '/')
         local chunk = loadfile(path .. '.lua') or loadfile(path .. '/init.lua')
         if chunk then
            preload[name] = chunk
            local value = require(name)
            preload[name] = nil
            return value
         end
      end
      return require(name)
   end
end

local function fill()
   for name, value in next, globals do
      if name == 'package' then value = with_paths(value)
      elseif type(value) == 'table' and value ~= globals then value = copy(value) end
      if name ~= 'arg' then rawset(own, name, value) end
   end
   rawset(own, 'print', theirs_first(nil, 'print'))
   rawset(own, 'require', with_own_files(require))
   own.io.write, own.os.exit = theirs_first('io', 'write'), theirs_first('os', 'exit')
   -- for string methods that the script has removed
   setmetatable(string, { __index = own.string })
end

return own, fill
