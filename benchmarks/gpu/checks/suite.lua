-- th suite.lua PACKAGE FILE [SHARE OF]: the tests of cutorch, cunn or cudnn, from their own file; of OF shares (by
-- name) only one.
require 'torch'
local package, file, share, shares = arg[1], arg[2], tonumber(arg[3]) or 1, tonumber(arg[4]) or 1
local Tester = torch.getmetatable('torch.Tester')
local all_tests = Tester._getTests
function Tester:_getTests(patterns)
   local tests, names, chosen = all_tests(self, patterns), {}, {}
   for name in pairs(tests) do names[#names + 1] = name end
   table.sort(names)
   for i = share, #names, shares do chosen[names[i]] = tests[names[i]] end
   return chosen
end
require(package)
dofile(file)
if package == 'cutorch' then
   cutorch.test()
elseif package == 'cunn' then
   nn.testcuda()
end
