-- torch.Tester runs tests, counts assertions and reports. torch.TestSuite is a table of tests that rejects duplicates.
-- Output goes through io.write, one string at a time, because scripts replace that function.
local equality = require 'torch.io.equality'

local COLUMNS = 80

local Tester = torch.class('torch.Tester')

function Tester:__init()
   self.errors = {}
   self.tests = {}
   self.warnings = {}
   self._warningCount = {}
   self.disabledTests = {}
   self._currentTestName = ''
   -- As in Torch7, assertTensorEq accepts {{1}} for {1}; eq does not.
   self._assertTensorEqIgnoresDims = true
end

function Tester:setEarlyAbort(abort) self.earlyAbort = abort end
function Tester:setRethrowErrors(rethrow) self.rethrow = rethrow end
function Tester:setSummaryOnly(only) self.summaryOnly = only end

-- Outcomes of assertions

local function with_place(self, message)
   local trace = debug.traceback('tester', 3) or ''
   local place = trace:match('.-\n([^\n]+\n[^\n]+)\n[^\n]+xpcall') or ''
   local name = self._currentTestName
   return (name ~= '' and name .. '\n' or '') .. message .. '\n' .. place
end

function Tester:_success()
   local passed = self.assertionPass
   passed[self._currentTestName] = passed[self._currentTestName] + 1
   return true
end

function Tester:_failure(message)
   if self.rethrow then error(message, 2) end
   local failed = self.assertionFail
   failed[self._currentTestName] = failed[self._currentTestName] + 1
   table.insert(self.errors, with_place(self, message))
   return false
end

function Tester:_warning(message)
   local name = self._currentTestName
   self._warningCount[name] = (self._warningCount[name] or 0) + 1
   table.insert(self.warnings, with_place(self, message))
end

function Tester:_assert_sub(condition, message)
   if condition then return self:_success() end
   return self:_failure(message)
end

-- The arguments of assertions: a message, or a tolerance and a message in any order

local function message_of(message, ...)
   assert(next{ ... } == nil, 'Unexpected arguments passed to test function')
   if message == nil then return '' end
   assert(type(message) == 'string', 'message parameter must be a string')
   return message ~= '' and message .. '\n' or ''
end

local function tolerance_and_message(default, ...)
   local tolerance, message
   for _, argument in ipairs{ ... } do
      if type(argument) == 'string' then
         if message then error('Unexpected string argument; already have message', 3) end
         message = argument .. '\n'
      elseif type(argument) == 'number' then
         if tolerance then error('Unexpected number argument; already have tolerance', 3) end
         assert(argument >= 0, 'tolerance cannot be negative')
         tolerance = argument
      else
         error('Unrecognized argument; should be a tolerance or message', 3)
      end
   end
   return tolerance or default, message or ''
end

-- Assertions

function Tester:assert(condition, ...)
   local message = message_of(...)
   if type(condition) ~= 'boolean' then
      self:_warning(' :assert should only be used for boolean conditions. To check for non-nil variables, do this '
         .. 'explicitly: Tester:assert(var ~= nil).')
   end
   return self:_assert_sub(condition, ('%sBOOL violation condition=%s'):format(message, tostring(condition)))
end

local function general(negate)
   return function(self, got, expected, ...)
      local tolerance, message = tolerance_and_message(0, ...)
      local ok, why = equality.any(got, expected, tolerance, negate)
      return self:_assert_sub(ok, message .. (why or ''))
   end
end
Tester.eq, Tester.ne = general(false), general(true)
Tester.assertGeneralEq, Tester.assertGeneralNe = Tester.eq, Tester.ne

for name, row in pairs{
   assertlt = { 'LT', '>=', function(a, b) return a < b end },
   assertgt = { 'GT', '<=', function(a, b) return a > b end },
   assertle = { 'LE', '>', function(a, b) return a <= b end },
   assertge = { 'GE', '<', function(a, b) return a >= b end },
   asserteq = { 'EQ', '~=', function(a, b) return a == b end },
   assertne = { 'NE', '==', function(a, b) return a ~= b end },
} do
   local label, opposite, holds = unpack(row)
   Tester[name] = function(self, a, b, ...)
      local message = message_of(...)
      if name == 'assertne' and (type(a) == type(b) and type(a) == 'table' or type(a) == 'userdata') then
         self:_warning(' :assertne should only be used to compare basic lua objects (numbers, booleans, etc). '
            .. 'Consider using either :assertGeneralNe or :assert(a ~= b).')
      end
      return self:_assert_sub(holds(a, b), ('%s%s failed: %s %s %s'):format(message, label, tostring(a), opposite,
         tostring(b)))
   end
end

