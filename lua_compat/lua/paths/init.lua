-- The package paths: files and folders.
local text = require 'paths.text'
local python = require('th.python').functions

paths = paths or {}

paths.home = os.getenv('HOME') or '.'

function paths.filep(path) return python.path_kind(text(path, 1, 'filep')) == 'file' end
function paths.dirp(path) return python.path_kind(text(path, 1, 'dirp')) == 'directory' end
function paths.cwd() return python.working_folder() end

function paths.is_win() return nil end
function paths.is_mac() return jit.os == 'OSX' and 'Darwin' or nil end
-- The names of the system, of the machine, and of its processor.
function paths.uname() return python.system_names() end

-- The absolute path of the joined parts; an absolute part discards those before it.
function paths.concat(...)
   local path = paths.cwd()
   for i = 1, select('#', ...) do
      local part = text(select(i, ...), i, 'concat')
      path = part:sub(1, 1) == '/' and part or path:gsub('/+$', '') .. '/' .. part
   end
   return python.real_path(path)
end

function paths.dirname(path)
   path = text(path, 1, 'dirname'):gsub('(.)/+$', '%1')
   local folder = path:match('^(.*)/[^/]*$')
   if not folder then return '.' end
   return folder == '' and '/' or folder
end

-- The last part of a path, without the given suffix if it has it.
function paths.basename(path, suffix)
   local name = text(path, 1, 'basename'):gsub('(.)/+$', '%1'):match('([^/]*)$')
   if suffix then
      if suffix:sub(1, 1) ~= '.' then suffix = '.' .. suffix end
      if #name > #suffix and name:sub(-#suffix) == suffix then name = name:sub(1, -#suffix - 1) end
   end
   return name
end

-- The part after the last dot, wherever it is; no value if there is no dot.
function paths.extname(path)
   local name = text(path, 1, 'extname'):match('%.([^.]*)$')
   if name then return name end
end

-- The names in a folder, including . and ..; nil if it cannot be read.
function paths.dir(folder)
   local names = python.list_folder(text(folder, 1, 'dir'))
   if not names then return nil end
   local list = {}
   for name in names:gmatch('([^%z]+)%z') do list[#list + 1] = name end
   return list
end

-- Iterates over the names in a folder that match a pattern or a function.
function paths.files(folder, filter)
   local accept = filter
   if type(filter) == 'string' then
      accept = function(name) return name:find(filter) end
   elseif filter ~= nil and type(filter) ~= 'function' then
      error('Expecting optional arg 2 to be function or string. Got : ' .. type(filter), 2)
   end
   local names, i = paths.dir(folder) or {}, 0
   return function()
      repeat i = i + 1 until names[i] == nil or not accept or accept(names[i])
      return names[i]
   end
end

function paths.iterdirs(folder)
   return paths.files(folder, function(name)
      return name ~= '.' and name ~= '..' and paths.dirp(paths.concat(folder, name))
   end)
end

function paths.iterfiles(folder)
   return paths.files(folder, function(name) return paths.filep(paths.concat(folder, name)) end)
end

local function outcome(folder, problem, number)
   if problem then return nil, folder .. ': ' .. problem, number end
   return true
end
function paths.mkdir(folder) return outcome(folder, python.make_folder(text(folder, 1, 'mkdir'))) end
function paths.rmdir(folder) return outcome(folder, python.remove_folder(text(folder, 1, 'rmdir'))) end

-- Removes a file, or a folder with everything in it; the second argument must be 'yes'.
function paths.rmall(path, more)
   if more ~= 'yes' then return nil, "missing second argument ('yes')" end
   if paths.filep(path) then return os.remove(path) end
   if not paths.dirp(path) then return nil, 'not a file or directory', path end
   for name in paths.files(path) do
      if name ~= '.' and name ~= '..' then
         local inner = paths.concat(path, name)
         local ok, problem = paths.rmall(inner, more)
         if not ok then return ok, problem, inner end
      end
   end
   return paths.rmdir(path)
end

function paths.tmpname() return os.tmpname() end

-- The path of the running file; with an argument, of a file next to it.
function paths.thisfile(name, depth)
   local source = debug.getinfo(depth or 2, 'S').source
   local file = source:match('^@(.*)$')
   file = file and paths.concat(file)
   if type(name) ~= 'string' then return file end
   return file and paths.concat(paths.dirname(file), name) or name
end

function paths.dofile(file, depth)
   local here = paths.thisfile(nil, 1 + (depth or 2))
   return dofile(here and paths.concat(paths.dirname(here), file) or file)
end

-- Torch7's loads a C library from package.cpath under a special name; our packages of such names are ordinary ones.
function paths.require(name) return require(name) end

function paths.findprogram(...)
   for _, name in ipairs{ ... } do
      for folder in (os.getenv('PATH') or '.'):gmatch('[^:]+') do
         local path = paths.concat(folder, name)
         if paths.filep(path) then return path end
      end
   end
end

return paths
