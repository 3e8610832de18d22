-- Printing, logging, loading packages, and a session's globals.
local sys = require 'sys'

local SHOWN = 40 -- characters of a value that xlua.print shows

local function print_fields(t)
   local separator = ''
   io.write('{')
   for key, value in pairs(t) do
      local text = '<userdata>'
      if type(value) ~= 'userdata' then
         text = tostring(value):gsub('\n', '\\n')
         if #text > SHOWN then text = text:sub(1, SHOWN) .. sys.COLORS.none .. ' ... ' end
      end
      io.write(separator, '[', tostring(key), '] = ', text)
      separator = ',\n '
   end
   io.write('}')
end

-- Prints a table with its fields, and anything else as usual; further arguments follow on the same line.
function xlua.print(object, ...)
   local metatable = type(object) == 'table' and getmetatable(object)
   if type(object) ~= 'table' then
      io.write(tostring(object))
   elseif metatable and metatable.__tostring__ then
      io.write(metatable.__tostring__(object))
   else
      local text = tostring(object)
      if not text:find('table: ', 1, true) then
         io.write(type(object.usage) == 'string' and object.usage .. '\n\nFIELDS:\n' or text .. ':\n')
      end
      print_fields(object)
   end
   if select('#', ...) > 0 then
      io.write('    ')
      print(...)
   else
      io.write('\n')
   end
end
xprint = xlua.print

-- From now on the output of io.write and print also goes to a file.
function xlua.log(filename, append)
   local folder = sys.dirname(filename)
   if not sys.dirp(folder) then assert(require('paths').mkdir(folder)) end
   local file = assert(io.open(filename, append and 'a' or 'w'))
   local write = _G.io.write
   _G.print = xlua.print
   function _G.io.write(...)
      file:write(...)
      file:flush()
      return write(...)
   end
end

-- Raises an error in red: "<domain> message", then the usage.
function xlua.error(message, domain, usage)
   if domain then message = '<' .. domain .. '> ' .. message end
   local text = sys.COLORS.Red .. tostring(message) .. sys.COLORS.none
   if usage then text = text .. '\n' .. tostring(usage) end
   error(text, 2)
end
xerror = xlua.error

function xlua.trycatch(try, catch)
   local ok, problem = pcall(try)
   if not ok then catch(problem) end
end

-- Whether `require` would find a package, and in which file.
function xlua.installed(package_name)
   if package.loaded[package_name] or package.preload[package_name] then return true end
   local name = package_name:gsub('%.', '/')
   for template in (package.path .. ';' .. package.cpath):gmatch('[^;]+') do
      local file = template:gsub('%?', (name:gsub('%%', '%%%%')))
      if sys.filep(file) then return true, file end
   end
   return false
end

-- The package, or false and a printed warning.
function xlua.require(package_name)
   local ok, loaded = pcall(require, package_name)
   if ok then return loaded end
   print(loaded)
   print(('warning: <%s> could not be loaded (is it installed?)'):format(package_name))
   return false
end
xrequire = xlua.require

local given = {}
for name in pairs(_G) do given[name] = true end

-- Removes the globals defined since xlua was loaded, including packages.
function xlua.clearall()
   for name in pairs(_G) do
      if not given[name] then
         _G[name] = nil
         package.loaded[name] = nil
      end
   end
   collectgarbage()
end

function xlua.clear(name)
   _G[name] = nil
   collectgarbage()
end

-- Prints the loaded packages and the session's globals.
function xlua.who()
   local packages, variables = {}, {}
   for name, value in pairs(_G) do
      if package.loaded[name] and name ~= '_G' then
         packages[#packages + 1] = name
      elseif not given[name] then
         variables[name] = value
      end
   end
   xlua.print('\nGlobal Libs:')
   xlua.print(packages)
   xlua.print('\nGlobal Vars:')
   xlua.print(variables)
   xlua.print('')
end
