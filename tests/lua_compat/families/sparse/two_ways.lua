-- Linear layers of sparse inputs.
local h = require 'harness'
local whole_numbers, both_ways, random = h.whole_numbers, h.both_ways, h.random

-- Keys and values as one batch, with few and many outputs; wrong keys and sizes, weights in part, numbers that are not
-- finite.
local function listed_keys(T)
   local rows, outputs, examples = random(2, 9), random(1, 12), random(1, 3)
   local sizes = whole_numbers(examples):random(0, 5)
   sizes[1] = random(1, 5)
   local n = sizes:sum()
   local keys, values = whole_numbers(n):random(rows), torch.randn(n):type(T)
   local gradient, scale, decay = torch.randn(examples, outputs):type(T), torch.uniform(-2, 2), random(0, 3) == 0
      and 0.1 or 0
   local spoilt = random(1, 6)
   if spoilt == 1 then keys[random(1, n)] = ({ 0, rows + 1, -2 ^ 40 })[random(1, 3)] end
   if spoilt == 2 then sizes[1] = sizes[1] + random(1, 2) end
   if spoilt == 3 then values[random(1, n)] = ({ 0, 0 / 0 })[random(1, 2)] end
   local seeded = random(1, 1000)
   both_ways(T .. ' IndexLinear', function()
      torch.manualSeed(seeded)
      local module = nn.IndexLinear(rows, outputs):type(T)
      module.weightDecay = decay
      module.weight:normal()
      module.bias:normal()
      local results = { pcall(module.forward, module, { keys, values, sizes }) }
      if not results[1] then return unpack(results) end
      local output = module.output:clone()
      module:zeroGradParameters()
      module:accUpdateGradParameters(nil, gradient, scale)
      local weight, bias = module.weight:clone(), module.bias:clone()
      for _ = 1, 2 do
         module:forward{ keys, values, sizes }
         module:backward({ keys, values, sizes }, gradient, scale)
      end
      local of_weight, of_bias = module.running.gradWeight[1]:clone(), module.gradBias:clone()
      module:updateParameters(0.3)
      return output, weight, bias, of_weight, of_bias, module.weight, module.bias
   end)
end

local function listed_inputs(T)
   local inputs, outputs, batch = random(1, 9), random(1, 9), random(1, 4)
   local layer = nn.SparseLinear(inputs, outputs):type(T)
   local function entries(n)
      local list = torch.randn(n, 2):type(T)
      list:select(2, 1):random(inputs)
      if random(1, 3) == 1 then list[random(1, n)][2] = 0 end
      if random(1, 9) == 1 then list[random(1, n)][1] = ({ 0, inputs + 1, -1 })[random(1, 3)] end
      return list
   end
   local examples, n = {}, random(1, 6)
   for k = 1, batch do examples[k] = entries(random(1, 6)) end
   local one, all = entries(n), torch.randn(batch, n, 2):type(T)
   all:select(3, 1):random(inputs)
   both_ways(T .. ' listed inputs', function() return layer:forward(examples):clone(), layer:forward(one):clone(),
      layer:forward(all):clone() end)
   local start = layer.weight:clone()
   for _, input in ipairs{ examples, one, all } do
      both_ways(T .. ' gradients of listed inputs', function()
         layer.weight:copy(start)
         layer.bias:fill(1)
         layer:zeroGradParameters()
         local gradient = torch.randn(layer:forward(input):size()):type(T)
         if random(1, 3) == 1 and gradient:dim() == 2 then gradient = gradient:t():clone():t() end
         for times = 1, random(1, 2) do layer:accGradParameters(input, gradient, 0.5 * times) end
         local of_weight, of_bias = layer.gradWeight:clone(), layer.gradBias:clone()
         layer:updateParameters(0.1)
         layer:zeroGradParameters()
         return of_weight, of_bias, layer.weight:clone(), layer.bias:clone(), layer.gradWeight:clone()
      end)
   end
end

return {
   { name = 'listed_keys', types = h.REALS, run = listed_keys, times = 10 },
   { name = 'listed_inputs', types = h.REALS, run = listed_inputs },
}
