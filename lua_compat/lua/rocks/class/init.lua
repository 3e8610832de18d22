-- The package class: classes in plain Lua, and a type test that includes parent classes. argcheck uses it once it is
-- loaded.
local argcheck = require 'argcheck'
local environment = require 'argcheck.env'
local has_ffi, ffi = pcall(require, 'ffi')

local class = {}
local classes = {} -- by name: the methods, which are the metatable of the objects
local derived = {} -- by name: the names of the class and of the classes derived from it
local of_ctype = {} -- by the number of a C type: the class that its values belong to

local function class_of(object)
   local kind = type(object)
   if kind == 'cdata' then return has_ffi and of_ctype[tonumber(ffi.typeof(object))] end
   local metatable = (kind == 'table' or kind == 'userdata') and getmetatable(object)
   return metatable and rawget(metatable, '__typename')
end

-- The value that scripts get for a class: indexing accesses its fields, and calling it makes an object.
local function constructor(methods)
   local function make(_, ...) return methods.new(...) end
   return setmetatable({}, { __index = methods, __newindex = methods, __metatable = methods, __call = make })
end

local function claim(ctype, name)
   local number = tonumber(ctype)
   if not number then error('invalid ffi ctype', 0) end
   local other = of_ctype[number]
   if other then error(('ctype <%s> already considered as <%s>'):format(tostring(ctype), other), 0) end
   of_ctype[number] = name
end

class.new = argcheck{
   doc = '### `class.new(@ARGP)`\n\nMakes a class and returns its constructor, and its parent if it has one.\n\n',
   { name = 'name', type = 'string', doc = 'class name' },
   { name = 'parentname', type = 'string', opt = true, doc = 'parent class name' },
   { name = 'ctype', type = 'cdata', opt = true, doc = 'C type whose values are of the class' },
   call = function(name, parent_name, ctype)
      if classes[name] then error(('class <%s> already exists'):format(name), 0) end
      local parent = classes[parent_name]
      if parent_name and not parent then error(('parent class <%s> does not exist'):format(parent_name), 0) end
      if ctype then claim(ctype, name) end

      local methods = { __typename = name }
      methods.__index = methods
      function methods.__init() end
      function methods.__factory() return setmetatable({}, methods) end
      function methods.new(...)
         local object = methods.__factory()
         object:__init(...)
         return object
      end
      classes[name], derived[name] = methods, { [name] = true }

      local ancestor = parent
      while ancestor do
         derived[ancestor.__typename][name] = true
         ancestor = getmetatable(ancestor)
      end
      if parent then setmetatable(methods, parent) end
      return constructor(methods), parent
   end,
}

class.factory = argcheck{
   doc = '### `class.factory(@ARGP)`\n\nReturns an object of a class without calling `__init`.\n\n',
   { name = 'name', type = 'string' },
   call = function(name)
      if not classes[name] then error(('unknown class <%s>'):format(name), 0) end
      return classes[name].__factory()
   end,
}

class.metatable = argcheck{
   doc = '### `class.metatable(@ARGP)`\n\nReturns the methods of a class, which are the metatable of its objects.\n\n',
   { name = 'name', type = 'string' },
   call = function(name) return classes[name] end,
}

function class.type(object) return class_of(object) or type(object) end

function class.istype(object, name)
   local of_object = class_of(object)
   if not of_object then return type(object) == name end
   if derived[name] then return derived[name][of_object] or false end
   return of_object == name -- of another type system, such as torch.class
end

environment.istype = class.istype

return setmetatable(class, { __call = function(_, ...) return class.new(...) end })
