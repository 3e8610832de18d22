-- Lets scripts require the files of Torch7's packages by name (require 'nn.Linear'). Here their definitions are part of
-- the package, so that is loaded, and the file's value is returned.
local class = require 'torch.core.class'
local paths = require 'paths'

local FOLDER = debug.getinfo(1, 'S').source:match('^@(.*/)th/submodules%.lua$')

-- The values of files that return one: a field of their package, or the package itself (true).
local VALUES = {
   ['sys.fpath'] = 'fpath', ['nn.CrossEntropyCriterion'] = 'CrossEntropyCriterion',
   ['nngraph.simple_print'] = 'simple_print',
   ['tds.hash'] = 'Hash', ['tds.vec'] = 'Vec', ['tds.atomic'] = 'AtomicCounter', ['tds.env'] = true,
   ['cudnn.find'] = 'find', ['cudnn.env'] = true,
}

-- Files that return nothing and whose name is not a field.
local FILES = {
   torch = 'FFInterface Tensor', nn = 'ErrorMessages',
   nngraph = 'JustElement JustTable ModuleFromCriterion graphinspecting',
   tds = 'cdefs', cudnn = 'ffi convert Pooling Pooling3D Pointwise',
   hdf5 = 'file group dataset datasetOptions ffi', dok = 'inline', csvigo = 'File',
}

-- Packages whose classes belong to another package.
local CLASSES_OF = { nnx = 'nn', cunn = 'nn' }

-- Whether the package has what a file of that name defines: a class, a function or a table of them.
local function defines(package_name, t, name)
   local kind = type(rawget(t, name))
   if kind == 'function' or kind == 'table' then return true end
   return class.getmetatable((CLASSES_OF[package_name] or package_name) .. '.' .. name) ~= nil
end

-- A function for package.loaders: returns a function that returns the file's value, or nothing if the file is not ours.
return function(name)
   local package_name, file = name:match('^(%w+)%.(%w[%w_]*)$')
   if not package_name or not paths.filep(FOLDER .. package_name .. '/init.lua') then return nil end
   local t = require(package_name)
   if type(t) ~= 'table' then return nil end
   local value = VALUES[name]
   if value then
      return function() return value == true and t or t[value] end
   end
   local files = (' %s '):format(FILES[package_name] or '')
   if defines(package_name, t, file) or files:find((' %s '):format(file), 1, true) then
      return function() return true end
   end
end
