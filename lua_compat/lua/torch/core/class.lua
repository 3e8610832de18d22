-- Torch's classes: metatables with a name, single inheritance, and tables that act as constructors.
local ffi = require 'ffi'
local errors = require 'torch.core.errors'

local type, rawget, rawset, getmetatable, setmetatable = type, rawget, rawset, getmetatable, setmetatable
local raw_metatable = debug.getmetatable

local class = {}

-- The metatables of userdata. The sandbox gives scripts stand-ins for them.
class.is_of_userdata = {}
function class.shown(metatable) return metatable end

-- Classes without a package are globals; in the sandbox, globals of the script.
local globals = _G
function class.use_globals(of_script) globals = of_script end

local metatable_of_name, name_of_metatable = {}, {}
local registry = debug.getregistry() -- as in Torch7, packages look up a metatable's class name there
local is_constructor = setmetatable({}, { __mode = 'k' })
local name_of_ctype = {}

function class.typename(object)
   local mt = getmetatable(object)
   if mt ~= nil then
      local name = name_of_metatable[mt]
      if name and not is_constructor[object] then return name end
   end
   if type(object) == 'cdata' then return name_of_ctype[tonumber(ffi.typeof(object))] end
end
local typename = class.typename
function errors.described(object) return typename(object) or type(object) end

-- Finds the __index__ hook of a class or its ancestors, and the value that they have under a key.
local function hook_from(mt)
   while mt do
      local hook = rawget(mt, '__index__')
      if hook then return hook end
      mt = getmetatable(mt)
   end
end

local function value_from(mt, key)
   while mt do
      local value = rawget(mt, key)
      if value ~= nil then return value end
      mt = getmetatable(mt)
   end
end

-- Looks up obj[key] for an object of a class: the __index__ hook, then the class and its ancestors. The first three
-- levels are written out, without a loop: LuaJIT does not inline loops into a caller's trace, so it gave up compiling
-- every function that calls methods.
local function class_index(self, key)
   if key == '__gc' then return nil end -- only the collector may call it: a script could free memory in use
   local own = getmetatable(self)
   local hook, parent = rawget(own, '__index__'), getmetatable(own)
   local second, rest
   if parent then
      hook, second = hook or rawget(parent, '__index__'), getmetatable(parent)
      if second then
         hook, rest = hook or rawget(second, '__index__'), getmetatable(second)
         if rest and not hook then hook = hook_from(rest) end
      end
   end
   if hook then
      local value, found = hook(self, key)
      if found then return value end
   end
   local value = rawget(own, key)
   if value ~= nil or not parent then return value end
   value = rawget(parent, key)
   if value ~= nil or not second then return value end
   value = rawget(second, key)
   if value ~= nil or not rest then return value end
   return value_from(rest, key)
end

class.index = class_index

local function class_newindex(self, key, value)
   local mt = getmetatable(self)
   local hook = mt.__newindex__
   if hook and hook(self, key, value) then return end
   if type(self) == 'table' then
      rawset(self, key, value)
   else
      error(('the class %s cannot be indexed'):format(typename(self)), 2)
   end
end

-- The metatable that an operator uses. getmetatable is compiled by LuaJIT and suffices for classes; debug.getmetatable
-- is not compiled, and is needed for the rest.
local function metatable_of_either(a, b)
   local mt = getmetatable(a)
   if mt == nil then mt = getmetatable(b) end
   if mt ~= nil and name_of_metatable[mt] then return mt end
   return raw_metatable(a) or raw_metatable(b)
end

-- An operator calls the method __NAME__. If there is none, it returns missing(...), which usually raises an error.
local function operator(name, missing)
   local method_name = '__' .. name .. '__'
   return function(a, b, ...)
      local mt = metatable_of_either(a, b)
      local method = mt[method_name]
      if type(method) == 'function' then return method(a, b, ...) end
      if method == nil then return missing(a, b) end
   end
end

local function no_binary(words)
   return function(a, b)
      error(('both %s and %s have no %s operator'):format(typename(a) or '(null)', typename(b) or '(null)', words), 2)
   end
end

local function no_unary(words)
   return function(a) error(('%s has no %s operator'):format(typename(a), words), 2) end
end

-- Varargs, because a method can tell obj() from obj(nil).
local call_missing = no_unary 'call'
local function call(object, ...)
   local method = metatable_of_either(object).__call__
   if method == nil then return call_missing(object) end
   return method(object, ...)
end

local operators = {
   __add = operator('add', no_binary 'addition'),
   __sub = operator('sub', no_binary 'substraction'),
   __mul = operator('mul', no_binary 'multiplication'),
   __div = operator('div', no_binary 'division'),
   __mod = operator('mod', no_binary 'modulo'),
   __pow = operator('pow', no_binary 'power'),
   __concat = operator('concat', no_binary 'concat'),
   __eq = operator('eq', rawequal),
   __lt = operator('lt', no_binary 'less-than'),
   __le = operator('le', no_binary 'less-equal'),
   __unm = operator('unm', no_unary 'negation'),
   __len = operator('len', no_unary 'length'),
   __call = call,
   __tostring = operator('tostring', function(a) return typename(a) end),
}

local function constructor_call(constructor, ...)
   local new = rawget(raw_metatable(constructor), '__new')
   if not new then error('no constructor available', 2) end
   local object = new(...) -- not a tail call: errors.lua looks for this frame
   return object
end

