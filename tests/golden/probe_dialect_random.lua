-- Probe of the language with programs made at random: what LuaJIT built with its option for Lua 5.2 makes of each.
-- Statements of the dialect (lengths, calls across lines, break anywhere, stray semicolons, goto), then in most
-- programs a few tokens are dropped, doubled, exchanged or put in.
-- usage: luajit probe_dialect_random.lua FIRST COUNT > dialect_random.txt (1 1000)   (programs FIRST ... FIRST + COUNT - 1)
local first, count = tonumber(arg[1]) or 1, tonumber(arg[2]) or 1000

-- A generator of our own: both LuaJITs must draw the same programs.
local state
local function random(n)
   state = (state * 16807) % 2147483647
   return state % n + 1
end

local function one_of(list) return list[random(#list)] end

local tokens
local function put(...)
   for place = 1, select('#', ...) do tokens[#tokens + 1] = (select(place, ...)) end
end

local expression, block

local STRINGS = { '"#"', "'x#y'", '[[#]]', '[==[ ]] # \n ]==]', '"\\"#"', "'\\\\'", "'\\z  \n #'", '"a\\\n#"', "''" }
local NUMBERS = { '1', '2', '0x1F', '1e1', '.5', '3.', '0xep1', '2' }
local NAMES = { 'a', 'b', 'c', 'o', 's', 'f', 'g', 't' }
local OPERATORS = { '+', '-', '*', '..', '^', '==', '~=', 'and', 'or', '<', '/', '%' }

local function prefix(depth)
   put(one_of(NAMES))
   for _ = 1, random(3) - 1 do
      local kind = random(5)
      if kind == 1 then put('.', one_of(NAMES))
      elseif kind == 2 then
         put('[')
         expression(depth - 1)
         put(']')
      elseif kind == 3 then
         put('(')
         expression(depth - 1)
         put(')')
      elseif kind == 4 then put(':', one_of{ 'm', 'k' }, '(', ')')
      else put(one_of(STRINGS)) end
   end
end

function expression(depth)
   local kind = depth <= 0 and random(3) or random(10)
   if kind == 1 then put(one_of(NUMBERS))
   elseif kind == 2 then put(one_of(NAMES))
   elseif kind == 3 then put(one_of(STRINGS))
   elseif kind <= 5 then
      put('#')
      expression(depth - 1)
   elseif kind == 6 then
      put(one_of{ '-', 'not', '#' })
      expression(depth - 1)
   elseif kind == 7 then
      put('(')
      expression(depth - 1)
      put(')')
   elseif kind == 8 then
      put('{')
      expression(depth - 1)
      put(one_of{ ',', ';' })
      expression(depth - 1)
      put('}')
   elseif kind == 9 then prefix(depth)
   else
      expression(depth - 1)
      put(one_of(OPERATORS))
      expression(depth - 1)
   end
end

local function statement(depth, in_loop)
   local kind = depth <= 0 and random(5) or random(13)
   if kind <= 2 then
      put('r', '(')
      expression(2)
      put(')')
   elseif kind == 3 then
      put('local', one_of(NAMES), '=')
      expression(2)
   elseif kind == 4 then
      put(one_of(NAMES), '=')
      expression(1)
   elseif kind == 5 then put(in_loop and random(2) == 1 and 'break' or ';')
   elseif kind == 6 then
      put('for', 'i', '=', '1', ',', '2', 'do')
      block(depth - 1, true)
      put('end')
   elseif kind == 7 then
      put('if')
      expression(1)
      put('then')
      block(depth - 1, in_loop)
      if random(2) == 1 then
         put('else')
         block(depth - 1, in_loop)
      end
      put('end')
   elseif kind == 8 then
      put('do')
      block(depth - 1, in_loop)
      put('end')
   elseif kind == 9 then
      put('repeat')
      block(depth - 1, true)
      put('until', 'true')
   elseif kind == 10 then
      put('local', 'function', one_of{ 'f', 'g' }, '(', 'a', ')')
      block(depth - 1, false)
      put('return', '#', 'a', 'end')
   elseif kind == 11 then
      local label = 'l' .. random(3)
      put('goto', label)
      block(depth - 1, in_loop)
      put('::', label, '::')
   elseif kind == 12 then
      put(one_of{ 'f', 'g', 't' }, '(')
      expression(1)
      put(')')
   else
      put('while', 'n', '<', '3', 'do', 'n', '=', 'n', '+', '1')
      block(depth - 1, true)
      put('end')
   end
   if random(4) == 1 then put(';') end
end

function block(depth, in_loop)
   for _ = 1, random(3) do statement(depth, in_loop) end
   if random(6) == 1 then
      put('return')
      expression(1)
      if random(2) == 1 then put(';') end
   end
end

local STRAY = { '#', ';', '(', ')', 'break', 'goto', 'end', 'a', '1', '=', '::', 'return', '"#"', 'f', ',', 'do', '{', '}' }

local function mutate()
   for _ = 1, random(4) - 2 do
      local place, kind = random(#tokens), random(4)
      if kind == 1 then table.remove(tokens, place)
      elseif kind == 2 then table.insert(tokens, place, tokens[place])
      elseif kind == 3 then
         local other = random(#tokens)
         tokens[place], tokens[other] = tokens[other], tokens[place]
      else table.insert(tokens, place, one_of(STRAY)) end
      if #tokens == 0 then return end
   end
end

local BLANKS = { ' ', ' ', ' ', '\n', '\n', ' \t', ' -- # " \n', ' --[[ # \n ]] ', '\r\n' }

local function is_word(text) return text:match('^[%w_]') ~= nil end

local function program(number)
   state = number * 7919 % 2147483646 + 1
   for _ = 1, 5 do random(2) end
   tokens = {}
   block(2, false)
   mutate()
   local pieces = {}
   for place, token in ipairs(tokens) do
      pieces[#pieces + 1] = token
      local follower = tokens[place + 1] or ''
      -- a word before an operator or a string needs no blank; all else gets one, so that tokens stay themselves
      if random(3) > 1 or not (is_word(token) and not token:match('^%d') and follower:match('^[#"\'(){}]')) then
         pieces[#pieces + 1] = one_of(BLANKS)
      end
   end
   return table.concat(pieces)
end

-- What programs find, and what they report with r.
local function environment(report)
   local object = setmetatable({ 1, 2 }, { __len = function() return 5 end, __call = function(_, x) return x end })
   local values = { a = { 1, 2, 3 }, b = 'text', c = 4, o = object, s = '#', n = 0, t = tostring }
   values.f = function(x) return type(x) == 'number' and object or values.f end
   values.g = function() return 'g' end
   values.r = report
   return values
end

local function shown(value)
   if type(value) == 'number' or type(value) == 'string' or type(value) == 'boolean' or value == nil then
      return (tostring(value):gsub('0x%x+', 'ADDRESS'))
   end
   return type(value)
end

local MOST_INSTRUCTIONS = 20000
jit.off()

for number = first, first + count - 1 do
   local text = program(number)
   local reported = {}
   local chunk, problem = loadstring(text, '=p')
   if chunk then
      setfenv(chunk, environment(function(...)
         for place = 1, select('#', ...) do
            if #reported < 20 then reported[#reported + 1] = shown((select(place, ...))) end
         end
      end))
      debug.sethook(function() error('too long', 0) end, '', MOST_INSTRUCTIONS)
      local ok, result = pcall(chunk)
      debug.sethook()
      problem = ok and 'gave ' .. shown(result) or shown(result)
      if problem == 'too long' then reported = {} end
   end
   local line = ('%d: %s'):format(number, chunk and '[' .. table.concat(reported, ' ') .. '] ' .. problem or problem)
   print((line:gsub('[\r\n]', '~'):sub(1, 200)))
   if arg[3] then print(text) end
end
