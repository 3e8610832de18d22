-- pl.utils: functions on which the rest of Penlight builds.
local compat = require 'pl.compat'
local deprecation = require 'pl.utils.deprecation'
local enumeration = require 'pl.utils.enumeration'
local functions = require 'pl.utils.functions'
local files = require 'pl.utils.files'
local processes = require 'pl.utils.processes'
local checks = require 'pl.utils.checks'

local utils = { _VERSION = '1.5.4' }

for _, part in ipairs{ compat, checks, functions, processes, deprecation, enumeration } do
   for name, value in pairs(part) do utils[name] = value end
end
local assert_string, raise = checks.assert_string, checks.raise

utils.patterns = {
   FLOAT = '[%+%-%d]%d*%.?%d*[eE]?[%+%-]?%d*',
   INTEGER = '[+%-%d]%d*',
   IDEN = '[%a_][%w_]*',
   FILE = '[%a%.\\][:%][%w%._%-\\]*',
}

-- The metatables of the containers, which exist before their modules are loaded.
utils.stdmt = { List = { _name = 'List' }, Map = { _name = 'Map' }, Set = { _name = 'Set' },
   MultiMap = { _name = 'MultiMap' } }

function utils.pack(...) return { n = select('#', ...), ... } end

-- Unpacks t.n values.
function utils.unpack(t, first, last) return unpack(t, first or 1, last or t.n or #t) end

function utils.printf(format, ...)
   assert_string(1, format)
   utils.fprintf(io.stdout, format, ...)
end

function utils.fprintf(file, format, ...)
   assert_string(2, format)
   file:write(format:format(...))
end

-- import skips these names of modules.
local KEPT_BY_MODULES = { _M = true, _NAME = true, _PACKAGE = true, _VERSION = true }
local imported = {}

local function name_within(t, value)
   for name, field in pairs(t) do
      if field == value then return name end
   end
   return '?'
end

-- Copies a module's fields into a table (default: the globals), except names that exist there.
function utils.import(module, into)
   into = into or _G
   module = module or utils
   if type(module) == 'string' then module = require(module) end
   if imported[module] then return end
   local name = name_within(into, module)
   imported[module] = name
   for key, value in pairs(module) do
      if rawget(into, key) and not KEPT_BY_MODULES[key] then
         utils.fprintf(io.stderr, "warning: '%s.%s' will not override existing symbol\n", name, key)
      else
         rawset(into, key, value)
      end
   end
end

-- Iterates over the indices from first to last, including nil values.
function utils.npairs(t, first, last, step)
   step = step or 1
   if step == 0 then error('iterator step-size cannot be 0', 2) end
   first, last = first or 1, last or t.n or #t
   local i = first - step
   return function()
      i = i + step
      if step > 0 and i <= last or step < 0 and i >= last then return i, t[i] end
   end
end

-- Iterates over the keys that are not integers.
function utils.kpairs(t)
   local key
   return function()
      local value
      repeat key, value = next(t, key) until type(key) ~= 'number' or math.floor(key) ~= key
      return key, value
   end
end

function utils.choose(condition, ...)
   if condition then return (...) end
   return (select(2, ...))
end

function utils.escape(text)
   assert_string(1, text)
   return (text:gsub('[%-%.%+%[%]%(%)%$%^%%%?%*]', '%%%0'))
end

-- The parts of a string between the matches of a pattern; at most n of them.
function utils.split(text, pattern, plain, n)
   assert_string(1, text)
   if pattern == '' then return { text } end
   pattern = pattern or '%s+'
   local parts, start = {}, 1
   while true do
      local first, last = text:find(pattern, start, plain)
      if not first or #parts + 1 == n then break end
      parts[#parts + 1] = text:sub(start, first - 1)
      start = last + 1
   end
   local rest = text:sub(start)
   if rest ~= '' then parts[#parts + 1] = rest end
   if #parts == 1 and parts[1] == '' then return {} end
   return parts
end

function utils.splitv(...) return unpack(utils.split(...)) end

function utils.array_tostring(t, into, as_text)
   into, as_text = into or {}, as_text or tostring
   for i = 1, #t do into[i] = as_text(t[i], i) end
   return into
end

function utils.is_type(value, kind)
   if type(kind) == 'string' then return type(value) == kind end
   return getmetatable(value) == kind
end

function utils.readfile(name, binary)
   assert_string(1, name)
   local text, problem = files.read(name, binary)
   if not text then return raise(problem) end
   return text
end

function utils.writefile(name, text, binary)
   assert_string(1, name)
   assert_string(2, text)
   local file, problem = io.open(name, binary and 'wb' or 'w')
   if not file then return raise(problem) end
   local written, why = file:write(text)
   file:close()
   if not written then return raise(name .. ': ' .. why) end
   return true
end

function utils.readlines(name)
   assert_string(1, name)
   local file, problem = io.open(name, 'r')
   if not file then return raise(problem) end
   local lines = {}
   for line in file:lines() do lines[#lines + 1] = line end
   file:close()
   return lines
end

return utils
