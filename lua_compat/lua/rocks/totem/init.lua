-- The package totem: the tester that became torch.Tester, with a command line and checks for nn's modules.
require 'torch'

-- The checks for nn's modules are loaded on first use.
totem = setmetatable({}, { __index = function(_, key)
   if key ~= 'nn' then return nil end
   require 'totem.nn'
   return rawget(totem, 'nn')
end })

function totem.TestSuite() return torch.TestSuite() end

require 'totem.asserts'
require 'totem.Tester'

return totem