local function module_of(name)
   local path = name:match('^(.*)%.[^.]*$')
   if not path then return globals end
   local module, walked = globals, nil
   for part in path:gmatch('[^.]+') do
      walked = walked and (walked .. '.' .. part) or part
      module = module[part]
      if type(module) ~= 'table' then
         error(('while creating metatable %s: bad argument #1 (%s is an invalid module name)'):format(name, walked), 4)
      end
   end
   return module
end

local function assign_once(mt, field, value, name, what)
   if value == nil then return end
   if rawget(mt, field) ~= nil then error(('%s has been already assigned a %s'):format(name, what), 3) end
   rawset(mt, field, value)
end

-- Returns the metatable of class `name`, creating it if necessary. parent: a class name; module: the table that
-- receives the constructor (default: the one that the name implies); metatable: an existing metatable to use, for
-- userdata.
function class.newmetatable(name, parent, constructor, destructor, factory, module, metatable)
   module = module or module_of(name)
   local mt = metatable_of_name[name]
   if not mt then
      mt = metatable or {}
      if metatable then class.is_of_userdata[metatable] = true end
      metatable_of_name[name], name_of_metatable[mt], registry[mt] = mt, name, name
      for event, f in pairs(operators) do mt[event] = f end
      mt.__index, mt.__newindex = class_index, class_newindex
      mt.__typename, mt.__metatable, mt.__version = name, mt, 1
   end
   if parent ~= nil then
      if raw_metatable(mt) then error(('class %s has been already assigned a parent class\n'):format(name), 2) end
      local parent_metatable = metatable_of_name[parent]
      if not parent_metatable then error(('bad argument #2 (invalid parent class name %s)'):format(parent), 2) end
      setmetatable(mt, parent_metatable)
   end
   assign_once(mt, '__gc', destructor, name, 'destructor')
   assign_once(mt, '__factory', factory, name, 'factory')
   local constructor_table = rawget(mt, '__constructor')
   if not constructor_table then
      constructor_table = setmetatable({}, {
         __index = mt,
         __newindex = function(_, key, value) rawset(mt, key, value) end,
         __call = constructor_call,
         __metatable = mt,
      })
      is_constructor[constructor_table] = true
      rawset(mt, '__constructor', constructor_table)
   end
   if constructor then
      assign_once(raw_metatable(constructor_table), '__new', constructor, name, 'constructor')
      rawset(mt, 'new', constructor)
   end
   module[name:match('[^.]*$')] = constructor_table
   return mt
end

-- Allows a class to be redefined; existing objects keep the old one.
function class.forget(name) metatable_of_name[name] = nil end

function class.getmetatable(name) return metatable_of_name[name] end

function class.setmetatable(object, name)
   local mt = metatable_of_name[name]
   if not mt then error(('unknown typename %s\n'):format(tostring(name)), 2) end
   return setmetatable(object, mt)
end

function class.factory(name)
   local mt = metatable_of_name[name]
   return mt and rawget(mt, '__factory')
end

function class.getconstructortable(name)
   local mt = metatable_of_name[name]
   return mt and rawget(mt, '__constructor')
end

function class.metatype(name, mt, ctype)
   if type(name) ~= 'string' or type(mt) ~= 'table' then error('expecting: string table [ctype]', 2) end
   if ctype ~= nil then name_of_ctype[tonumber(ffi.typeof(ctype))] = name end
   metatable_of_name[name], name_of_metatable[mt], registry[mt] = mt, name, name
end

function class.version(object)
   local name = typename(object)
   return name and rawget(metatable_of_name[name], '__version')
end

-- torch.class(name [, parent name] [, module])
function class.class(...)
   local n = select('#', ...)
   local name, parent, module = ...
   if n == 2 and type(parent) == 'table' then parent, module = nil, parent end
   if type(name) ~= 'string' or n > 3 or (n > 1 and parent == nil and module == nil)
      or (parent ~= nil and type(parent) ~= 'string') or (module ~= nil and type(module) ~= 'table') then
      error('<class name> [<parent class name>] [<module table>] expected', 2)
   end
   local mt
   local function factory() return setmetatable({}, mt) end
   local function constructor(...)
      local self = setmetatable({}, mt)
      if self.__init then self:__init(...) end
      return self
   end
   mt = class.newmetatable(name, parent, constructor, nil, factory, module)
   return mt, parent and class.shown(metatable_of_name[parent])
end

function class.isTypeOf(object, class_or_pattern)
   local wanted = class_or_pattern
   if type(wanted) ~= 'string' then
      wanted = getmetatable(wanted).__typename
      assert(type(wanted) == 'string', 'type must be provided as [regexp] string, or factory')
   end
   local mt = getmetatable(object)
   while type(mt) == 'table' do
      local name = rawget(mt, '__typename')
      -- a name must match in full; a pattern may match part of it
      local match = name and name:match(wanted)
      if match and (match ~= wanted or match == name) then return true end
      mt = getmetatable(mt)
   end
   return false
end

-- A number that identifies an object (its address in Torch7).
function class.pointer(object)
   local kind = type(object)
   if kind == 'cdata' then return tonumber(ffi.cast('intptr_t', object)) end
   if kind == 'userdata' and not typename(object) then errors.argument(1, 'Torch object expected') end
   if kind == 'number' or kind == 'boolean' or kind == 'nil' then
      error('Torch object, table, thread, cdata or function expected', 2)
   end
   return tonumber(('%p'):format(object))
end

function class.isequal(a, b) return rawequal(a, b) and (type(a) == 'userdata' or type(a) == 'table') end

return class
