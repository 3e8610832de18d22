-- pl.path: paths and files. Queries to the system use LuaFileSystem.
local utils = require 'pl.utils'
local assert_string = utils.assert_string

local found, lfs = pcall(require, 'lfs')
if not found then
   local problem = lfs -- the sandbox has none: each function that needs it raises this error
   lfs = setmetatable({}, { __index = function() return function() error(problem, 3) end end })
end

local path = { is_windows = utils.is_windows, sep = '/', dirsep = ':', dir = lfs.dir, mkdir = lfs.mkdir,
   rmdir = lfs.rmdir, chdir = lfs.chdir, attrib = lfs.attributes, link_attrib = lfs.symlinkattributes }

function path.currentdir() return lfs.currentdir() end

local function attribute(p, name)
   assert_string(1, p)
   return lfs.attributes(p, name)
end

function path.isdir(p) return attribute(p, 'mode') == 'directory' end
function path.isfile(p) return attribute(p, 'mode') == 'file' end
function path.exists(p) return attribute(p, 'mode') ~= nil and p end
function path.islink(p)
   assert_string(1, p)
   return lfs.symlinkattributes(p, 'mode') == 'link'
end
function path.getsize(p) return attribute(p, 'size') end
function path.getatime(p) return attribute(p, 'access') end
function path.getmtime(p) return attribute(p, 'modification') end
function path.getctime(p) return attribute(p, 'change') end

-- The part before the last separator, and the part after it.
function path.splitpath(p)
   assert_string(1, p)
   local folder, name = p:match('^(.*)/([^/]*)$')
   if not folder then return '', p end
   return folder, name
end

-- The path up to the last dot of the name, and the extension with its dot.
function path.splitext(p)
   assert_string(1, p)
   local root, ending = p:match('^(.*)(%.[^./]*)$')
   if not root then return p, '' end
   return root, ending
end

function path.dirname(p)
   assert_string(1, p)
   return (path.splitpath(p))
end

function path.basename(p)
   assert_string(1, p)
   local _, name = path.splitpath(p)
   return name
end

function path.extension(p)
   assert_string(1, p)
   local _, ending = path.splitext(p)
   return ending
end

function path.isabs(p)
   assert_string(1, p)
   return p:sub(1, 1) == '/'
end

local function join(first, second)
   if path.isabs(second) then return second end
   if first ~= '' and first:sub(-1) ~= '/' then first = first .. '/' end
   return first .. second
end

-- Joins paths; an absolute path discards those before it.
function path.join(first, second, ...)
   assert_string(1, first)
   assert_string(2, second)
   local joined = join(first, second)
   local rest = { ... }
   for i = 1, #rest do
      assert_string(i, rest[i])
      joined = join(joined, rest[i])
   end
   return joined
end

function path.normcase(p)
   assert_string(1, p)
   return p
end

-- Removes empty parts, '.', and '..' where its folder is known. Exactly two slashes at the start are kept.
function path.normpath(p)
   assert_string(1, p)
   local slashes, rest = p:match('^(/*)(.*)$')
   local anchor = #slashes == 2 and '//' or #slashes > 0 and '/' or ''
   local parts = {}
   for part in rest:gmatch('[^/]+') do
      local before = parts[#parts]
      if part == '..' and before and before ~= '..' then
         parts[#parts] = nil
      elseif part ~= '.' then
         parts[#parts + 1] = part
      end
   end
   local normal = anchor .. table.concat(parts, '/')
   return normal ~= '' and normal or '.'
end

function path.abspath(p, start)
   assert_string(1, p)
   if start then assert_string(2, start) end
   return path.normpath(join(start or lfs.currentdir(), (p:gsub('[\\/]$', ''))))
end

-- The relative path from a folder (default: the working folder) to a path.
function path.relpath(p, start)
   assert_string(1, p)
   if start then assert_string(2, start) end
   local to = utils.split(path.abspath(p, start), '/')
   local from = utils.split(start or lfs.currentdir(), '/')
   local common = 0
   while from[common + 1] ~= nil and from[common + 1] == to[common + 1] do common = common + 1 end
   local steps = {}
   for _ = common + 1, #from do steps[#steps + 1] = '..' end
   for i = common + 1, #to do steps[#steps + 1] = to[i] end
   return table.concat(steps, '/')
end

function path.expanduser(p)
   assert_string(1, p)
   if p:sub(1, 1) ~= '~' then return p end
   local home = os.getenv('HOME')
   if not home then return nil, "failed to expand '~' (HOME not set)" end
   return home .. p:sub(2)
end

function path.tmpname() return os.tmpname() end

-- The longest folder that both paths are in.
function path.common_prefix(a, b)
   assert_string(1, a)
   assert_string(2, b)
   if #a > #b then a, b = b, a end
   local same = 0
   while same < #a and a:byte(same + 1) == b:byte(same + 1) do same = same + 1 end
   if same == #a then
      if b:sub(#a + 1, #a + 1) == '/' then return a end
      return path.dirname(a)
   end
   local prefix = a:sub(1, same)
   if prefix:sub(-1) == '/' then return prefix end
   return path.dirname(prefix)
end

-- The file that require would load, and whether it is Lua.
function path.package_path(module)
   assert_string(1, module)
   local lua, problem = package.searchpath(module, package.path)
   if lua then return lua, true end
   local library, other_problem = package.searchpath(module, package.cpath)
   if library then return library, false end
   return utils.raise('cannot find module on path' .. (problem or '') .. (other_problem or ''))
end

return path
