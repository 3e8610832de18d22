-- pl.dir: folders.
local path = require 'pl.path'
local utils = require 'pl.utils'
local assert_arg, assert_string, raise = utils.assert_arg, utils.assert_string, utils.raise

local dir = {}

local function list(t) return setmetatable(t, require 'pl.List') end

local function assert_folder(index, value) assert_arg(index, value, 'string', path.isdir, 'not a directory', 4) end

-- Converts a shell pattern, with * and ?, to a Lua pattern.
local function as_pattern(mask)
   return '^' .. utils.escape(mask):gsub('%%%*', '.*'):gsub('%%%?', '.') .. '$'
end

function dir.fnmatch(name, mask)
   assert_string(1, name)
   assert_string(2, mask)
   return name:find(as_pattern(mask)) ~= nil
end

function dir.filter(names, mask)
   assert_arg(1, names, 'table')
   assert_string(2, mask)
   local pattern, kept = as_pattern(mask), {}
   for _, name in ipairs(names) do
      if name:find(pattern) then kept[#kept + 1] = name end
   end
   return list(kept)
end

-- Iterates over the names in a folder, except . and ..
local function names_in(folder)
   local next_name, state = path.dir(folder)
   return function()
      local name
      repeat name = next_name(state) until name ~= '.' and name ~= '..'
      return name
   end
end

local function paths_in(folder, is_wanted, pattern)
   local paths = {}
   for name in names_in(folder) do
      local p = path.join(folder, name)
      if is_wanted(p) and (not pattern or name:find(pattern)) then paths[#paths + 1] = p end
   end
   return list(paths)
end

function dir.getfiles(folder, mask)
   folder = folder or '.'
   assert_folder(1, folder)
   if mask then assert_string(2, mask) end
   return paths_in(folder, path.isfile, mask and as_pattern(mask))
end

function dir.getdirectories(folder)
   folder = folder or '.'
   assert_folder(1, folder)
   return paths_in(folder, path.isdir)
end

-- Runs cp or mv. Returns true, or false and the first line of its error.
local function run(program, from, to)
   local quote = utils.quote_arg
   local ok, _, _, errors = utils.executeex(('%s %s %s'):format(program, quote(from), quote(to)))
   if ok then return true end
   return false, errors:match('^[^\n]*')
end

-- overwrite: true by default.
function dir.copyfile(from, to, overwrite)
   assert_string(1, from)
   assert_string(2, to)
   if overwrite == false and path.exists(to) then return false, 'cannot overwrite destination' end
   return run('cp', from, to)
end

function dir.movefile(from, to)
   assert_string(1, from)
   assert_string(2, to)
   return run('mv', from, to)
end

-- The names of the subfolders and of the files in a folder.
local function level_at(root, attributes)
   local level = { root = root, folders = {}, files = {}, next_folder = 1 }
   for name in names_in(root) do
      local mode = attributes(path.join(root, name), 'mode')
      table.insert(mode == 'directory' and level.folders or level.files, name)
   end
   list(level.folders)
   list(level.files)
   return level
end

-- Iterates over a folder and its subfolders. attributes: LuaFileSystem's function that determines how links are
-- treated.
local function walk(root, bottom_up, attributes)
   local levels, pending = {}, root
   return function()
      while true do
         if pending then
            local level = level_at(pending, attributes)
            levels[#levels + 1], pending = level, nil
            if not bottom_up then return level.root, level.folders, level.files end
         end
         local level = levels[#levels]
         if not level then return nil end
         local folder = level.folders[level.next_folder]
         if folder then
            level.next_folder = level.next_folder + 1
            pending = level.root .. path.sep .. folder
         else
            levels[#levels] = nil
            if bottom_up then return level.root, level.folders, level.files end
         end
      end
   end
end

-- Iterates over a folder and its subfolders: path, names of subfolders, names of files. A name that a script removes
-- from the list of subfolders is skipped, unless the order is bottom up. Links to folders are followed, and count as
-- files if follow_links is set: in all of Penlight's versions it means the opposite of its name.
function dir.walk(root, bottom_up, follow_links)
   assert_folder(1, root)
   return walk(root, bottom_up, follow_links and path.link_attrib or path.attrib)
end

-- Removes a folder with everything in it; links in it are removed, but not followed.
function dir.rmtree(root)
   assert_folder(1, root)
   if path.islink(root) then return false, 'will not follow symlink' end
   for folder, _, files in walk(root, true, path.link_attrib) do
      for _, name in ipairs(files) do
         local ok, problem = os.remove(path.join(folder, name))
         if not ok then return nil, problem end
      end
      local ok, problem = path.rmdir(folder)
      if not ok then return nil, problem end
   end
   return true
end

local function make(folder)
   if path.isdir(folder) then return true end
   local parent = path.dirname(folder)
   if parent ~= '' then
      local ok, problem = make(parent)
      if not ok then return nil, problem end
   end
   return path.mkdir(folder)
end

-- Creates a folder and its missing parents.
function dir.makepath(folder)
   assert_string(1, folder)
   return make(path.abspath(folder))
end

local function say_nothing() end

-- Creates the same folders elsewhere; copy(from, to) is called for each file.
function dir.clonetree(from, to, copy, verbose)
   assert_string(1, from)
   assert_string(2, to)
   local say = verbose == true and print or verbose or say_nothing
   if not path.isdir(from) then return raise('source is not a valid directory') end
   from, to = path.abspath(from), path.abspath(to)
   say('normalized:', from, to)
   if from == to then return raise('paths are the same') end
   if to:sub(1, #from + 1) == from .. path.sep then return raise('destination is a subdirectory of the source') end
   local failed_folders, failed_files = {}, {}
   local kept = #path.common_prefix(from, to)
   for folder, _, files in dir.walk(from) do
      local target = to .. folder:sub(kept)
      say('paths:', target, folder)
      if not path.isdir(target) then
         local made = dir.makepath(target)
         if not made then table.insert(failed_folders, target) end
         say('creating:', target, made)
      end
      for _, name in ipairs(copy and files or {}) do
         local source, destination = path.join(folder, name), path.join(target, name)
         local done = copy(source, destination)
         if not done then table.insert(failed_files, destination) end
         say('files:', source, destination, done)
      end
   end
   return true, failed_folders, failed_files
end

-- Iterates over everything in a folder and its subfolders: path, and whether it is a folder.
function dir.dirtree(root)
   assert(root and root ~= '', 'directory parameter is missing or empty')
   root = root:match('^(.+)/$') or root
   local stack = { { root, names_in(root) } }
   return function()
      while #stack > 0 do
         local folder, next_name = unpack(stack[#stack])
         local name = next_name()
         if not name then
            stack[#stack] = nil
         else
            local p = folder .. path.sep .. name
            if path.exists(p) then -- a link may be broken
               local is_folder = path.isdir(p)
               if is_folder then stack[#stack + 1] = { p, names_in(p) } end
               return p, is_folder
            end
         end
      end
   end
end

function dir.getallfiles(root, mask)
   root = root or '.'
   assert_folder(1, root)
   local pattern, files = as_pattern(mask or '*'), {}
   for p, is_folder in dir.dirtree(root) do
      if not is_folder and p:find(pattern) then files[#files + 1] = p end
   end
   return list(files)
end

return dir