function Tester:assertalmosteq(a, b, ...)
   local tolerance, message = tolerance_and_message(1e-16, ...)
   return self:_assert_sub(math.abs(a - b) <= tolerance, ('%sALMOST_EQ failed: %s ~= %s with tolerance=%s'):format(
      message, tostring(a), tostring(b), tostring(tolerance)))
end

local function of_tensors(negate)
   return function(self, a, b, ...)
      assert(torch.isTensor(a), 'First argument should be a Tensor')
      assert(torch.isTensor(b), 'Second argument should be a Tensor')
      local tolerance, message = tolerance_and_message(0, ...)
      local ok, why = equality.tensors(a, b, tolerance, negate, self._assertTensorEqIgnoresDims)
      if self._assertTensorEqIgnoresDims and ok and not negate and not a:isSameSizeAs(b) then
         self:_warning('Tensors have the same content but different dimensions. For backwards compatibility, they are '
            .. 'considered equal, but this may change in the future. Consider using :eq to check for equality instead.')
      end
      return self:_assert_sub(ok, message .. (why or ''))
   end
end
Tester.assertTensorEq, Tester.assertTensorNe = of_tensors(false), of_tensors(true)

local function of_tables(compare)
   return function(self, a, b, ...)
      assert(type(a) == 'table', 'First argument should be a Table')
      assert(type(b) == 'table', 'Second argument should be a Table')
      return compare(self, a, b, ...)
   end
end
Tester.assertTableEq, Tester.assertTableNe = of_tables(Tester.eq), of_tables(Tester.ne)

-- f must fail, with an error for which accepted(error) is true.
function Tester:assertErrorObj(f, accepted, ...)
   local message = message_of(...)
   local ok, problem = pcall(f)
   return self:_assert_sub(not ok and accepted(problem),
      ('%sERROR violation: err=%s'):format(message, tostring(problem)))
end

function Tester:assertError(f, ...)
   return self:assertErrorObj(f, function() return true end, ...)
end

function Tester:assertErrorMsg(f, text, ...)
   return self:assertErrorObj(f, function(problem) return problem == text end, ...)
end

function Tester:assertErrorPattern(f, pattern, ...)
   return self:assertErrorObj(f, function(problem) return problem:find(pattern) ~= nil end, ...)
end

function Tester:assertNoError(f, ...)
   local message = message_of(...)
   local ok, problem = pcall(f)
   return self:_assert_sub(ok, ('%sERROR violation: err=%s'):format(message, tostring(problem)))
end

-- Tests

function Tester:add(f, name)
   if type(f) == 'table' then
      assert(name == nil, 'Name parameter is forbidden for a table of tests, since its use is ambiguous')
      if f.__isTestSuite then
         f = f.__tests
      else
         self:_warning('Should use TestSuite rather than plain lua table')
      end
      for test_name, test in pairs(f) do
         assert(type(test) ~= 'table', 'Nested sets of tests are not supported')
         self:add(test, test_name)
      end
      return self
   end
   assert(type(f) == 'function', 'Only tables of functions and functions supported')
   if name == '_setUp' then
      assert(not self._setUp, 'Only one set-up function allowed')
      self._setUp = f
   elseif name == '_tearDown' then
      assert(not self._tearDown, 'Only one tear-down function allowed')
      self._tearDown = f
   else
      name = name or 'unknown'
      if self.tests[name] ~= nil then error('Test with name ' .. name .. ' already exists!', 2) end
      self.tests[name] = f
   end
   return self
end

function Tester:disable(names)
   if type(names) == 'string' then names = { names } end
   assert(type(names) == 'table', 'Expecting name or list for disable')
   for _, name in ipairs(names) do
      assert(self.tests[name], "Unrecognized test '" .. name .. "'")
      self.disabledTests[name] = true
   end
   return self
end

-- The tests that match any of the patterns; all tests if there are no patterns.
function Tester:_getTests(patterns)
   if patterns == nil then return self.tests end
   if type(patterns) == 'string' then patterns = { patterns } end
   assert(type(patterns) == 'table', 'Only accept a name or table of test names (or nil for all tests)')
   local chosen = {}
   for _, pattern in ipairs(patterns) do
      local found = false
      for name, test in pairs(self.tests) do
         if name:match(pattern) then chosen[name], found = test, true end
      end
      assert(found, "Couldn't find test '" .. pattern .. "'")
   end
   return chosen
end

function Tester:run(patterns)
   local tests = self:_getTests(patterns)
   self.assertionPass, self.assertionFail, self.haveWarning, self.testError = {}, {}, {}, {}
   for name in pairs(tests) do
      self.assertionPass[name], self.assertionFail[name] = 0, 0
      self.testError[name], self._warningCount[name] = 0, 0
   end
   self:_run(tests)
   self:_report(tests)
   -- a script with failed tests ends with an error
   for name in pairs(tests) do
      assert(self.assertionFail[name] == 0, 'An error was found while running tests!')
      assert(self.testError[name] == 0, 'An error was found while running tests!')
   end
   return 0
