-- Minus, MultiSoftMax, Balance, Tic and Toc.
local Module = torch.getmetatable('nn.Module')

local Minus = torch.class('nn.Minus', 'nn.Module')
function Minus:updateOutput(input)
   self.output:resizeAs(input):copy(input):mul(-1)
   return self.output
end
function Minus:updateGradInput(input, gradOutput)
   self.gradInput:resizeAs(input):copy(gradOutput):mul(-1)
   return self.gradInput
end

-- Softmax over the last of two or three dimensions.
local MultiSoftMax = torch.class('nn.MultiSoftMax', 'nn.Module')
function MultiSoftMax:__init()
   Module.__init(self)
   self._softmax = nn.SoftMax()
end
local function as_rows(t) return t:contiguous():view(-1, t:size(t:dim())) end
function MultiSoftMax:updateOutput(input)
   if input:dim() ~= 2 and input:dim() ~= 3 then error('Only supports 2D or 3D inputs', 2) end
   self.output = self._softmax:updateOutput(as_rows(input)):view(input:size())
   return self.output
end
function MultiSoftMax:updateGradInput(input, gradOutput)
   self.gradInput = self._softmax:updateGradInput(as_rows(input), as_rows(gradOutput)):view(input:size())
   return self.gradInput
end

-- Makes the categories of a softmax equally frequent over the last nBatch batches.
local Balance = torch.class('nn.Balance', 'nn.Module')
function Balance:__init(nBatch)
   Module.__init(self)
   self.nBatch = nBatch or 10
   self.inputCache, self.prob, self.sum = torch.Tensor(), torch.Tensor(), torch.Tensor()
   self.batchSize, self.startIdx, self.train = 0, 1, true
end
function Balance:updateOutput(input)
   assert(input:dim() == 2, 'Only works with 2D inputs (batches)')
   local rows = input:size(1)
   if self.batchSize ~= rows then
      self.inputCache:resize(rows * self.nBatch, input:size(2)):zero()
      self.batchSize, self.startIdx = rows, 1
   end
   self.output:resizeAs(input):copy(input)
   if not self.train then return self.output end
   self.inputCache:narrow(1, self.startIdx, rows):copy(input)
   self.prob = self.inputCache:sum(1)
   self.prob:div(self.prob:sum())
   self.output:cdiv(self.prob:expandAs(input))
   self.sum = self.output:sum(2)
   self.output:cdiv(self.sum:expandAs(self.output))
   self.startIdx = self.startIdx + rows
   if self.startIdx > self.inputCache:size(1) then self.startIdx = 1 end
   return self.output
end
function Balance:updateGradInput(input, gradOutput)
   self.gradInput:resizeAs(gradOutput):copy(gradOutput)
   self.gradInput:cdiv(self.sum:expandAs(self.output)):cdiv(self.prob:expandAs(input))
   return self.gradInput
end

-- nn.Toc(name) prints the seconds since nn.Tic(name).
tic_modules = tic_modules or {}
local function pass_through(class)
   function class:updateGradInput(_, gradOutput)
      self.gradInput = gradOutput
      return gradOutput
   end
end
local Tic = torch.class('nn.Tic', 'nn.Module')
function Tic:__init(name)
   Module.__init(self)
   self.name = name or 'default'
   tic_modules[self.name] = torch.Timer()
end
function Tic:updateOutput(input)
   tic_modules[self.name]:reset()
   self.output = input
   return input
end
local Toc = torch.class('nn.Toc', 'nn.Module')
function Toc:__init(name, comment)
   Module.__init(self)
   self.name, self.comment = name or 'default', comment or ''
end
function Toc:updateOutput(input)
   print(("Toc '%s' (%s) : %s"):format(self.name, self.comment, tic_modules[self.name]:time().real))
   self.output = input
   return input
end
pass_through(Tic)
pass_through(Toc)
