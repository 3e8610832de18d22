-- LuaFileSystem's functions, except locks.
local paths = require 'paths'
local python = require('th.python').functions

local lfs = { _VERSION = 'LuaFileSystem 1.8.0' }

local names = { 'mode', 'permissions', 'size', 'access', 'modification', 'change', 'nlink' }

local function attributes_of(path, follow_links, wanted)
   local found = { python.path_attributes(path, follow_links) }
   if #found == 1 then return nil, ("cannot obtain information from file '%s': %s"):format(path, found[1]) end
   local attributes = type(wanted) == 'table' and wanted or {}
   for i, name in ipairs(names) do attributes[name] = found[i] end
   if type(wanted) ~= 'string' then return attributes end
   if attributes[wanted] == nil then error(("invalid attribute name '%s'"):format(wanted), 3) end
   return attributes[wanted]
end

-- A table of mode ('file', 'directory'...), size, permissions, access, modification, change, nlink; or a single
-- attribute.
function lfs.attributes(path, wanted) return attributes_of(path, true, wanted) end
function lfs.symlinkattributes(path, wanted) return attributes_of(path, false, wanted) end

function lfs.currentdir() return paths.cwd() end

local function outcome(problem)
   if problem then return nil, problem end
   return true
end

function lfs.chdir(path) return outcome(python.change_folder(path)) end

-- Creates one folder.
function lfs.mkdir(path)
   if python.path_kind(path) then return nil, 'File exists' end
   if not paths.dirp(paths.dirname(path)) then return nil, 'No such file or directory' end
   return paths.mkdir(path)
end

function lfs.rmdir(path) return paths.rmdir(path) end

-- Iterates over the names in a folder, including . and ..; the second result has the methods next and close.
function lfs.dir(path)
   local list = paths.dir(path)
   if not list then error(('cannot open %s: No such directory'):format(path), 2) end
   local i = 0
   local folder = {}
   function folder.next()
      i = i + 1
      return list[i]
   end
   function folder.close() i = #list end
   return folder.next, folder
end

function lfs.link(target, path, symbolic) return outcome(python.make_link(target, path, symbolic and true or false)) end

function lfs.touch(path, accessed, modified)
   accessed = accessed or os.time()
   return outcome(python.set_path_times(path, accessed, modified or accessed))
end

function lfs.setmode() return true, 'binary' end

rawset(_G, 'lfs', lfs) -- as LuaFileSystem does
return lfs
