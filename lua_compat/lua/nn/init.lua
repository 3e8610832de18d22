-- Torch7's package nn: layers grouped by family.
require 'torch'

nn = nn or {}

local function load(names)
   for _, name in ipairs(names) do require('nn.' .. name) end
end
load{ 'utils', 'module' }
load(require('nn.declarations').families)
load{ 'convert', 'composite_criterions', 'stochastic_gradient', 'jacobian', 'hessian', 'THNN' }

-- Torch7's nn loads its tests, which start by making such a layer. So after the first require 'nn', a script's seeded
-- generator has already drawn this layer's four random numbers.
nn.Linear(1, 2)

return nn
