-- th --rocks: lists the packages that a script, and the files that it requires or runs by dofile, require and lack, and
-- the command that installs them. The files are searched, but not run.
local rocks = require 'th.rocks'
local file_text = require 'th.file_text'

local OURS = debug.getinfo(1, 'S').source:match('^@(.*/)th/requires%.lua$')
local PLACE = '~/.luarocks/share/lua/5.1'

-- The end of a long string or comment that starts at a position; nil if none does.
local function long_end(text, place)
   local _, last, level = text:find('^%[(=*)%[', place)
   if not last then return end
   _, last = text:find(']' .. level .. ']', last + 1, true)
   return last or #text
end

-- Calls found(argument, place, tried) for each require. argument: nil unless it is a plain string; tried: whether the
-- call goes through pcall. Calls runs(file) for each dofile, loadfile and torch.include of a plain string.
local function each_require(text, found, runs)
   local place, before = 1, ''
   while place <= #text do
      local letter = text:sub(place, place)
      local last
      if text:find('^%-%-', place) then
         last = long_end(text, place + 2) or (text:find('\n', place, true) or #text)
      elseif letter == '"' or letter == "'" then
         last = place + 1
         while last < #text and text:sub(last, last) ~= letter do
            last = last + (text:sub(last, last) == '\\' and 2 or 1)
         end
      elseif letter == '[' then
         last = long_end(text, place) or place
      else
         last = select(2, text:find('^[%a_][%w_]*', place))
      end
      last = last or place
      local word = text:sub(place, last)
      if word == 'require' and not before:find('[.:]$') then
         local tried = before:find('pcall%s*%(?%s*$') ~= nil
         local _, argument = text:match(tried and '^%s*,%s*([\'"])([^\n]-)%1%s*[,)]' or '^%s*%(?%s*([\'"])([^\n]-)%1',
            last + 1)
         if argument and not tried and text:find('^%s*%(%s*[\'"][^\n]-[\'"]%s*%.%.', last + 1) then argument = nil end
         -- a call, not the function itself as a value
         if argument or text:find('^%s*%(', last + 1) or tried then found(argument, place, tried) end
      end
      local _, run
      if word == 'dofile' or word == 'loadfile' then
         _, run = text:match('^%s*%(?%s*([\'"])([^\n]-)%1', last + 1)
      elseif word == 'include' then
         _, run = text:match('^%s*%(%s*[\'"][^\n]-[\'"]%s*,%s*([\'"])([^\n]-)%1', last + 1)
      end
      if run then runs(run) end
      before = (before .. word):sub(-16)
      place = last + 1
   end
end

local function line_of(text, place)
   local _, breaks = text:sub(1, place):gsub('\n', '')
   return breaks + 1
end

local function templates(folder) return ('%s/?.lua;%s/?/init.lua'):format(folder, folder) end

-- The file of a required name, unless it is one of ours; and whether the package exists at all.
local function file_of(name, folder, script_folder)
   if name:byte() == 46 then -- 46: a dot
      local path = folder .. '/' .. name
      for _, ending in ipairs{ '.lua', '', '/init.lua', '.th', '.net', '.json' } do
         if paths.filep(path .. ending) then return path .. ending, true end
      end
      return nil, false
   end
   local places = templates(script_folder) .. ';' .. templates(folder)
   local path = package.searchpath(name, places)
   if path then return path, true end
   if package.loaded[name] or package.preload[name] then return nil, true end
   path = package.searchpath(name, package.path)
   if path then return path:sub(1, #OURS) ~= OURS and path or nil, true end
   return nil, package.loaders[#package.loaders - 1](name) ~= nil
end

local function names_of(list)
   local names = {}
   for name in pairs(list) do names[#names + 1] = name end
   table.sort(names)
   return names
end

-- Whether a file holds tests: those of installed packages require what the packages do without.
local function is_test(path) return path:find('/tests?/[^/]*%.lua$') or path:find('/[%a]*test[^/]*%.lua$') end

-- All files that are reached from the script, and the requires that find nothing, by package name.
local function search(script)
   local script_folder = paths.dirname(script)
   local missing, computed, seen, files = {}, {}, { [script] = true }, { script }
   local here = {}
   for _, path in ipairs(files) do -- grows during the loop
      local text = path:find('%.lua$') and file_text(path) or path == script and file_text(path) or ''
      local shown = path:sub(1, #script_folder + 1) == script_folder .. '/' and path:sub(#script_folder + 2) or path
      local function look_into(file)
         local installed = file and file:sub(1, #script_folder) ~= script_folder
         if file and not seen[file] and not (installed and is_test(file)) then
            seen[file] = true
            files[#files + 1] = file
         end
      end
      each_require(text, function(name, place, tried)
         local where = ('%s:%d'):format(shown, line_of(text, place))
         if not name then
            computed[#computed + 1] = where
            return
         end
         local file, found = file_of(name, paths.dirname(path), script_folder)
         look_into(file)
         local package_name = name:byte() == 46 and name or name:match('^[^.]+') or name
         if found then
            here[package_name] = true
         else
            local entry = missing[package_name] or { where = where, tried = true }
            entry.tried = entry.tried and tried
            missing[package_name] = entry
         end
      end, function(name)
         for _, folder in ipairs{ paths.dirname(path), script_folder, '.' } do
            local file = name:byte() == 47 and name or folder .. '/' .. name -- 47: a slash
            if paths.filep(file) then return look_into(file) end
         end
      end)
   end
   return missing, computed, #files, #names_of(here)
end

-- The shell command that installs a package where th looks for it; nil if unknown.
local function command_for(name)
   local known = rocks.plain[name]
   if not known then return nil end
   if known.repository and known.part then
      local from, target = known.part == '' and name or name .. '/' .. known.part, PLACE .. '/' .. name
      local clone = ('git clone -q --depth 1 %s %s'):format(known.source, name)
      if from:find('%.lua$') then return ('%s && cp %s %s.lua'):format(clone, from, target) end
      local beside = known.beside and (' %s/%s'):format(name, known.beside) or ''
      return ('%s && mkdir -p %s && cp -r %s/.%s %s'):format(clone, target, from, beside, target)
   end
   return known.rock and ('luarocks --lua-version=5.1 --local --deps-mode=none install %s'):format(known.rock)
end

return function(script)
   local missing, computed, files, here = search(script)
   local names, commands = names_of(missing), {}
   print(('%s: %d files, %d packages found, %d missing'):format(script, files, here, #names))
   local wanted = {}
   local function want(name)
      if wanted[name] then return end
      wanted[name] = true
      for _, needed in ipairs(rocks.plain[name].needs or {}) do
         if not package.searchpath(needed, package.path) then want(needed) end
      end
      commands[#commands + 1] = command_for(name)
   end
   for _, name in ipairs(names) do
      local entry = missing[name]
      local command = command_for(name)
      local note = rocks.refused[name] or not command and (rocks.plain[name] and rocks.plain[name].source
         or 'not known to th')
      print(('  %s, required in %s%s%s'):format(name, entry.where, entry.tried and ' by pcall: it can do without' or '',
         note and ': ' .. note or ''))
      if command and not rocks.refused[name] then want(name) end
   end
   if #computed > 0 then
      print(('not looked at, because their names are computed: %s'):format(table.concat(computed, ', ')))
   end
   if #commands > 0 then
      print('\nThis gets them; th --rocks then looks into them, too:')
      print(('  mkdir -p %s && cd "$(mktemp -d)" && %s'):format(PLACE, table.concat(commands, ' && ')))
   end
   os.exit(#names == 0)
end
