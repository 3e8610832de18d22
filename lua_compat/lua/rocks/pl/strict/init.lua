-- pl.strict: reading or setting an undeclared variable is an error. Main chunks declare by assigning.
local getinfo = debug.getinfo
local strict = {}

local function made_by()
   local frame = getinfo(3, 'S')
   return frame and frame.what or 'C'
end

local function ask(index, t, name)
   if type(index) == 'table' then return index[name] end
   return index(t, name)
end

-- Makes a table strict; declared: names that may be read although they are nil (for the globals, __global is set).
function strict.module(name, t, declared)
   if type(t) ~= 'table' then t = {} end
   local metatable = getmetatable(t)
   if metatable and rawget(metatable, '__declared') then return end
   if not metatable then
      metatable = {}
      setmetatable(t, metatable)
   end
   local set_before, get_before = metatable.__newindex, metatable.__index
   declared = declared or {}
   metatable.__declared = declared
   local is_global = declared.__global

   function metatable.__newindex(self, key, value)
      if set_before then
         set_before(self, key, value)
         if rawget(self, key) ~= nil then return end
      end
      if not declared[key] then
         if is_global then
            local maker = made_by()
            if maker ~= 'main' and maker ~= 'C' then
               error(("assign to undeclared global '%s'"):format(tostring(key)), 2)
            end
         end
         declared[key] = true
      end
      rawset(self, key, value)
   end

   function metatable.__index(self, key)
      if declared[key] or made_by() == 'C' then return rawget(self, key) end
      if get_before then
         local value = ask(get_before, self, key)
         if value ~= nil then return value end
      end
      local where = name and (" in '%s'"):format(name) or ''
      error(("variable '%s' is not declared%s"):format(tostring(key), where), 2)
   end
   return t
end

function strict.make_all_strict(t)
   for name, value in pairs(t) do
      if type(value) == 'table' and value ~= t then strict.module(name, value) end
   end
end

-- A strict table that collects the assignments to another one.
function strict.closed_module(t, name)
   t = t or {}
   local closed = {}
   local metatable = getmetatable(t)
   if not metatable then
      metatable = {}
      setmetatable(t, metatable)
   end
   function metatable.__newindex(_, key, value) closed[key] = value end
   return strict.module(name, closed)
end

if not rawget(_G, 'PENLIGHT_NO_GLOBAL_STRICT') then
   strict.module(nil, _G, { _PROMPT = true, _PROMPT2 = true, __global = true })
end

return strict
