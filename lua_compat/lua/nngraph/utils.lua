-- The functions that scripts use from nngraph.utils.
require 'nngraph'
local not_a_node = require('nngraph.node').not_a_node

local utils = { expectingNodeErrorMessage = not_a_node, tableMaxN = table.maxn }

function utils.istorchclass(x) return type(x) == 'table' and torch.typename(x) end
function utils.istable(x) return type(x) == 'table' and not torch.typename(x) end

return utils
