-- torch.Tester with command-line options, and comparisons that can return their outcome without counting it.
local lapp = require 'pl.lapp'

local Tester, parent = torch.class('totem.Tester', 'torch.Tester')

function Tester:__init()
   parent.__init(self)
   self._assertTensorEqIgnoresDims = false
end

function Tester:_assert_sub(condition, message)
   if self._outcome_only then return condition end
   return parent._assert_sub(self, condition, message)
end

local function comparing(compare)
   return function(self, got, expected, message, tolerance, outcome_only)
      self._outcome_only = outcome_only
      local result, problem = compare(self, got, expected, message, tolerance)
      self._outcome_only = nil
      return result, problem
   end
end
Tester.eq = comparing(parent.eq)
Tester.ne = comparing(parent.ne)
Tester.assertStorageEq = parent.eq
Tester.assertStorageNe = parent.ne

Tester.CLoptions = [[
    --list print the names of the available tests instead of running them.
    --log-output (optional file-out) redirect compact test results to file.
        This contains one line per test in the following format:
        name #passed-assertions #failed-assertions #exceptions
    --summary print only pass/fail status rather than full error messages.
    --early-abort (optional boolean) abort execution on first error.
    --rethrow (optional boolean) errors make the program crash and propagate up
        the stack.
    ]]

function Tester:run(names)
   if arg then
      local usage = 'Run tests\n\nUsage:\n\n  %s [options] [test1 [test2...] ]\n\nOptions:\n\n%s\n'
         .. 'If any test names are specified only the named tests are run. Otherwise\nall the tests are run.\n\n'
      local options = lapp(usage:format(arg[0], Tester.CLoptions))
      if #options > 0 then names = options end
      if options.list then
         for name in pairs(self:_getTests(names)) do print(name) end
         return 0
      end
      if options.summary then self:setSummaryOnly(true) end
      if options.early_abort then self:setEarlyAbort(true) end
      if options.rethrow then self:setRethrowErrors(true) end
      self.extraOutputFile = options.log_output or self.extraOutputFile
   end
   parent.run(self, names)
end

function Tester:_run(tests)
   parent._run(self, tests)
   if self.extraOutputFile then self:_logExtraOutput(tests) end
end

-- A line for each test, and one for all: the numbers of passed assertions, failed assertions, and errors.
function Tester:_logExtraOutput(tests)
   local file, passed, failed, errors = self.extraOutputFile, 0, 0, 0
   for name in pairs(tests) do
      local pass, fail, problem = self.assertionPass[name], self.assertionFail[name], self.testError[name]
      file:write(('%s %s %s %s\n'):format(name, pass, fail, problem))
      passed, failed, errors = passed + pass, failed + fail, errors + problem
   end
   file:write(('[total] %s %s %s\n'):format(passed, failed, errors))
   file:close()
end
