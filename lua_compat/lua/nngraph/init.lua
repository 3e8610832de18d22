-- The package nngraph: networks as graphs. Calling a module with nodes returns a node: nn.Tanh()(nn.Linear(2, 3)()).
require 'nn'
require 'graph'

nngraph = nngraph or {}

require 'nngraph.node'
require 'nngraph.modules'
require 'nngraph.gmodule'
require 'nngraph.inspection'

local is_node = function(value) return torch.typename(value) == 'nngraph.Node' end
local not_a_node = require('nngraph.node').not_a_node

local Module = torch.getmetatable('nn.Module')

-- Returns a node that applies this module to the outputs of one node, or of a list of nodes.
function Module:__call__(...)
   local n = select('#', ...)
   local input = ...
   assert(n <= 1, 'Use {input1, input2} to pass multiple inputs.')
   if n == 1 and input == nil then error(not_a_node(nil, 'inputs', 1), 2) end
   local node = nngraph.Node{ module = self }
   if n == 0 then return node end
   local list = { input }
   if type(input) == 'table' and not torch.typename(input) then
      if next(input) == nil then
         error('cannot pass an empty table of inputs. To indicate no incoming connections, leave the second set of '
            .. 'parens blank.', 2)
      end
      list = input
   end
   for i = 1, table.maxn(list) do
      if not is_node(list[i]) then error(not_a_node(list[i], 'inputs', i), 2) end
      node:add(list[i], true)
   end
   return node
end

local Criterion = torch.getmetatable('nn.Criterion')

function Criterion:__call__(...)
   return nn.ModuleFromCriterion(self)(...)
end

-- -module is a node without inputs; node - module applies the module.
function Module.__unm__(module) return module() end
local function apply(from, to) return to(from) end
Module.__sub__ = apply
torch.getmetatable('nngraph.Node').__sub__ = apply

return nngraph
