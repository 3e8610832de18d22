-- Comparisons as in Torch7's LuaJIT. If types differ, or only one operand has the metamethod, LuaJIT without the 5.2
-- option raises an error; with it, it calls the first operand's metamethod, or else the second's. a <= b without __le
-- becomes not (b < a) with exchanged operands; an error names their types in that order. Called with the table of
-- dialect/operand.lua and the function of dialect/method.lua. Returns the functions, by number, that replace < <= > >=
-- in a text rewritten by dialect/comparisons.lua, and one that corrects the order of types in LuaJIT's errors.
local operand, call_method = ...
local type, error, pcall, rawget, loadstring, tonumber = type, error, pcall, rawget, loadstring, tonumber
local find, format, gsub, match, sub = string.find, string.format, string.gsub, string.match, string.sub
local band = bit.band
local getinfo, getlocal, metatable_of = debug.getinfo, debug.getlocal, debug.getmetatable
local sort = table.sort
local util = require 'jit.util'
local funcbc, funcinfo = util.funcbc, util.funcinfo

local function method_of(object, event)
   local metatable = metatable_of(object)
   if metatable then return rawget(metatable, event) end
end

local function method_of_either(a, b, event)
   local method = method_of(a, event)
   if method == nil then method = method_of(b, event) end
   return method
end

local function call(method, a, b)
   if type(method) == 'function' then return method(a, b) end
   return call_method(method, a, b)
end

local function refuse(a, b)
   local kind, other = type(a), type(b)
   if kind == other then return error(format('attempt to compare two %s values', kind), 1) end
   return error(format('attempt to compare %s with %s', kind, other), 1)
end

local function plain_less(a, b) return a < b end
local function plain_less_or_equal(a, b) return a <= b end

-- LuaJIT's error for a comparison with a C object, with the caller's position.
local function of_c(ok, result)
   if ok then return result end
   return error((gsub(result, '^.-:%d+: ', '')), 1)
end

local function less_of_objects(a, b)
   if type(a) == 'cdata' or type(b) == 'cdata' then return of_c(pcall(plain_less, a, b)) end
   local method = method_of_either(a, b, '__lt')
   if method == nil then return refuse(a, b) end
   return call(method, a, b)
end

local function less(a, b)
   local kind = type(a)
   if kind == type(b) and (kind == 'number' or kind == 'string') then return a < b end
   return less_of_objects(a, b)
end

local function less_or_equal_of_objects(a, b)
   if type(a) == 'cdata' or type(b) == 'cdata' then return of_c(pcall(plain_less_or_equal, a, b)) end
   local method = method_of_either(a, b, '__le')
   if method ~= nil then return call(method, a, b) end
   method = method_of_either(b, a, '__lt')
   if method == nil then return refuse(b, a) end
   return not call(method, b, a)
end

local function less_or_equal(a, b)
   local kind = type(a)
   if kind == type(b) and (kind == 'number' or kind == 'string') then return a <= b end
   return less_or_equal_of_objects(a, b)
end

local comparisons = {
   [5e-324] = less, [1e-323] = less_or_equal,
   [1.5e-323] = function(a, b) return less(b, a) end, [2e-323] = function(a, b) return less_or_equal(b, a) end,
}

-- Without a comparison function, elements are compared by <, too. For numbers and strings LuaJIT's sort does that.
local function alike(list)
   local kind = type(list[1])
   if kind ~= 'number' and kind ~= 'string' then return false end
   for place = 2, #list do
      if type(list[place]) ~= kind then return false end
   end
   return true
end

function table.sort(list, comes_before)
   if comes_before == nil and type(list) == 'table' and not alike(list) then comes_before = less end
   return sort(list, comes_before)
end

local MOST_SLOTS = 255

-- The opcodes for <= and its negation, and for < and its negation.
local codes_of_less, codes_of_less_or_equal
local function find_codes()
   local function codes(operator)
      local found = {}
      for _, condition in ipairs{ 'a %s b', 'not (a %s b)' } do
         local text = ('local a, b = ... if ' .. condition .. ' then a() end'):format(operator)
         found[band(funcbc(loadstring(text), 2), 0xff)] = true
      end
      return found
   end
   codes_of_less, codes_of_less_or_equal = codes '<', codes '<='
end

-- Whether the comparison that failed in a line of a function was <= or >=, judging by the types of its operands. Of
-- several in a line, the first that could have had these types counts. values and locals: of the slots.
local function is_less_or_equal(f, line, kind, other, values, locals)
   if not codes_of_less then find_codes() end
   local place = 0
   while true do
      place = place + 1
      local instruction = operand.decoded(f, place)
      if not instruction then return false end
      local a, d = instruction.a, instruction.d
      if (codes_of_less[instruction.code] or codes_of_less_or_equal[instruction.code])
         and funcinfo(f, place).currentline == line and type(values[a]) == kind and type(values[d]) == other
         and operand.held(f, a, place, locals, values[a]) and operand.held(f, d, place, locals, values[d]) then
         return codes_of_less_or_equal[instruction.code] or false
      end
   end
end

-- An error's text with the types in Torch7's order. The error was raised in the function at a stack level, as the
-- caller counts, or at the top of a thread's stack.
local function with_types_in_order(problem, level, thread)
   if type(problem) ~= 'string' or not find(problem, 'attempt to compare ', 1, true) then return problem end
   local place, line, words, kind, other = match(problem, '^(.*:)(%d+)(: attempt to compare )(%a+) with (%a+)$')
   if not kind then return problem end
   local frame
   if thread then frame = getinfo(thread, 0, 'Sf') else frame = getinfo(level + 1, 'Sf') end
   if not frame or frame.what == 'C' then return problem end
   local values, locals = {}, {}
   for slot = 0, MOST_SLOTS do
      local name, value
      if thread then name, value = getlocal(thread, 0, slot + 1) else name, value = getlocal(level + 1, slot + 1) end
      if not name then break end
      values[slot] = value
      if sub(name, 1, 1) ~= '(' then locals[slot] = name end
   end
   if not is_less_or_equal(frame.func, tonumber(line), kind, other, values, locals) then return problem end
   return place .. line .. words .. other .. ' with ' .. kind
end

return comparisons, with_types_in_order