end

local function plural(n, word) return n .. ' ' .. word .. (n == 1 and '' or 's') end

-- Colors, if the package sys is available.
local function painter()
   local found, colors = pcall(require, 'sys.colors')
   if not (arg and found) then return function(text) return text end end
   return function(text, color) return colors[color] .. text .. colors.none end
end

function Tester:_pcall(test)
   local before = #self.errors
   local ok, result = xpcall(test, debug.traceback)
   if not ok then
      table.insert(self.errors, self._currentTestName .. '\n Function call failed\n' .. result .. '\n')
   end
   return ok, result, ok and before == #self.errors
end

function Tester:_run(tests)
   local paint = painter()
   local total = 0
   for _ in pairs(tests) do total = total + 1 end
   local digits = #tostring(total)
   io.write('Running ' .. plural(total, 'test') .. '\n')
   local done = 0
   for name, test in pairs(tests) do
      done = done + 1
      self._currentTestName = name
      local dots = ('.'):rep(COLUMNS - 6 - 2 - (2 * digits + 2) - #name)
      local start = paint(('%' .. digits .. 'u/%u '):format(done, total), 'cyan') .. name .. ' ' .. dots .. ' '
      io.write(start .. '[' .. paint('WAIT', 'cyan') .. ']')
      io.flush()
      local skipped = self.disabledTests[name]
      local ok, passed
      if not skipped then
         if self._setUp then self._setUp(name) end
         if self.rethrow then
            local before = #self.errors
            test()
            ok, passed = true, before == #self.errors
         else
            local _
            ok, _, passed = self:_pcall(test)
         end
         if self._tearDown then self._tearDown(name) end
      end
      local outcome
      if skipped then outcome = paint('SKIP', 'yellow')
      elseif not ok then
         self.testError[name] = 1
         outcome = paint('ERROR', 'magenta')
      elseif not passed then outcome = paint('FAIL', 'red')
      else outcome = paint('PASS', 'green') end
      io.write('\r' .. start .. '[' .. outcome .. ']')
      if ok and passed and self._warningCount[name] > 0 then
         io.write('\n' .. (' '):rep(COLUMNS - 10) .. '[' .. paint('+warning', 'yellow') .. ']')
      end
      io.write('\n')
      io.flush()
      if self.earlyAbort and done < total and not skipped and not (ok and passed) then
         io.write('Aborting on first error, not all tests have been executed\n')
         break
      end
      -- Torch7 collects garbage here. We do not: a collection also traverses all compiled traces, and a test suite has
      -- many. The memory of tensors is tracked where it is allocated (core/collection.lua).
   end
end

function Tester:_report(tests)
   local paint = painter()
   local count, failures, problems, skipped, warned = 0, 0, 0, 0, 0
   self.countasserts = 0
   for name in pairs(tests) do
      count = count + 1
      self.countasserts = self.countasserts + self.assertionFail[name] + self.assertionPass[name]
      if self.assertionFail[name] > 0 then failures = failures + 1 end
      if self.testError[name] > 0 then problems = problems + 1 end
      if self._warningCount[name] > 0 then warned = warned + 1 end
      if self.disabledTests[name] then skipped = skipped + 1 end
   end
   warned = warned + (self._warningCount[''] or 0)
   local outcomes = {
      paint(plural(failures, 'failure'), failures == 0 and 'green' or 'red'),
      paint(plural(problems, 'error'), problems == 0 and 'green' or 'magenta'),
   }
   if warned > 0 then table.insert(outcomes, paint(plural(warned, 'warning'), 'yellow')) end
   if skipped > 0 then table.insert(outcomes, paint(skipped .. ' disabled', 'yellow')) end
   io.write(('Completed %s in %s with %s\n'):format(plural(self.countasserts, 'assert'), plural(count, 'test'),
      table.concat(outcomes, ' and ')))
   if self.summaryOnly then return end
   local line = ('-'):rep(COLUMNS) .. '\n'
   local first = true
   for _, list in ipairs{ self.errors, self.warnings } do
      for _, text in ipairs(list) do
         io.write((first and line or '') .. text .. '\n' .. line)
         first = false
      end
   end
end

function torch.TestSuite()
   local suite = { __tests = {}, __isTestSuite = true }
   return setmetatable(suite, {
      __index = function(self, name) return rawget(self, '__tests')[name] end,
      __newindex = function(self, name, test)
         local tests = rawget(self, '__tests')
         if tests[name] ~= nil then error('Test ' .. tostring(name) .. ' is already defined.', 2) end
         if type(test) == 'table' then error('Nested tables of tests are not supported', 2) end
         if type(test) ~= 'function' then error('Only functions are supported as members of a TestSuite', 2) end
         tests[name] = test
      end,
   })
end
