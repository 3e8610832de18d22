-- dok.help and dok.browse: show the Markdown documentation installed with packages.
local style = require 'dok.style'
local file_text = require 'th.file_text'

dok.inline = {} -- documentation by function, class or package
local read = {} -- packages whose files have been read

-- The folders in which require looks for packages.
local function package_folders()
   local folders, seen = {}, {}
   for template in package.path:gmatch('[^;]+') do
      local folder = template:match('^(.-)%?') or template
      if not seen[folder] and paths.dirp(folder) then
         seen[folder] = true
         folders[#folders + 1] = folder
      end
   end
   return folders
end

-- Calls found(path) for each Markdown file at or below a path.
local function each_markdown(path, found)
   if paths.filep(path) then
      if path:find('%.md$') then found(path) end
   elseif paths.dirp(path) then
      for name in paths.files(path) do
         if name ~= '.' and name ~= '..' then each_markdown(paths.concat(path, name), found) end
      end
   end
end

-- Whether an expression can be evaluated, even to nil, and its value. nn.Module:forward is the method.
local function evaluate(expression)
   local chunk = loadstring('return ' .. expression:gsub(':', '.'))
   return pcall(chunk or error)
end

local function value_of(expression)
   local ok, value = evaluate(expression)
   return ok and value or nil
end

local function loaded(name) return rawget(_G, name) or package.loaded[name] end

local function add(symbol, ...)
   local texts = {}
   for i = 1, 2 do texts[#texts + 1] = (select(i, ...)) end
   if symbol ~= nil and #texts > 0 then dok.inline[symbol] = table.concat(texts, '\n') end
end

-- Assigns the functions documented in a file to a package's values: the package, its fields, and their methods.
local function note(name, t, functions)
   add(t, dok.inline[t] or functions.dok or functions['reference.dok'] or functions['overview.dok'])
   local function look(prefix)
      local entry = prefix:lower()
      add(value_of(name .. '.' .. prefix), functions[entry .. '.dok'], functions[entry])
   end
   for key, value in pairs(t) do
      if type(key) == 'string' then
         look(key)
         if type(value) == 'table' then
            for _, fields in ipairs{ value, getmetatable(value) or {} } do
               for method in pairs(fields) do
                  if type(method) == 'string' then look(key .. '.' .. method) end
               end
            end
         end
      end
   end
end

function dok.refresh()
   for _, folder in ipairs(package_folders()) do
      for name in paths.files(folder) do
         local t = loaded(name)
         if type(t) == 'table' and not read[name] and name ~= '.' and name ~= '..' then
            read[name] = true
            each_markdown(paths.concat(folder, name), function(path)
               local text = file_text(path)
               if text then note(name, t, dok.html2funcs(dok.markdown2html(text), name)) end
            end)
         end
      end
   end
end

function dok.help(symbol, as_string)
   dok.usecolors()
   if not symbol then
      print(style.banner)
      print(('%shelp(symbol)%s\n\nget inline help on a specific symbol\n\nto browse the complete html documentation, '
         .. 'call: %sbrowse()%s'):format(style.title, style.none, style.title, style.none))
      print(style.banner)
      return
   end
   dok.refresh()
   if type(symbol) == 'string' then symbol = value_of(symbol) end
   local text = symbol ~= nil and dok.inline[symbol] or nil
   if as_string then return text end
   if not text then
      print('undocumented symbol')
      return
   end
   print(style.banner)
   print(text)
   print(style.banner)
end

-- The Markdown files of a package by name, each with its first heading and its path.
local function pages_of(name)
   local pages = {}
   for _, folder in ipairs(package_folders()) do
      each_markdown(paths.concat(folder, name), function(path)
         local heading = dok.markdown2html(file_text(path) or ''):match('<h%d>(.-)</h%d>')
         pages[paths.basename(path):sub(1, -4)] = { heading or 'Untitled', path }
      end)
      if next(pages) then break end
   end
   return pages
end

local PIECE = 1000 -- characters shown at a time

local function show(text)
   for place = 0, #text, PIECE do
      print(text:sub(place, place + PIECE))
      print('[enter] for more or press any character to exit')
      if io.read() ~= '' then return end
   end
end

function dok.browse(name)
   print(style.banner)
   print('Inline Package Manual Browser')
   print(style.banner)
   print('To exit at any time, type q or exit')
   if not name then
      print('Enter package name to browse (example: torch):')
      name = io.read()
   end
   if not name or name == 'exit' then return end
   if not pcall(require, name) then
      print('Package not found or failed to load:', name)
      return
   end
   dok.help(name)
   local pages, lines = pages_of(name), {}
   for page, entry in pairs(pages) do lines[#lines + 1] = ('\t%s [%s]\n'):format(entry[1], page) end
   print('Sections:')
   local example = assert(next(pages), 'No more subsections for this package')
   while true do
      print(table.concat(lines))
      print(('Enter choice (Example: %s) or type exit. :'):format(example))
      local choice = io.read()
      if not choice or choice == 'exit' then return end
      if pages[choice] then show(require('sundown').renderASCII(file_text(pages[choice][2]) or '')) end
   end
end

rawset(_G, 'help', dok.help)
rawset(_G, 'browse', dok.browse)

return { evaluate = evaluate }
