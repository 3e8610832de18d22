-- Removes from a Lua state whatever an untrusted script must not have. The packages it may use are loaded first, with
-- everything in reach; afterwards only what is listed here remains in the globals.
-- Called by lua_compat/runtime/state.py with the names of the packages and the Lua sources next to the script (by name
-- for require).
local packages, sources = ...
local allowed = require 'th.allowed'

local real_require, loaded = require, package.loaded
local real_loadstring, real_getmetatable = loadstring, getmetatable
local raw_setmetatable, type, error, tostring = setmetatable, type, error, tostring
local rawget, rawset, ipairs, pairs = rawget, rawset, ipairs, pairs
local setfenv, raw_getmetatable = setfenv, debug.getmetatable
local byte, concat = string.byte, table.concat
local globals = _G

local function refuse(name) error(('%s is not available in the sandbox'):format(name), 3) end

local function refused(name)
   return function() refuse(name) end
end

-- A table of which only ``kept`` can be read; reading anything else is refused by name.
local function only(name, kept)
   return raw_setmetatable(kept, {
      __index = function(_, key) refuse(name .. '.' .. tostring(key)) end,
      __metatable = false,
   })
end

for _, name in ipairs(packages) do
   local result = real_require(name)
   if type(result) == 'table' and rawget(_G, name) == nil then rawset(_G, name, result) end
end

-- The globals as scripts see them: those of the packages, and those that scripts add.
local script_globals = raw_setmetatable({}, { __index = globals, __metatable = false })

-- Source text only: bytecode can do what the language cannot. Scripts may put their own functions into string and
-- table: what is checked here does not go through these.
local function compile(text, name, mode, environment)
   if type(text) ~= 'string' then error('source text expected', 2) end
   if byte(text) == 27 or (mode ~= nil and mode ~= 't' and mode ~= 'bt') then
      return nil, 'bytecode is not available in the sandbox'
   end
   local chunk, problem = real_loadstring(text, name, 't')
   return chunk and setfenv(chunk, type(environment) == 'table' and environment or script_globals), problem
end

local function load_pieces(piece, name, mode, environment)
   if type(piece) == 'string' then return compile(piece, name, mode, environment) end
   local pieces = {}
   for text in piece do
      if text == '' then break end
      pieces[#pieces + 1] = text
   end
   return compile(concat(pieces), name or '=(load)', mode, environment)
end

-- The modules that require returns: the packages above, and those next to the script.
local modules = { string = string, table = table, math = math, bit = bit, coroutine = coroutine }
for _, name in ipairs(packages) do modules[name] = loaded[name] end

local function sandboxed_require(name)
   if modules[name] ~= nil then return modules[name] end
   local text = sources[name]
   if text == nil then
      error(('module %s is not available in the sandbox: only %s, and Lua files beside the script'):format(
         tostring(name), table.concat(packages, ', ')), 2)
   end
   local chunk, problem = compile(text, '@' .. name:gsub('%.', '/') .. '.lua')
   if not chunk then error(problem, 2) end
   local result = chunk(name)
   if modules[name] == nil then modules[name] = result == nil and true or result end
   return modules[name]
end

-- Finalisers called by hand would free memory that is in use: metatables with one are shown without it.
local shown = raw_setmetatable({}, { __mode = 'k' })
local function without_finaliser(metatable)
   if type(metatable) ~= 'table' or rawget(metatable, '__gc') == nil then return metatable end
   if not shown[metatable] then
      shown[metatable] = raw_setmetatable({}, {
         __index = function(_, key)
            if key ~= '__gc' then return metatable[key] end
         end,
         __newindex = function(_, key, value)
            if key == '__gc' or key == '__index' then refuse('the field ' .. key) end
            rawset(metatable, key, value)
         end,
         __metatable = false,
      })
   end
   return shown[metatable]
end

local function hide_finaliser(metatable)
   local lookup = rawget(metatable, '__index')
   rawset(metatable, '__index', function(self, key)
      if key ~= '__gc' then return lookup(self, key) end
   end)
end

-- Leaves in a table what ``names`` has; whatever else it holds is refused. Fields that begin with __ belong to classes.
local function keep(name, t, names)
   for key in pairs(t) do
      if not names[key] and not (type(key) == 'string' and key:find('^__')) then rawset(t, key, refused(name .. key)) end
   end
end

for name, names in pairs(allowed.libraries) do
   local library = rawget(globals, name)
   if library then keep(name .. '.', library, names) end
end
for name, names in pairs(allowed.packages) do keep(name .. '.', loaded[name], names) end

-- Torch: no files, no processes, no raw pointers.
local torch = torch
local real_torch_getmetatable = torch.getmetatable
for kind, names in pairs{ Tensor = allowed.tensor, Storage = allowed.storage } do
   for _, element in ipairs{ 'Byte', 'Char', 'Short', 'Int', 'Long', 'Half', 'Float', 'Double' } do
      local class_name = ('torch.%s%s'):format(element, kind)
      local metatable = real_torch_getmetatable(class_name)
      keep(class_name .. ':', metatable, names)
      hide_finaliser(metatable)
      raw_getmetatable(torch.getconstructortable(class_name)).__index = without_finaliser(metatable)
   end
end
keep('torch.CmdLine.', real_torch_getmetatable('torch.CmdLine'), allowed.cmdline)
keep('torch.', torch, allowed.torch)
function torch.getmetatable(name) return without_finaliser(real_torch_getmetatable(name)) end
-- Of functions, getenv and setenv are getfenv and setfenv.
for _, name in ipairs{ 'getenv', 'setenv' } do
   local original = torch[name]
   torch[name] = function(object, environment)
      if type(object) == 'function' then refuse(('torch.%s of a function'):format(name)) end
      return original(object, environment)
   end
end
local kept = {}
for name in pairs(allowed.globals) do kept[name] = rawget(_G, name) end
for _, name in ipairs(packages) do kept[name] = rawget(_G, name) end
kept._G, kept.getmetatable, kept.newproxy = globals, real_getmetatable, newproxy
kept.loadstring, kept.load, kept.require = compile, load_pieces, sandboxed_require
kept.io = only('io', { write = io.write, stdout = io.stdout, stderr = io.stderr, type = io.type, flush = io.flush,
   read = io.read, stdin = io.stdin, lines = refused('io.lines') }) -- stdin is empty
kept.os = only('os', { clock = os.clock, date = os.date, difftime = os.difftime, time = os.time, exit = os.exit })
kept.debug = only('debug', { traceback = debug.traceback })
kept.package = only('package', { path = '', cpath = '', loaded = modules, preload = {}, config = package.config })
for _, name in ipairs{ 'dofile', 'loadfile', 'include', 'getfenv', 'setfenv', 'module' } do
   kept[name] = refused(name)
end
for _, name in ipairs{ 'ffi', 'jit', 'python' } do kept[name] = only(name, {}) end

local names = {}
for name in pairs(globals) do names[#names + 1] = name end
for _, name in ipairs(names) do rawset(globals, name, kept[name]) end
for name, value in pairs(kept) do rawset(globals, name, value) end

script_globals._G = script_globals
script_globals.newproxy = refused('newproxy')
function script_globals.getmetatable(object) return without_finaliser(real_getmetatable(object)) end
