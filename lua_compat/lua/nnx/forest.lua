-- nn.SoftMaxForest: a mixture of nn.SoftMaxTree experts. The input is theirs, { rows, leaves }; a gater computes each
-- expert's weight from the rows.
local Forest, Container = torch.class('nn.SoftMaxForest', 'nn.Container')

-- gaterSize: sizes of the gater's hidden layers, each followed by gaterAct; accUpdate: as for SoftMaxTree.
function Forest:__init(inputSize, trees, rootIds, gaterSize, gaterAct, accUpdate)
   Container.__init(self)
   gaterAct = gaterAct or nn.Tanh()
   self.smts, self.experts, self.gater = {}, nn.ConcatTable(), nn.Sequential():add(nn.SelectTable(1))
   for i, tree in ipairs(trees) do
      self.smts[i] = nn.SoftMaxTree(inputSize, tree, rootIds[i], accUpdate)
      self.experts:add(self.smts[i])
   end
   local size = inputSize
   for _, hidden in ipairs(gaterSize or {}) do
      self.gater:add(nn.Linear(size, hidden)):add(gaterAct:clone())
      size = hidden
   end
   self.gater:add(nn.Linear(size, #self.smts)):add(nn.SoftMax())
   self.trunk = nn.ConcatTable():add(self.gater):add(self.experts)
   self.mixture = nn.MixtureTable()
   self.module = nn.Sequential():add(self.trunk):add(self.mixture)
   self.modules[1] = self.module
end

function Forest:updateOutput(input)
   self.output = self.module:updateOutput(input)
   return self.output
end

function Forest:updateGradInput(input, gradOutput)
   self.gradInput = self.module:updateGradInput(input, gradOutput)
   return self.gradInput
end

function Forest:accGradParameters(input, gradOutput, scale) self.module:accGradParameters(input, gradOutput, scale) end

function Forest:accUpdateGradParameters(input, gradOutput, lr)
   self.module:accUpdateGradParameters(input, gradOutput, lr)
end
