-- pl.test: checks for tests. A failed one is passed to test.error_handler, which reports it and ends the program.
local path = require 'pl.path'
local pretty = require 'pl.pretty'
local tablex = require 'pl.tablex'
local utils = require 'pl.utils'

local test = {}

local function shown(value)
   local kind = type(value)
   if kind == 'string' then return '"' .. value .. '"' end
   local metatable = kind == 'table' and getmetatable(value)
   if kind == 'table' and not (metatable and metatable.__tostring) then return pretty.write(value, ' ', true) end
   return tostring(value)
end

function test.error_handler(file, line, found, expected, message)
   io.stderr:write(path.basename(file), ':', line, ': assertion failed\n')
   io.stderr:write('got:\t', found, '\n', 'needed:\t', expected, '\n')
   utils.quit(1, message or 'these values were not equal')
end

-- levels: the number of functions between the check and the line to blame.
function test.complain(found, expected, message, levels)
   local frame = debug.getinfo(3 + (levels or 0))
   test.error_handler(frame.short_src, frame.currentline, shown(found), shown(expected), message)
end
local complain = test.complain

-- Tables are compared by their fields, and numbers in them within a tolerance.
function test.asserteq(found, expected, tolerance, levels)
   if found == expected or tablex.deepcompare(found, expected, true, tolerance) then return end
   complain(found, expected, nil, levels)
end

function test.assertmatch(text, pattern, levels)
   if not text:match(pattern) then complain(text, pattern, 'these strings did not match', levels) end
end

-- f: a function, or a list of a function and its arguments.
function test.assertraise(f, pattern, levels)
   local call = type(f) == 'table' and f or { f }
   local ok, problem = pcall(unpack(call))
   if ok or not problem:match(pattern) then complain(problem, pattern, 'these errors did not match', levels) end
end

function test.asserteq2(first, second, expected_first, expected_second, levels)
   if first ~= expected_first then complain(first, expected_first, nil, levels) end
   if second ~= expected_second then complain(second, expected_second, nil, levels) end
end

local Tuple = { unpack = utils.unpack }
Tuple.__index = Tuple

function Tuple.__tostring(tuple)
   local parts = {}
   for i = 1, tuple.n do
      local value = tuple[i]
      parts[i] = type(value) == 'string' and ('%q'):format(value) or tostring(value)
   end
   return 'tuple(' .. table.concat(parts, ', ') .. ')'
end

function Tuple.__eq(a, b)
   for i = 1, math.max(a.n, b.n) do
      if a[i] ~= b[i] then return false end
   end
   return a.n == b.n
end

function Tuple.__len(tuple) return tuple.n end

-- Several values, including nil, as one.
function test.tuple(...) return setmetatable(utils.pack(...), Tuple) end

function test.timer(message, n, f, ...)
   local start = os.clock()
   for _ = 1, n do f(...) end
   utils.printf('%s: took %7.2f sec\n', message, os.clock() - start)
end

return test
