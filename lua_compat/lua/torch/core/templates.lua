-- Functions that are generated as Lua text for each signature, type or comparison, because that is fast.
-- docs/templates.md explains the template language. There are thousands of them, so most are compiled on first use, and
-- their bytecode is kept for the next process. In the sandbox all are compiled before the script's first line, and none
-- after it.
local ffi = require 'ffi'

local error, assert, ipairs, pairs, type, tostring, tonumber = error, assert, ipairs, pairs, type, tostring, tonumber
local concat, unpack = table.concat, unpack
-- Captured here, because the sandbox gives scripts another `load`, whose functions see the script's globals.
local load, setmetatable, getmetatable, dump = load, setmetatable, getmetatable, string.dump
local sort, match = table.sort, string.match

local templates = {}

-- What each template may call by name.
local functions = { tonumber = tonumber, type = type, select = select, error = error, cast = ffi.cast, copy = ffi.copy }
for _, name in ipairs{ 'tobit', 'band', 'bor', 'bxor', 'bnot', 'lshift', 'rshift', 'arshift' } do
   functions[name] = bit[name]
end
for _, name in ipairs{ 'abs', 'min', 'max', 'sqrt', 'floor', 'ceil', 'exp', 'log', 'sin', 'cos', 'tan', 'asin', 'acos',
   'atan', 'atan2', 'sinh', 'cosh', 'tanh' } do
   functions[name] = math[name]
end
templates.functions = functions

local waiting, all_made = {}, false

-- The globals of all templates: none.
local no_globals = setmetatable({}, { __index = function(_, name)
   error(('a template uses %s, which it is not given'):format(name), 2)
end })

local function fail(name, problem, ...) error(('template %s: ' .. problem):format(name, ...), 0) end

