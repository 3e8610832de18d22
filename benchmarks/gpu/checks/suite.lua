-- th suite.lua PACKAGE FILE: the tests of cutorch, cunn or cudnn, from their own file.
local package, file = arg[1], arg[2]
require(package)
dofile(file)
if package == 'cutorch' then
   cutorch.test()
elseif package == 'cunn' then
   nn.testcuda()
end
