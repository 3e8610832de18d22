-- Functions of our packages in saved files. Their upvalues are internal and mean nothing to Torch7. So such a function
-- is written as one that looks up its name in the package when called; Torch7 and th each find their own.
local class = require 'torch.core.class'

local getinfo, next, type, rawequal, loadstring = debug.getinfo, next, type, rawequal, loadstring

local FOLDER = getinfo(1, 'S').source:match('^(.*/)torch/core/named_functions%.lua$')

-- Our files with functions that are C in Torch7, where no file can contain them.
local STANDS_FOR_C = { ['th/'] = true, ['dialect/'] = true, ['torch/tensor/overloads.lua'] = true }

local function place_of(f)
   local source = getinfo(f, 'S').source
   if FOLDER and source:sub(1, #FOLDER) == FOLDER then return source:sub(#FOLDER + 1) end
   return source:match('^@(th/boot%.lua)$') -- boot.lua is loaded from text, not from its file
end

-- The alphabetically first key of a value in a table.
local function key_of(value, t)
   local first
   for key, found in next, t do
      if rawequal(found, value) and type(key) == 'string' and (not first or key < first) then first = key end
   end
   return first
end

-- The names that lead from a package's table to a function in it or in its classes.
local function names_of(f, package_name, t)
   local name = key_of(f, t)
   if name then return { name } end
   for key in next, t do
      local methods = type(key) == 'string' and class.getmetatable(package_name .. '.' .. key)
      local method = methods and key_of(f, methods)
      if method then return { key, method } end
   end
end

local BY_NAME = [[
local found = require %q
if type(found) ~= 'table' then found = _G[%q] end
return found%s(...)
]]

local named_functions = {}

-- Whether one of our functions replaces one that is C in Torch7.
function named_functions.is_of_c(f)
   local place = place_of(f)
   return place and (STANDS_FOR_C[place] or STANDS_FOR_C[place:match('^[^/]*/')]) or false
end

-- What to write in place of a function: one that looks it up by name, or the function itself if it is not ours or has
-- no name.
function named_functions.written(f)
   local package_name = (place_of(f) or ''):match('^([^/]+)/')
   local t = package_name and (package.loaded[package_name] or _G[package_name])
   local names = type(t) == 'table' and names_of(f, package_name, t)
   if not names then return f end
   local path = ''
   for i = 1, #names do path = path .. ('[%q]'):format(names[i]) end
   return loadstring(BY_NAME:format(package_name, package_name, path), '=' .. package_name .. '.'
      .. table.concat(names, '.'))
end

return named_functions
