-- Criterions for several inputs, for distributions, for trees, and for unaligned sequences (CTC).
local kernel = require('torch.core.kernels').of_tensors
local Criterion = torch.getmetatable('nn.Criterion')

-- A weighted sum of criterions, one for each input; targets are a table, or one for all.
local Super = torch.class('nn.SuperCriterion', 'nn.Criterion')
function Super:__init()
   Criterion.__init(self)
   self.criterions, self.weights, self.gradInput = {}, {}, {}
end
function Super:add(criterion, weight)
   table.insert(self.criterions, criterion)
   table.insert(self.weights, weight or 1)
end
local function target_of(target, i)
   if type(target) == 'table' then return target[i] end
   return target
end
function Super:updateOutput(input, target)
   self.output = 0
   for i, criterion in ipairs(self.criterions) do
      self.output = self.output + self.weights[i] * criterion:updateOutput(input[i], target_of(target, i))
   end
   return self.output
end
function Super:updateGradInput(input, target)
   for i, criterion in ipairs(self.criterions) do
      local gradient = criterion:updateGradInput(input[i], target_of(target, i))
      self.gradInput[i] = gradient * self.weights[i]
   end
   return self.gradInput
end

-- -sum(p log q) for a target p and an input q; options say how both are given.
local DistNLL = torch.class('nn.DistNLLCriterion', 'nn.Criterion')
function DistNLL:__init(opts)
   Criterion.__init(self)
   opts = opts or {}
   self.inputIsADistance = opts.inputIsADistance or false
   self.inputIsProbability = opts.inputIsProbability or false
   self.inputIsLogProbability = opts.inputIsLogProbability or false
   self.targetIsProbability = opts.targetIsProbability ~= false
   self.targetSoftMax, self.inputLogSoftMax, self.inputLog = nn.SoftMax(), nn.LogSoftMax(), nn.Log()
end
-- The module that converts the input to log-probabilities, if necessary.
local function to_logarithms(self)
   if self.inputIsLogProbability then return end
   return self.inputIsProbability and self.inputLog or self.inputLogSoftMax
end
function DistNLL:updateOutput(input, target)
   self.probTarget = self.targetIsProbability and target or self.targetSoftMax:updateOutput(target)
   self.input = self.inputIsADistance and -input or input
   local module = to_logarithms(self)
   self.logProbInput = module and module:updateOutput(self.input) or self.input
   self.output = -torch.cmul(self.logProbInput, self.probTarget):sum()
   return self.output
end
function DistNLL:updateGradInput()
   local module, gradient = to_logarithms(self), -self.probTarget
   self.gradInput = module and module:updateGradInput(self.input, gradient) or gradient
   if self.inputIsADistance then self.gradInput = -self.gradInput end
   return self.gradInput
end

-- The negative mean of nn.SoftMaxTree's output.
local TreeNLL = torch.class('nn.TreeNLLCriterion', 'nn.Criterion')
function TreeNLL:__init()
   Criterion.__init(self)
end
function TreeNLL:updateOutput(input) return -input:mean() end
function TreeNLL:updateGradInput(input)
   self.gradInput:resizeAs(input):fill(-1 / input:nElement())
   return self.gradInput
end

-- Connectionist temporal classification (Graves et al. 2006), as in warp-ctc. input: steps x batch x classes (with
-- batchFirst: batch x steps x classes), before the softmax; the first class is the blank. target: a table of lists of
-- labels, which count from 0, the blank. sizes: the number of steps of each sequence. The output is the mean over the
-- batch, the gradient that of the sum.
local CTC = torch.class('nn.CTCCriterion', 'nn.Criterion')
function CTC:__init(batchFirst)
   Criterion.__init(self)
   self.batchFirst = batchFirst or false
end
function CTC:forward(input, target, sizes) return self:updateOutput(input, target, sizes) end
function CTC:updateOutput(input, target, sizes)
   assert(sizes, 'You must pass the size of each sequence in the batch as a tensor')
   sizes = torch.LongTensor(torch.isTensor(sizes) and sizes:long():totable() or sizes)
   local activations = input:dim() == 2 and input:view(-1, sizes:size(1), input:size(2)) or input
   if input:dim() == 3 and self.batchFirst then activations = input:transpose(1, 2) end
   local labels, counts = {}, {}
   for i, list in ipairs(target) do
      counts[i] = #list
      for _, label in ipairs(list) do labels[#labels + 1] = label end
   end
   local gradient = activations.new()
   local cost = kernel.ctc(gradient, activations:contiguous(), torch.LongTensor(#labels > 0 and labels or { 0 }), sizes,
      torch.LongTensor(counts))
   if input:dim() == 3 and self.batchFirst then gradient = gradient:transpose(1, 2) end
   self.gradInput = input:dim() == 2 and gradient:view(input:size()) or gradient
   self.output = cost / sizes:size(1)
   return self.output
end
function CTC:updateGradInput() return self.gradInput end

-- How far each other class comes within 1 of the smallest score among the target's classes; a 0 ends the target's list.
local DistMargin = torch.class('nn.DistMarginCriterion', 'nn.Criterion')
function DistMargin:__init()
   Criterion.__init(self)
   self.sizeAverage = true
end
-- Calls visit(row, least, margins) for each row: the position of its smallest target score, and the positive margins, 0
-- for targets.
local function each_margin(input, target, visit)
   assert(input:dim() == 1 or input:dim() == 2, 'vector or matrix expected')
   local rows, classes = input:view(-1, input:size(input:dim())), input:size(input:dim())
   assert(target:nElement() == input:nElement() and (input:dim() == 1 or target:isSameSizeAs(input)),
      'inconsistent target size')
   local targets = target:contiguous():view(-1, classes)
   assert(targets:min() >= 0 and targets:max() <= classes, 'target out of range')
   for k = 1, rows:size(1) do
      local row, least, is_target = rows[k], nil, {}
      for place = 1, classes do
         local class = targets[k][place]
         if class == 0 then break end
         is_target[#is_target + 1] = class
         if not least or row[class] < row[least] then least = class end
      end
      if least then
         local margins = torch.add(row, 1 - row[least])
         for _, class in ipairs(is_target) do margins[class] = 0 end
         visit(k, least, margins:cmax(0))
      end
   end
end
function DistMargin:updateOutput(input, target)
   self.output = 0
   each_margin(input:contiguous(), target, function(_, _, margins) self.output = self.output + margins:sum() end)
   if self.sizeAverage then self.output = self.output / input:size(input:dim()) end
   return self.output
end
function DistMargin:updateGradInput(input, target)
   self.gradInput:resizeAs(input):zero()
   local rows = self.gradInput:view(-1, input:size(input:dim()))
   local scale = self.sizeAverage and 1 / rows:size(2) or 1
   each_margin(input:contiguous(), target, function(k, least, margins)
      rows[k]:copy(margins:gt(0):typeAs(margins)):mul(scale)
      rows[k][least] = -rows[k]:sum()
   end)
   return self.gradInput
end
