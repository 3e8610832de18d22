-- Removes from a Lua state everything that an untrusted script must not have. The packages that it may use are loaded
-- first, with full access; afterwards only the names listed here remain in the globals.
--
-- Our code and the script do not share globals: the script has its own table, with copies of Lua's libraries. Our code
-- never sees what the script stores there, or in string, table, math ... Called by lua_compat/runtime/state.py with the
-- names of the packages, and the Lua sources next to the script (by name for require).
local packages, sources = ...
local allowed = require 'th.allowed'
local protection = require 'th.protection'
local class = require 'torch.core.class'
local templates = require 'torch.core.templates'

local real_require, loaded = require, package.loaded
local real_loadstring, real_getmetatable = loadstring, getmetatable
local raw_setmetatable, type, error, tostring = setmetatable, type, error, tostring
local rawget, rawset, ipairs, pairs = rawget, rawset, ipairs, pairs
local setfenv, byte, concat = setfenv, string.byte, table.concat
local globals = _G

local refuse, shown = protection.refuse, protection.shown

local function refused(name)
   return function() refuse(name) end
end

-- A table of which only `kept` can be read; reading anything else raises an error with its name.
local function only(name, kept)
   return raw_setmetatable(kept, {
      __index = function(_, key) refuse(name .. '.' .. tostring(key)) end,
      __metatable = false,
   })
end

local metatable_of = debug.getmetatable
-- A table with the same fields, which refuses what the original refuses.
local function copy(t)
   local fields = {}
   for key, value in pairs(t) do fields[key] = value end
   return raw_setmetatable(fields, metatable_of(t))
end

for _, name in ipairs(packages) do
   local result = real_require(name)
   if type(result) == 'table' and rawget(_G, name) == nil then rawset(_G, name, result) end
end

templates.make_all()

-- The globals of scripts, filled at the end of this file.
local script_globals = {}
class.use_globals(script_globals)

-- Accepts only source text: bytecode can do what the language cannot. Scripts may replace functions in string and
-- table, so these checks do not use them.
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

-- The modules that require returns to scripts: the packages above, and files next to the script.
local modules = {}
for _, name in ipairs(packages) do modules[name] = loaded[name] end

local function sandboxed_require(name)
   if modules[name] ~= nil then return modules[name] end
   local text = sources[name]
   if text == nil then
      error(('module %s is not available in the sandbox: only %s, pl, moses, argcheck, class, totem, optnet, '
         .. 'unsup, and Lua files next to the script'):format(tostring(name), concat(packages, ', ')), 2)
   end
   local chunk, problem = compile(text, '@' .. name:gsub('%.', '/') .. '.lua')
   if not chunk then error(problem, 2) end
   local result = chunk(name)
   if modules[name] == nil then modules[name] = result == nil and true or result end
   return modules[name]
end

-- Our own code can require what is loaded, and nothing else.
local function require_loaded(name)
   if loaded[name] == nil then refuse('module ' .. tostring(name)) end
   return loaded[name]
end

-- Keeps the fields of a table that are in `names`; all others raise an error. Fields that start with __ belong to
-- classes.
local function keep(name, t, names)
   for key in pairs(t) do
      if not names[key] and not (type(key) == 'string' and key:find('^__')) then
         rawset(t, key, refused(name .. key))
      end
   end
end

for name, names in pairs(allowed.libraries) do
   local library = rawget(globals, name)
   if library then keep(name .. '.', library, names) end
end
for name, names in pairs(allowed.packages) do keep(name .. '.', loaded[name], names) end

-- Torch: no files, no processes, no raw pointers.
local torch = torch
for kind, names in pairs{ Tensor = allowed.tensor, Storage = allowed.storage } do
   for _, element in ipairs{ 'Byte', 'Char', 'Short', 'Int', 'Long', 'Half', 'Float', 'Double' } do
      local class_name = ('torch.%s%s'):format(element, kind)
      keep(class_name .. ':', class.getmetatable(class_name), names)
   end
end
for _, name in ipairs{ 'torch.DiskFile', 'torch.PipeFile' } do protection.without_constructor(name, refused(name)) end
protection.hide_metatables()
keep('torch.CmdLine.', class.getmetatable('torch.CmdLine'), allowed.cmdline)
keep('torch.', torch, allowed.torch)
torch.pointer = protection.pointer_for(torch.pointer)
function torch.getmetatable(name) return shown(class.getmetatable(name)) end
function torch.newmetatable(name, parent, constructor, destructor, factory, module)
   if destructor ~= nil then refuse('the destructor of a class') end
   return shown(class.newmetatable(name, parent, constructor, nil, factory, module))
end
-- The third argument is a C type, or its text; scripts have neither.
function torch.metatype(name, metatable, ctype)
   if ctype ~= nil then refuse('a C type') end
   return class.metatype(name, metatable)
end
-- For functions, getenv and setenv are getfenv and setfenv.
for _, name in ipairs{ 'getenv', 'setenv' } do
   local original = torch[name]
   torch[name] = function(object, environment)
      if type(object) == 'function' then refuse(('torch.%s of a function'):format(name)) end
      return original(object, environment)
   end
end

-- The remaining globals for our code; then a copy of them for scripts.
local kept = {}
for name in pairs(allowed.globals) do kept[name] = rawget(_G, name) end
for _, name in ipairs(packages) do kept[name] = rawget(_G, name) end
kept._G, kept.getmetatable, kept.newproxy = globals, real_getmetatable, newproxy
kept.loadstring, kept.load, kept.require = compile, load_pieces, require_loaded
kept.io = only('io', { write = io.write, stdout = io.stdout, stderr = io.stderr, type = io.type, flush = io.flush,
   read = io.read, stdin = io.stdin, lines = refused('io.lines') }) -- stdin is empty
kept.os = only('os', { clock = os.clock, date = os.date, difftime = os.difftime, time = os.time, exit = os.exit })
kept.debug = only('debug', { traceback = debug.traceback })
kept.package = only('package', { path = '', cpath = '', loaded = loaded, preload = {}, config = package.config })
for _, name in ipairs{ 'dofile', 'loadfile', 'include', 'getfenv', 'setfenv', 'module' } do
   kept[name] = refused(name)
end
for _, name in ipairs{ 'ffi', 'jit', 'python' } do kept[name] = only(name, {}) end

for name, value in pairs(kept) do script_globals[name] = value end
for name in pairs(allowed.libraries) do
   if kept[name] then
      script_globals[name] = copy(kept[name])
      modules[name] = script_globals[name]
   end
end
for _, name in ipairs{ 'io', 'os', 'debug', 'ffi', 'jit', 'python', 'package' } do
   script_globals[name] = copy(kept[name])
end
script_globals._G, script_globals.package.loaded = script_globals, modules
script_globals.newproxy, script_globals.require = refused('newproxy'), sandboxed_require
script_globals.getmetatable = protection.getmetatable_for(script_globals.string)
-- These functions apply to the script's globals.
for _, name in ipairs{ 'who', 'clear', 'clearall' } do setfenv(xlua[name], script_globals) end

local names = {}
for name in pairs(globals) do names[#names + 1] = name end
for _, name in ipairs(names) do rawset(globals, name, kept[name]) end
for name, value in pairs(kept) do rawset(globals, name, value) end
