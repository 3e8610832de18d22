-- nn.StochasticGradient: trains a module on a dataset, one example at a time.
local Trainer = torch.class('nn.StochasticGradient')

Trainer.__init = require('nn.shared.declared').setter 'StochasticGradient'

-- dataset: dataset[i] = { input, target }, and dataset:size(). hookExample(self, example) is called after each example,
-- hookIteration(self, iteration, mean loss) after each pass.
function Trainer:train(dataset)
   local module, criterion, count = self.module, self.criterion, dataset:size()
   local order = torch.randperm(count, 'torch.LongTensor')
   if not self.shuffleIndices then order:range(1, count) end
   local iteration, rate = 1, self.learningRate
   print('# StochasticGradient: training')
   repeat
      local loss = 0
      for i = 1, count do
         local example = dataset[order[i]]
         local input, target = example[1], example[2]
         loss = loss + criterion:forward(module:forward(input), target)
         module:updateGradInput(input, criterion:updateGradInput(module.output, target))
         module:accUpdateGradParameters(input, criterion.gradInput, rate)
         if self.hookExample then self.hookExample(self, example) end
      end
      loss = loss / count
      if self.hookIteration then self.hookIteration(self, iteration, loss) end
      if self.verbose then print('# current error = ' .. loss) end
      iteration = iteration + 1
      rate = self.learningRate / (1 + iteration * self.learningRateDecay)
      local finished = self.maxIteration > 0 and iteration > self.maxIteration
      if finished then
         print('# StochasticGradient: you have reached the maximum number of iterations')
         print('# training error = ' .. loss)
      end
   until finished
end