-- A table that caches the result of `find` for each text until everything is compiled: most templates share lines.
local tables = {}
local function kept(find)
   local found = setmetatable({}, { __index = function(self, text)
      self[text] = find(text)
      return self[text]
   end })
   tables[#tables + 1] = found
   return found
end

-- Splits a parenthesised argument list.
local arguments_in = kept(function(list)
   local arguments, depth, from = {}, 0, 2
   for at, c in list:sub(2, -2):gmatch '()([,()%[%]{}])' do
      if c ~= ',' then
         depth = depth + (('([{'):find(c, 1, true) and 1 or -1)
      elseif depth == 0 then
         arguments[#arguments + 1], from = list:sub(from, at):match '^%s*(.-)%s*$', at + 2
      end
   end
   if list ~= '' then arguments[#arguments + 1] = list:sub(from, -2):match '^%s*(.-)%s*$' end
   return arguments
end)

local keywords = {}
local KEYWORDS = 'and break do else elseif end false for function if in local nil not or repeat return then true until '
   .. 'while'
for word in KEYWORDS:gmatch '%a+' do
   keywords[word] = true
end

local words_in = kept(function(line)
   local words, seen = {}, {}
   for word in line:gmatch '%a[%w_]*' do
      if not (keywords[word] or seen[word]) then words[#words + 1], seen[word] = word, true end
   end
   return words
end)

-- The text to repeat, with @ for the number, by separator: a table of repetition counts and texts.
local repetitions = kept(function(between)
   return kept(function(times)
      return kept(function(text)
         local parts = {}
         for k = 0, times - 1 do parts[k + 1] = text:gsub('@', k) end
         return concat(parts, between)
      end)
   end)
end)

-- Splits a text into literal pieces and holes, each with the parenthesised list that follows it.
local pieces_in = kept(function(text)
   local pieces, from, at, last, hole = {}, 1, text:find '%$([%a_][%w_]*)'
   while at do
      local list = text:match('^%b()', last + 1) or ''
      local block = hole == 'each' and text:match('^%b{}', last + 1 + #list) or ''
      pieces[#pieces + 1] = text:sub(from, at - 1)
      pieces[#pieces + 1] = { hole = hole, list = list, block = block }
      from = last + 1 + #list + #block
      at, last, hole = text:find('%$([%a_][%w_]*)', from)
   end
   pieces[#pieces + 1] = text:sub(from)
   return pieces
end)

local function as_text(value)
   if type(value) == 'number' and value % 1 ~= 0 then return ('%.17g'):format(value) end
   return tostring(value)
end

local expanded

-- $each(times, between){block}
local function repeated(name, list, block, values, used)
   local times, between = unpack(arguments_in[list])
   local n = tonumber(expanded(name, times, values, used))
   if not n or block == '' then fail(name, '$each%s%s is not $each(times){text}', list, block) end
   block = expanded(name, block:sub(2, -2), values, used)
   return repetitions[between and (' %s '):format(between) or ', '][n][block]
end

-- Holes that every text has. $fours(i): runs $elements(4) for i = 0, 4, 8, ... of n, and $elements(1) for the rest.
local OF_ALL = { fours = 'for $1 = 0, n - 4, 4 do $elements(4) end for $1 = n - n % 4, n - 1 do $elements(1) end' }

-- The text that replaces a hole.
local function filled(name, hole, list, values, used)
   local value = values[hole]
   if value == nil then value = OF_ALL[hole] end
   if value == nil then fail(name, '$%s is not given', hole) end
   if type(value) ~= 'string' then value = as_text(value) end
   if list == '' and not value:find '%$%d' then
      local known = used[hole]
      if type(known) ~= 'string' then known = expanded(name, value, values, used) end
      used[hole] = known
      return known
   end
   -- if only $1 occurs, it is the whole list
   local arguments = value:find '%$[2-9]' and arguments_in[list] or { list:match '^%(%s*(.-)%s*%)$' }
   value = value:gsub('%$(%d)', function(k)
      return arguments[tonumber(k)] or fail(name, '$%s has no argument %s', hole, k)
   end)
   used[hole] = used[hole] or true
   return expanded(name, value, values, used)
end

-- Replaces all holes of a text; used[hole] is set to the replacement, or to true.
function expanded(name, text, values, used)
   if not text:find('$', 1, true) then return text end
   local parts = {}
   for k, piece in ipairs(pieces_in[text]) do
      if type(piece) == 'string' then
         parts[k] = piece
      else
         parts[k] = piece.hole == 'each' and repeated(name, piece.list, piece.block, values, used)
            or filled(name, piece.hole, piece.list, values, used)
      end
   end
   return concat(parts)
end

-- Expands a template and compiles it. Returns the chunk, and the names of what it is called with: those of values, and
-- after a semicolon those of functions.
local function chunk_of(name, text, values)
   local used, seen, given, of_all, from = {}, {}, {}, {}, 1
   local source = expanded(name, text, values, used)
   if source:find('@', 1, true) then fail(name, '@ outside of $each') end
   repeat
      local stop = source:find('\n', from, true) or #source + 1
      for _, word in ipairs(words_in[source:sub(from, stop - 1)]) do
         if not seen[word] then
            seen[word] = true
            local value = values[word]
            if value ~= nil and not used[word] and type(value) ~= 'string' then
               used[word], given[#given + 1] = true, word
            elseif functions[word] then
               of_all[#of_all + 1] = word
            end
         end
      end
      from = stop + 1
   until from > #source
   for value in pairs(values) do
      if not used[value] then fail(name, '%s is given, but not used', value) end
   end
   local names = concat(given, ' ') .. ';' .. concat(of_all, ' ')
   for _, word in ipairs(of_all) do given[#given + 1] = word end
   if #given > 0 then source = ('local %s = ... %s'):format(concat(given, ', '), source) end
   return assert(load(source, '=' .. name, nil, no_globals)), names
end

-- All that a chunk is made from, as a text.
local function inputs_of(name, text, values)
   local inputs, seen = {}, {}
   while values do
      for key, value in pairs(values) do
         if not seen[key] then
            local kind = type(value)
            seen[key] = true
            local is_text = kind == 'string' or kind == 'number' or kind == 'boolean'
            inputs[#inputs + 1] = key .. '=' .. kind .. (is_text and as_text(value) or '')
         end
      end
      local metatable = getmetatable(values)
      values = metatable and metatable.__index
   end
   sort(inputs)
   inputs[#inputs + 1], inputs[#inputs + 2] = name, text
   return concat(inputs, '\0')
end

local OURS = debug.getinfo(1, 'S').source:sub(2)
local shared = require 'th.python'
local python, run_once = shared.functions, shared.run_once
local compiled_file = python.compiled_file -- nil in the sandbox

-- The same as chunk_of, from the bytecode that has been kept.
local function kept_chunk_of(name, text, values)
   local inputs = inputs_of(name, text, values)
   local kept = compiled_file(OURS, inputs)
   if kept then
      local names, code = match(kept, '^([^\27]*)(.*)$')
      return load(code, '=' .. name, 'b', no_globals), names
   end
   local chunk, names = chunk_of(name, text, values)
   python.keep_compiled_file(OURS, names .. dump(chunk), inputs)
   return chunk, names
end

-- Compiles a template and returns what it evaluates to, usually a function. name: for error messages and tracebacks;
-- values: what its holes and free names stand for, all of which it must use; also: further values, which it may use.
templates.compile = run_once(function(name, text, values, also)
   if also then values = setmetatable(values, { __index = also }) end
   if all_made then error(('%s was not made in time: it is not available in the sandbox'):format(name), 0) end
   local chunk, names = (compiled_file and kept_chunk_of or chunk_of)(name, text, values)
   local given, count, of_values, of_all = {}, 0, match(names, '^(.*);(.*)$')
   for word in of_values:gmatch '%S+' do
      count = count + 1
      given[count] = values[word]
   end
   for word in of_all:gmatch '%S+' do
      count = count + 1
      given[count] = functions[word]
   end
   return chunk(unpack(given, 1, count))
end)

-- Whether a text has the given hole.
function templates.has(text, hole) return text:find('%$' .. hole .. '%f[^%w_]') ~= nil end

-- Registers `make`, which compiles what would otherwise be compiled on first use; it may also be called after that.
function templates.on_first_use(make) waiting[#waiting + 1] = make end

-- The function that make() returns when it is first called.
function templates.on_first_call(make)
   local made
   local function get()
      made = made or run_once(make)()
      return made
   end
   templates.on_first_use(get)
   return function(...) return (made or get())(...) end
end

-- A function of a key that returns make(key) and caches it. keys: a list of all possible keys.
function templates.for_each(keys, make)
   local made = {}
   local function of_key(key)
      local there = made[key]
      if not there then
         there = run_once(make)(key)
         made[key] = there
      end
      return there
   end
   templates.on_first_use(function()
      for _, key in ipairs(keys) do of_key(key) end
   end)
   return of_key
end

-- Compiles everything; after that no template is compiled.
function templates.make_all()
   local k = 1
   while waiting[k] do -- each may register others
      waiting[k]()
      k = k + 1
   end
   for _, found in ipairs(tables) do
      for text in pairs(found) do found[text] = nil end
   end
   waiting, tables, all_made = {}, {}, true
end

return templates
