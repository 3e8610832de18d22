-- require as in trepl. A name that starts with a dot is a path relative to the requiring file; data files are loaded,
-- too. A plain name that is not found in package.path is also looked for in the working folder and next to the
-- requiring file, with or without a suffix.
local paths = require 'paths'
local plain_require, getinfo = require, debug.getinfo

-- Stack frames to skip when looking for the caller: these functions, and the protected calls of boot.lua.
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

-- A function that returns the value of a file: it runs the code, or reads the data in it.
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

-- The file for a path without suffix; or nil and, for the message, the files that were tried.
local function file_for(path)
   for _, ending in ipairs(ENDINGS) do
      local found = find(path, ending)
      if found then return found end
   end
   return nil, ("\n\tno file '%s' with %s after it"):format(path, table.concat(ENDINGS, ', '))
end

-- The file for a path: Lua first, then the file with exactly that name, then data and folders.
local function file_at(path)
   local found = find(path, '.lua') or find(path, '')
   if found then return found end
   return file_for(path)
end

-- Files found by path are run again by each require, even if the name is plain.
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

_G.require = require

-- The folders of package.path, each once, in order.
local function searched_folders()
   local folders, seen = {}, {}
   for folder in package.path:gmatch('([^;]*)/%?%.lua') do
      if not seen[folder] then
         seen[folder] = true
         folders[#folders + 1] = folder
      end
   end
   return table.concat(folders, ', ')
end

local function how_to_get(package_name, known)
   local ways = {}
   if known.rock then ways[1] = ("LuaRocks' %s"):format(known.rock) end
   if known.debian then ways[#ways + 1] = ("Debian's %s"):format(known.debian) end
   if known.source then ways[#ways + 1] = known.source end
   local script = type(arg) == 'table' and type(arg[0]) == 'string' and arg[0] ~= 'th' and arg[0] or 'SCRIPT'
   return ('%s is plain Lua, which th loads when it is installed (%s); th --rocks %s prints the command that gets it; ')
      :format(package_name, table.concat(ways, ', or '), script)
end

-- One line with what is known about a missing package.
local function explanation(name, beside)
   local package_name = name:match('^[^.]+') or name
   local rocks = plain_require 'th.rocks'
   local refused, known = rocks.refused[package_name], rocks.plain[package_name]
   if refused then return ("module '%s' is not available: %s"):format(name, refused) end
   local hint = known and how_to_get(package_name, known) or ''
   local package_of_library = package_name:match('^lib(.+)')
   if package_of_library then
      hint = ("it would be C code, which th cannot load; packages of ours stand in for some (docs/from-torch7.md), "
         .. 'and %s is %s; '):format(package_of_library, package.searchpath(package_of_library, package.path)
         and 'one that th finds' or 'not among what th finds')
   end
   local also = beside ~= '.' and ', and next to the requiring file in ' .. beside or ''
   return ("module '%s' not found: %sth looks in %s%s"):format(name, hint, searched_folders(), also)
end

local function last_loader(name)
   local found = file_at(paths.concat('.', name))
   local folder = requiring_folder()
   found = found or file_at(paths.concat(folder, name))
   if found then
      found_as_path[name] = true
      return loader_of(found)
   end
   local text = explanation(name, folder)
   -- the script may have added loaders, which come next
   if package.loaders[#package.loaders] ~= last_loader then return '\n\t' .. text end
   error(text, 3) -- 1: this function, 2: require
end

-- Why a library that was found cannot be loaded: it is C code for Torch7's own tensors.
local function of_torch7(name, problem)
   local library = problem:match('lib(THC?%w*)%.') or problem:match('undefined symbol: (THC)[^h]') -- TH has THChar...
      or problem:match('undefined symbol: (TH)%u') or problem:match('undefined symbol: (luaT)_')
   if not library then return problem end
   local file = problem:match("from file '([^']*)'")
   return ("module '%s' is not available: %s is compiled for Torch7's %s, and th's tensors are PyTorch's; "
      .. 'docs/from-torch7.md says what exists instead'):format(name, file, library)
end

for place = 3, 4 do -- Lua's own loaders of C libraries
   local load = package.loaders[place]
   package.loaders[place] = function(name)
      local result = { pcall(load, name) }
      if not result[1] then error(of_torch7(name, result[2]), 0) end
      return unpack(result, 2)
   end
end

-- Torch7's own libraries, which scripts load in order to call them with tensors.
local OF_TORCH7 = {}
for name in ('TH THC THNN THCUNN luaT torch cutorch nn cunn nnx image'):gmatch '%S+' do OF_TORCH7[name] = true end

local ffi = plain_require 'ffi'
local load_library = ffi.load
function ffi.load(name, ...)
   local found, library = pcall(load_library, name, ...)
   if found then return library end
   local base = tostring(name):match '[^/]*$':gsub('^lib', ''):gsub('%.so.*$', ''):gsub('%.dylib$', '')
   if not OF_TORCH7[base] then error(library, 2) end
   error(("library '%s' is not available: it computes with Torch7's tensors, and th's are PyTorch's; "
      .. 'docs/from-torch7.md says what exists instead'):format(tostring(name)), 2)
end

package.loaders[#package.loaders + 1] = plain_require 'th.submodules'
package.loaders[#package.loaders + 1] = last_loader
