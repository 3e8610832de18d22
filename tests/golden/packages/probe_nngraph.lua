-- Records what nngraph's networks compute: th probe_nngraph.lua OUT.t7
require 'torch'
require 'nngraph'

local builders = {}

-- Two inputs, a node used three times, two outputs
function builders.shared()
   local a, b = nn.Identity()(), nn.Linear(4, 3)()
   local h = nn.Tanh()(nn.Linear(5, 3)(a))
   local sum = nn.CAddTable()({ h, b })
   local product = nn.CMulTable()({ sum, h, nn.Sigmoid()(h) })
   return nn.gModule({ a, b }, { nn.Linear(3, 2)(product), nn.ReLU()(sum) }),
      { torch.randn(6, 5), torch.randn(6, 4) }, { torch.randn(6, 2), torch.randn(6, 3) }
end

-- An LSTM cell: an input that is a table, gates split from one tensor
function builders.lstm()
   local n = 3
   local x, state = nn.Identity()(), nn.Identity()()
   local h, c = state:split(2)
   local gates = nn.CAddTable()({ nn.Linear(4, 4 * n)(x), nn.Linear(n, 4 * n)(h) })
   local i, f, o, g = nn.SplitTable(2)(nn.Reshape(4, n)(gates)):split(4)
   local next_c = nn.CAddTable()({ nn.CMulTable()({ nn.Sigmoid()(f), c }),
      nn.CMulTable()({ nn.Sigmoid()(i), nn.Tanh()(g) }) })
   local next_h = nn.CMulTable()({ nn.Sigmoid()(o), nn.Tanh()(next_c) })
   return nn.gModule({ x, state }, { nngraph.nest{ next_h, next_c } }),
      { torch.randn(2, 4), { torch.randn(2, n), torch.randn(2, n) } }, { torch.randn(2, n), torch.randn(2, n) }
end

-- Convolutions with a way around them, in the notation with minus signs
function builders.residual()
   local x = -nn.Identity()
   local y = x - nn.SpatialConvolution(2, 2, 3, 3, 1, 1, 1, 1) - nn.ReLU(true)
      - nn.SpatialConvolution(2, 2, 3, 3, 1, 1, 1, 1)
   return nn.gModule({ x }, { nn.CAddTable()({ x, y }) }), torch.randn(1, 2, 4, 4), torch.randn(1, 2, 4, 4)
end

-- A graph in a graph, a criterion at the end, a table of one element
function builders.nested()
   local inner_in = nn.Identity()()
   local inner = nn.gModule({ inner_in }, { nn.Tanh()(nn.Linear(3, 3)(inner_in)), nn.Mul()(inner_in) })
   local x, target = nn.Identity()(), nn.Identity()()
   local one, two = inner(x):split(2)
   local joined = nn.JoinTable(2)({ one, nn.SelectTable(1)(nngraph.nest{ two }) })
   return nn.gModule({ x, target }, { nn.MSECriterion()({ joined, target }) }),
      { torch.randn(2, 3), torch.randn(2, 6) }, torch.Tensor{ 0.5 }
end

local results = {}
for _, name in ipairs{ 'shared', 'lstm', 'residual', 'nested' } do
   torch.manualSeed(7)
   local net, input, gradOutput = builders[name]()
   local p, g = net:getParameters()
   g:zero()
   local entry = { name = name, input = input, gradOutput = gradOutput, parameters = p:clone() }
   entry.output = nn.utils.recursiveCopy(nil, net:forward(input))
   entry.gradInput = nn.utils.recursiveCopy(nil, net:backward(input, gradOutput))
   net:accGradParameters(input, gradOutput, 0.5)
   entry.gradParameters = g:clone()
   entry.modules, entry.order, entry.edges = {}, {}, {}
   for i, module in ipairs(net.modules) do entry.modules[i] = torch.type(module) end
   for i, node in ipairs(net.forwardnodes) do entry.order[i] = node.id end
   for i, edge in ipairs(net.bg.edges) do entry.edges[i] = { edge.from.id, edge.to.id } end
   local net32 = net:clone():float()
   local function as_float(t)
      if torch.isTensor(t) then return t:float() end
      local list = {}
      for i, element in ipairs(t) do list[i] = as_float(element) end
      return list
   end
   entry.float = nn.utils.recursiveCopy(nil, net32:forward(as_float(input)))
   results[#results + 1] = entry
   if arg[2] == name then torch.save(arg[3], net:clearState()) end
end
torch.save(arg[1], results)
