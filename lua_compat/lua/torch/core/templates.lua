-- Functions of ours that are written out as Lua text for each signature, type or relation, because that is fast; the
-- texts' language is explained in docs/templates.md. Most are made when they are first called: there are thousands. In
-- the sandbox all of them are made before the script's first line, and nothing of ours is compiled after it.
local ffi = require 'ffi'

local error, assert, ipairs, pairs, type, tostring, tonumber = error, assert, ipairs, pairs, type, tostring, tonumber
local concat, unpack = table.concat, unpack
-- The sandbox gives scripts another load, whose functions have the script's globals: this is not for our own text.
local load, setmetatable = load, setmetatable

local templates = {}

-- What every text may call by its name.
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

-- The globals of all texts.
local no_globals = setmetatable({}, { __index = function(_, name)
   error(('a template uses %s, which it is not given'):format(name), 2)
end })

local function fail(name, problem, ...) error(('template %s: ' .. problem):format(name, ...), 0) end

-- A table that keeps what `find` finds for each text until everything is made: most texts have their lines in common.
local tables = {}
local function kept(find)
   local found = setmetatable({}, { __index = function(self, text)
      self[text] = find(text)
      return self[text]
   end })
   tables[#tables + 1] = found
   return found
end

-- The arguments in a list in brackets.
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

-- A text so many times, with @ for the number: by what stands between, how often and the text.
local repetitions = kept(function(between)
   return kept(function(times)
      return kept(function(text)
         local parts = {}
         for k = 0, times - 1 do parts[k + 1] = text:gsub('@', k) end
         return concat(parts, between)
      end)
   end)
end)

-- What a text consists of: pieces as they are, and holes with what stands behind them in brackets.
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

-- What a hole stands for.
local function filled(name, hole, list, values, used)
   local value = values[hole]
   if value == nil then fail(name, '$%s is not given', hole) end
   if type(value) ~= 'string' then value = as_text(value) end
   if list == '' and not value:find '%$%d' then
      local known = used[hole]
      if type(known) ~= 'string' then known = expanded(name, value, values, used) end
      used[hole] = known
      return known
   end
   -- $1 alone is the whole list
   local arguments = value:find '%$[2-9]' and arguments_in[list] or { list:match '^%(%s*(.-)%s*%)$' }
   value = value:gsub('%$(%d)', function(k)
      return arguments[tonumber(k)] or fail(name, '$%s has no argument %s', hole, k)
   end)
   used[hole] = used[hole] or true
   return expanded(name, value, values, used)
end

-- A text with what its holes stand for; used[hole]: becomes that, or true.
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

-- What the text gives that is called `name` in errors and tracebacks, with `values` for its holes and for the names in
-- it: most give a function. also: values that it need not use, if any.
function templates.compile(name, text, values, also)
   if also then values = setmetatable(values, { __index = also }) end
   if all_made then error(('%s was not made in time: it is not available in the sandbox'):format(name), 0) end
   local used, names, given = {}, {}, {}
   local source = expanded(name, text, values, used)
   if source:find('@', 1, true) then fail(name, '@ outside of $each') end
   local seen, from = {}, 1
   repeat
      local stop = source:find('\n', from, true) or #source + 1
      for _, word in ipairs(words_in[source:sub(from, stop - 1)]) do
         if not seen[word] then
            seen[word] = true
            local value = values[word]
            if value == nil or used[word] or type(value) == 'string' then
               value = functions[word]
            else
               used[word] = true
            end
            if value ~= nil then names[#names + 1], given[#names + 1] = word, value end
         end
      end
      from = stop + 1
   until from > #source
   for value in pairs(values) do
      if not used[value] then fail(name, '%s is given, but not used', value) end
   end
   if #names > 0 then source = ('local %s = ... %s'):format(concat(names, ', '), source) end
   return assert(load(source, '=' .. name, nil, no_globals))(unpack(given, 1, #names))
end

-- Whether a text has a hole.
function templates.has(text, hole) return text:find('%$' .. hole .. '%f[^%w_]') ~= nil end

-- make: makes what would otherwise be made on first use; it may be called when that has happened.
function templates.on_first_use(make) waiting[#waiting + 1] = make end

-- A function of a key that gives what `make` makes of it, which is kept. keys: a list of all there are.
function templates.for_each(keys, make)
   local made = {}
   local function of_key(key)
      local there = made[key]
      if not there then
         there = make(key)
         made[key] = there
      end
      return there
   end
   templates.on_first_use(function()
      for _, key in ipairs(keys) do of_key(key) end
   end)
   return of_key
end

-- Makes everything; from then on no text of ours is compiled.
function templates.make_all()
   local k = 1
   while waiting[k] do -- one may add others
      waiting[k]()
      k = k + 1
   end
   for _, found in ipairs(tables) do
      for text in pairs(found) do found[text] = nil end
   end
   waiting, tables, all_made = {}, {}, true
end

return templates
