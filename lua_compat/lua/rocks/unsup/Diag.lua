-- nn.Diag: multiplies each plane (or each element of a vector) by its own weight.
local Diag, parent = torch.class('nn.Diag', 'nn.Module')

function Diag:__init(planes)
   parent.__init(self)
   self.weight, self.gradWeight = torch.Tensor(planes), torch.Tensor(planes)
   self:reset()
end

function Diag:reset() self.weight:fill(1) end

-- The planes' weights, expanded to the sizes of t.
local function weights_like(self, t)
   local planes = t:size(1)
   return self.weight:narrow(1, 1, planes):contiguous():view(planes, 1):expand(planes, t:nElement() / planes)
end

local function scaled(self, into, t)
   into:resizeAs(t):copy(t)
   into:view(t:size(1), -1):cmul(weights_like(self, t))
   return into
end

function Diag:updateOutput(input) return scaled(self, self.output, input) end

function Diag:updateGradInput(_, gradOutput) return scaled(self, self.gradInput, gradOutput) end

function Diag:accGradParameters(input, gradOutput, scale)
   local planes = input:size(1)
   local sums = torch.cmul(gradOutput, input):view(planes, -1):sum(2)
   self.gradWeight:narrow(1, 1, planes):add(scale or 1, sums:view(planes))
end

local enable = nn.hessian.enable

function nn.hessian.enable()
   enable()
   local hessian = nn.hessian
   function Diag:updateDiagHessianInput(input, diagHessianOutput)
      hessian.updateDiagHessianInput(self, input, diagHessianOutput, { 'weight' }, { 'weightSq' })
      return self.diagHessianInput
   end

   function Diag:accDiagHessianParameters(input, diagHessianOutput)
      hessian.accDiagHessianParameters(self, input, diagHessianOutput, { 'gradWeight' }, { 'diagHessianWeight' })
   end

   function Diag:initDiagHessianParameters()
      hessian.initDiagHessianParameters(self, { 'gradWeight' }, { 'diagHessianWeight' })
   end
end
