-- LuaFileSystem's functions, except locks.
local paths = require 'paths'
local text = require 'paths.text'
local python = require('th.python').functions

local lfs = { _VERSION = 'LuaFileSystem 1.6.3' }

local names = { 'mode', 'permissions', 'size', 'access', 'modification', 'change', 'nlink', 'dev', 'ino', 'uid', 'gid',
   'rdev', 'blocks', 'blksize' }

local function attributes_of(path, follow_links, wanted)
   local found = { python.path_attributes(path, follow_links) }
   if wanted == 'target' and not follow_links then
      local target = python.link_target(path)
      if target then return target end
      return nil, 'could not obtain link target: ' .. (#found == 1 and found[1] or 'Invalid argument')
   end
   if #found == 1 then return nil, ("cannot obtain information from file '%s': %s"):format(path, found[1]) end
   local attributes = type(wanted) == 'table' and wanted or {}
   for i, name in ipairs(names) do attributes[name] = found[i] end
   if not follow_links then attributes.target = python.link_target(path) end
   if type(wanted) == 'number' then wanted = tostring(wanted) end
   if type(wanted) ~= 'string' then return attributes end
   if attributes[wanted] ~= nil then return attributes[wanted] end
   error(("invalid attribute name '%s'"):format(wanted), 3)
end

-- A table of the attributes above, or a single one.
function lfs.attributes(path, wanted) return attributes_of(text(path, 1, 'attributes'), true, wanted) end

-- Those of a link itself; target is what it names.
function lfs.symlinkattributes(path, wanted) return attributes_of(text(path, 1, 'symlinkattributes'), false, wanted) end

function lfs.currentdir() return paths.cwd() end

local function outcome(problem)
   if problem then return nil, problem end
   return true
end

function lfs.chdir(path)
   local problem = python.change_folder(text(path, 1, 'chdir'))
   return outcome(problem and ("Unable to change working directory to '%s'\n%s\n"):format(path, problem))
end

-- Creates one folder.
function lfs.mkdir(path)
   if python.path_kind(text(path, 1, 'mkdir')) then return nil, 'File exists' end
   local parent = paths.dirname(path)
   if not paths.dirp(parent) then
      return nil, paths.filep(parent) and 'Not a directory' or 'No such file or directory'
   end
   return outcome((python.make_folder(path)))
end

function lfs.rmdir(path) return outcome((python.remove_folder(text(path, 1, 'rmdir')))) end

-- Iterates over the names in a folder, including . and ..; the second result has the methods next and close.
function lfs.dir(path)
   local list = paths.dir(text(path, 1, 'dir'))
   if not list then
      local exists = python.path_kind(path)
      error(('cannot open %s: %s'):format(path, exists and 'Not a directory' or 'No such file or directory'), 2)
   end
   local i, folder = 0, {}
   function folder.next()
      if not list then error("bad argument #1 to 'next' (closed directory)", 2) end
      i = i + 1
      local name = list[i]
      if not name then list = nil end
      return name
   end
   function folder.close() list = nil end
   return folder.next, folder
end

function lfs.link(target, path, symbolic)
   local problem, number = python.make_link(text(target, 1, 'link'), text(path, 2, 'link'), symbolic and true or false)
   if problem then return nil, problem, number end
   return 0
end

local function seconds(value, place)
   if value ~= nil and not tonumber(value) then
      error(("bad argument #%d to 'touch' (number expected, got %s)"):format(place, type(value)), 3)
   end
   return tonumber(value)
end

function lfs.touch(path, accessed, modified)
   accessed = seconds(accessed, 2) or os.time()
   return outcome((python.set_path_times(text(path, 1, 'touch'), accessed, seconds(modified, 3) or accessed)))
end

function lfs.setmode(file, mode)
   if io.type(file) ~= 'file' then
      error(("bad argument #1 to 'setmode' (FILE* expected, got %s)"):format(file == nil and 'no value' or type(file)),
         2)
   elseif mode ~= 'binary' and mode ~= 'text' then
      error(("bad argument #2 to 'setmode' (invalid option '%s')"):format(tostring(mode)), 2)
   end
   return true, 'binary'
end

rawset(_G, 'lfs', lfs) -- as LuaFileSystem does
return lfs
