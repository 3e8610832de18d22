-- pl.class: classes. A class is its objects' metatable, and a copy of its base's fields.

-- The nearest class, from this one upwards, with its own constructor.
local function with_constructor(class)
   while class and not rawget(class, '_init') do class = rawget(class, '_base') end
   return class
end

-- Runs a constructor; meanwhile obj.super is the base's.
local function construct(class, object, ...)
   local base = with_constructor(rawget(class, '_base'))
   if base then
      rawset(object, 'super', function(self, ...) return construct(base, self, ...) end)
   end
   local result = rawget(class, '_init')(object, ...)
   rawset(object, 'super', nil)
   return result
end

local function is_a(object, class)
   local own = getmetatable(object)
   if class == nil then return own end
   while own do
      if own == class then return true end
      own = rawget(own, '_base')
   end
   return false
end

local function class_of(class, object)
   if type(object) ~= 'table' or not rawget(object, 'is_a') and not getmetatable(object) then return false end
   return is_a(object, class)
end

local function cast(class, object) return setmetatable(object, class) end

local function as_text(object)
   local class = object._class
   local name = rawget(class, '_name')
   setmetatable(object, nil)
   local text = tostring(object)
   setmetatable(object, class)
   return name and name .. text:gsub('table', '') or text
end

local function copy_fields(into, from, keep_own)
   for key, value in pairs(from) do
      if not (keep_own and into[key] ~= nil) then into[key] = value end
   end
end

local function new_object(class, ...)
   local object = rawget(class, '_create') and class._create(...) or {}
   setmetatable(object, class)
   local constructed = with_constructor(class)
   if constructed then
      local other = construct(constructed, object, ...)
      if other then object = setmetatable(other, class) end
   end
   local base = rawget(class, '_base')
   if base and rawget(base, '_post_init') then base._post_init(object) end
   return object
end

-- base: a class, or a plain table of methods that becomes the class (its _base is the base class). argument: for the
-- base's _class_init. class: a table to turn into the class.
local function new_class(base, argument, class)
   local is_plain = type(base) == 'table' and not getmetatable(base)
   if is_plain then
      class, base = base, base._base
   else
      class = class or {}
   end
   local metatable = {}
   if type(base) == 'table' then
      copy_fields(class, base, is_plain)
      class._base = base
      metatable.__index = rawget(class, '_handler')
   elseif base ~= nil then
      error('must derive from a table type', 3)
   end
   class.__index = class
   setmetatable(class, metatable)
   if not is_plain then class._init = nil end
   if base and rawget(base, '_class_init') then base._class_init(class, argument) end

   function metatable.__call(_, ...) return new_object(class, ...) end

   -- handler(object or class, name): called for missing fields.
   function class.catch(self, handler)
      if type(self) == 'function' then handler = self end
      class._handler = handler
      metatable.__index = handler
   end

   class.is_a, class.class_of, class.cast = is_a, class_of, cast
   class._class = class
   if not rawget(class, '__tostring') then class.__tostring = as_text end
   return class
end

-- In the sandbox functions have no environments: there, a named class becomes a global.
local has_environments = pcall(getfenv, 0)

local class
class = setmetatable({}, {
   __call = function(_, ...) return new_class(...) end,
   -- class.Name(...) also creates the global Name.
   __index = function(_, name)
      if name == 'class' then
         io.stderr:write('require(\'pl.class\').class is deprecated. Use require(\'pl.class\')\n')
         return class
      end
      local environment = has_environments and getfenv(2) or _G
      return function(...)
         local made = new_class(...)
         made._name = name
         rawset(environment, name, made)
         return made
      end
   end,
})

-- A base class whose subclasses have get_NAME and set_NAME instead of fields, or fields named _NAME.
class.properties = class()

function class.properties._class_init(derived)
   function derived.__index(object, key)
      local method = derived[key]
      if method then return method end
      local getter = rawget(derived, 'get_' .. key)
      if getter then return getter(object) end
      return rawget(object, '_' .. key)
   end
   function derived.__newindex(object, key, value)
      local setter = derived['set_' .. key]
      if setter then setter(object, value) else rawset(object, key, value) end
   end
end

return class
