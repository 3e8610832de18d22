-- Probe of < <= > >= between values of all kinds, in programs made at random: what LuaJIT built with its option for
-- Lua 5.2 makes of each. The first half has no object with a metamethod, and one comparison in a program.
-- usage: luajit probe_comparisons.lua FIRST COUNT > comparisons.txt   (1 3000)
local first, count = tonumber(arg[1]) or 1, tonumber(arg[2]) or 3000

-- A generator of our own: both LuaJITs must draw the same programs.
local state
local function random(n)
   state = (state * 16807) % 2147483647
   return state % n + 1
end

local function one_of(list) return list[random(#list)] end

-- Written apart, so that no text has named them before the second half.
local LESS, LESS_OR_EQUAL = '__' .. 'lt', '__' .. 'le'

local function value_of(x)
   if type(x) == 'table' then return x.v or 3 end
   return tonumber(x) or 1
end

local function less(a, b) return value_of(a) < value_of(b) end
local function less_or_equal(a, b) return value_of(a) <= value_of(b) end
local callable = setmetatable({}, { __call = function(_, a, b) return less(a, b) end })

local function object(v, methods) return setmetatable({ v = v }, methods) end
local function proxy(methods)
   local p = newproxy(true)
   for name, method in pairs(methods) do getmetatable(p)[name] = method end
   return p
end

local shared = { [LESS] = less, [LESS_OR_EQUAL] = less_or_equal }
local plain = {
   n = 2, z = 0, nan = 0 / 0, s = '3', e = '', y = true, no = false, t = {}, u = {}, f = tostring, p = newproxy(),
   h = setmetatable({}, {}), q = function(x) return x end, w = function() return 1, 2, 3 end,
}
local objects = {
   a = object(1, shared), b = object(4, shared), c = object(2, { [LESS] = less }), d = object(3, { [LESS] = less }),
   g = object(2, { [LESS_OR_EQUAL] = less_or_equal }), i = object(2, { [LESS] = callable }),
   j = object(2, { [LESS] = function() return nil end, [LESS_OR_EQUAL] = function() return 'yes' end }),
   k = object(2, { [LESS] = function() error('no order', 0) end }),
   l = object(2, { [LESS] = function() error('two', 2) end, [LESS_OR_EQUAL] = function() error('of two', 2) end }),
   m = object(2, { [LESS] = false }), o = object(2, { [LESS] = 7 }), r = proxy{ [LESS] = less },
   x = proxy{ [LESS_OR_EQUAL] = less_or_equal }, v = object(5, { [LESS] = function(a, b) return type(a), type(b) end }),
}
for name, value in pairs(plain) do objects[name] = value end

local names = {}
for which, values in ipairs{ plain, objects } do
   names[which] = {}
   for name in pairs(values) do names[which][#names[which] + 1] = name end
   table.sort(names[which])
end
local which
local COMPARISONS = { '<', '<=', '>', '>=' }
local OPERATORS = { '==', '~=', 'and', 'or', '..', '+', '*' }

local compared -- one comparison is in the program
local function operator()
   if which == 1 and compared or random(2) == 1 then return one_of(OPERATORS) end
   compared = true
   return one_of(COMPARISONS)
end

local expression
local function operand(depth)
   local kind = random(depth > 0 and 12 or 6)
   if kind <= 4 then return one_of(names[which]) end
   if kind == 5 then return one_of{ '1', '2.5', '"x"', "'1'", 'nil', 'true', '{}', '[[2]]', '-1', 't.x', 't.x.y', '#t' } end
   if kind == 6 then return one_of{ 'w()', '...', 'q(n)', 's:len()', 'q"5"', 'q{v=2}.v' } end
   if kind == 7 then return '(' .. expression(depth - 1) .. ')' end
   if kind == 8 then return one_of{ 'not ', '-', '#' } .. operand(depth - 1) end
   if kind == 9 then return 'q(' .. expression(depth - 1) .. ')' end
   if kind == 10 then return '({' .. expression(depth - 1) .. '})[1]' end
   if kind == 11 then return '(function(...) return ' .. expression(depth - 1) .. ' end)(n, ' .. one_of(names[which]) .. ')' end
   return operand(0)
end

function expression(depth)
   local blank = one_of{ ' ', ' ', '', which == 1 and '\n' or '\t', ' --[[ < ]] ' }
   local text = operand(depth)
   for _ = 1, random(2) do
      local symbol = operator()
      if symbol:match('%a') then symbol = ' ' .. symbol .. ' ' end
      text = text .. blank .. symbol .. ' ' .. operand(depth)
   end
   return text
end

local function program()
   compared = false
   local a, b = one_of(names[which]), one_of(names[which])
   local kind = random(12)
   if kind <= 3 then return ('return %s %s %s'):format(a, one_of(COMPARISONS), b) end
   if kind <= 5 then return 'return ' .. expression(2) end
   if kind == 6 then return ('if %s then return 1 else return 2 end'):format(expression(1)) end
   if kind == 7 then return ('local i = 0 while %s do i = i + 1 if i == 3 then break end end return i'):format(expression(1)) end
   if kind == 8 then return ('local i = 0 repeat i = i + 1 until i == 3 or %s return i, %s'):format(expression(1), expression(0)) end
   if kind == 9 then return ('local list = { %s, %s, %s } table.sort(list) return list[1], list[2], list[3]'):format(a, b, one_of(names[which])) end
   if kind == 10 then return ('local x, y = %s, %s (q)(x) goto e ::e:: return y, x'):format(expression(1), expression(1)) end
   if kind == 11 then
      return ('local function f(x, y) return x %s y end\nlocal c = coroutine.create(f)\nreturn coroutine.resume(c, %s, %s)')
         :format(one_of(COMPARISONS), a, b)
   end
   return ('return xpcall(function() return %s, %s end, function(m) return m end)'):format(expression(1), expression(0))
end

local function shown(value)
   local kind = type(value)
   if kind == 'number' or kind == 'string' or kind == 'boolean' or value == nil then
      return (tostring(value):gsub('0x%x+', 'ADDRESS'):gsub('%-nan', 'nan'))
   end
   return kind
end

local function results(...)
   local all = {}
   for place = 1, select('#', ...) do all[place] = shown((select(place, ...))) end
   return table.concat(all, ' ')
end

for number = first, first + count - 1 do
   state = number * 7919 % 2147483646 + 1
   for _ = 1, 5 do random(2) end
   which = number <= first + count / 2 and 1 or 2
   if which == 2 then assert(loadstring('return "' .. LESS .. '"')) end
   local text = program()
   local chunk, problem = loadstring(text, '=p')
   local line = problem
   if chunk then
      setfenv(chunk, setmetatable({ table = table, coroutine = coroutine, xpcall = xpcall },
         { __index = which == 1 and plain or objects }))
      line = results(pcall(chunk, 4, 5))
   end
   print(('%d: %s'):format(number, (line:gsub('[\r\n]', '~'))))
   if arg[3] then print(text) end
end
