-- The package totem: the tester that became torch.Tester, with a command line and checks of nn's modules.
require 'torch'

-- The functions for nn's modules are loaded when one is asked for.
totem = setmetatable({}, { __index = function(_, key)
   if key ~= 'nn' then return nil end
   require 'totem.nn'
   return rawget(totem, 'nn')
end })

function totem.TestSuite() return torch.TestSuite() end

require 'totem.asserts'
require 'totem.Tester'

return totem
