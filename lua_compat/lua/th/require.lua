-- require as in trepl: a name that starts with a dot is a path relative to the requiring file; data files are loaded,
-- too; a plain name that is nowhere in package.path is also looked for in the working folder and next to the requiring
-- file, with its ending or without.
local paths = require 'paths'
local plain_require, getinfo = require, debug.getinfo

-- Frames to skip when looking for the caller: these functions, and boot's protected calls.
local passed_over = { [getinfo(1, 'S').source] = true, ['@th/boot.lua'] = true }

-- The folder of the file that calls require; for code that is not in a file, the working folder.
local function requiring_folder()
   for level = 2, math.huge do
      local frame = getinfo(level, 'S')
      if not frame then return '.' end
      if frame.what ~= 'C' and not passed_over[frame.source] then
         local file = frame.source:match('^@(.*)')
         return file and paths.filep(file) and paths.dirname(file) or '.'
      end
   end
end

local function read_json(path)
   local file = assert(io.open(path))
   local text = file:read('*a')
   file:close()
   return plain_require('cjson').decode(text)
end

local readers = {
   th = function(path) return torch.load(path) end,
   net = function(path)
      plain_require 'nn'
      return torch.load(path)
   end,
   json = read_json,
}

-- A function that returns the value of a file: runs the code in it, or reads the data in it.
local function loader_of(path)
   local read = readers[path:match('%.(%w+)$')]
   if read then return function() return read(path) end end
   local chunk, problem = loadfile(path)
   if not chunk then error(problem, 0) end
   return chunk
end

local ENDINGS = { '.lua', '.th', '.net', '.json', '/init.lua' }

local function find(path, ending)
   if paths.filep(path .. ending) then return path .. ending end
end

-- The file that a path without its ending means; or nil and, for the message, the files that were tried.
local function file_for(path)
   for _, ending in ipairs(ENDINGS) do
      local found = find(path, ending)
      if found then return found end
   end
   return nil, ("\n\tno file '%s' with %s after it"):format(path, table.concat(ENDINGS, ', '))
end

-- The file that is meant by a path: Lua first, then the file of that very name, then data and folders.
local function file_at(path)
   local found = find(path, '.lua') or find(path, '')
   if found then return found end
   return file_for(path)
end

-- Files that are meant by their path are run again by each require, even those of plain names.
local found_as_path = {}

function require(name)
   if type(name) ~= 'string' then return plain_require(name) end
   if name:byte() ~= 46 then -- 46: a dot
      if found_as_path[name] then package.loaded[name], found_as_path[name] = nil, nil end
      return plain_require(name)
   end
   local found, missing = file_at(paths.concat(requiring_folder(), name))
   if not found then error(("module '%s' not found:%s"):format(name, missing), 2) end
   return loader_of(found)()
end

package.loaders[#package.loaders + 1] = function(name)
   local found, missing = file_at(paths.concat('.', name))
   if not found then
      local folder, missing_beside = requiring_folder(), nil
      found, missing_beside = file_at(paths.concat(folder, name))
      if folder ~= '.' then missing = missing .. (missing_beside or '') end
   end
   if not found then return missing end
   found_as_path[name] = true
   return loader_of(found)
end
