-- nn.hessian: estimates the diagonal of the Hessian by backpropagation, with squared weights and inputs.
local hessian = {}
nn.hessian = hessian

-- Calls f with some fields of a module replaced: swaps { name = value }.
local function with_fields(module, swaps, f)
   local originals = {}
   for name, value in pairs(swaps) do originals[name], module[name] = module[name], value end
   f()
   for name in pairs(swaps) do module[name] = originals[name] end
end

local enabled = false

-- Adds to modules updateDiagHessianInput, accDiagHessianParameters and initDiagHessianParameters, and adds the diagonal
-- as a third result of parameters() and getParameters().
function hessian.enable()
   if enabled then return end
   enabled = true

   -- gradients, diagonals: names of fields
   function hessian.accDiagHessianParameters(module, input, diagHessianOutput, gradients, diagonals)
      if #gradients ~= #diagonals then error('Number of gradients is not equal to number of hessians') end
      module.inputSq = (module.inputSq or input.new()):resizeAs(input)
      torch.cmul(module.inputSq, input, input)
      local swaps = { output = module.output.new():resizeAs(module.output) }
      for i, name in ipairs(gradients) do
         local gradient = module[name]
         if gradient then
            module[diagonals[i]] = module[diagonals[i]] or gradient.new():resizeAs(gradient)
            swaps[name] = module[diagonals[i]]
         end
      end
      with_fields(module, swaps, function()
         module:forward(module.inputSq)
         module:accGradParameters(module.inputSq, diagHessianOutput, 1)
      end)
   end

   -- weights, squares: names of fields
   function hessian.updateDiagHessianInput(module, input, diagHessianOutput, weights, squares)
      if #weights ~= #squares then error('Number of weights is not equal to number of weights squares') end
      module.diagHessianInput = (module.diagHessianInput or input.new()):resizeAs(input):zero()
      local swaps = { gradInput = module.diagHessianInput }
      for i, name in ipairs(weights) do
         local weight = module[name]
         if weight then
            module[squares[i]] = (module[squares[i]] or weight.new()):resizeAs(weight)
            swaps[name] = torch.cmul(module[squares[i]], weight, weight)
         end
      end
      with_fields(module, swaps, function() module:updateGradInput(input, diagHessianOutput) end)
   end

   -- For elementwise functions: uses the squared derivative.
   function hessian.updateDiagHessianInputPointWise(module, input, diagHessianOutput)
      local ones = diagHessianOutput.new():resizeAs(diagHessianOutput):fill(1)
      hessian.updateDiagHessianInput(module, input, ones, {}, {})
      module.diagHessianInput:cmul(module.diagHessianInput):cmul(diagHessianOutput)
   end

   function hessian.initDiagHessianParameters(module, gradients, diagonals)
      module.diagHessianInput = module.diagHessianInput or module.gradInput.new()
      for i, name in ipairs(gradients) do
         local gradient = module[name]
         if gradient then module[diagonals[i]] = module[diagonals[i]] or gradient.new():resizeAs(gradient) end
      end
   end

   local function undefined(self) error(torch.typename(self) .. ':updateDiagHessianInput() is undefined') end
   nn.Module.updateDiagHessianInput = undefined
   nn.Criterion.updateDiagHessianInput = undefined
   function nn.Module.accDiagHessianParameters() end
   function nn.Module.initDiagHessianParameters() end

   -- Layers with weights
   for name, weights in pairs{ Linear = { 'weight' }, SpatialConvolution = { 'weight' },
      SpatialConvolutionLocal = { 'weight' }, SpatialFullConvolution = { 'weight' },
      SpatialConvolutionMap = { 'weight', 'bias' }, SpatialFullConvolutionMap = { 'weight' } } do
      local class = nn[name]
      local squares, gradients = {}, { 'gradWeight', 'gradBias' }
      local diagonals = { 'diagHessianWeight', 'diagHessianBias' }
      for i, weight in ipairs(weights) do squares[i] = weight .. 'Sq' end
      function class:updateDiagHessianInput(input, diagHessianOutput)
         hessian.updateDiagHessianInput(self, input, diagHessianOutput, weights, squares)
         return self.diagHessianInput
      end
      function class:accDiagHessianParameters(input, diagHessianOutput)
         hessian.accDiagHessianParameters(self, input, diagHessianOutput, gradients, diagonals)
      end
      function class:initDiagHessianParameters()
         hessian.initDiagHessianParameters(self, gradients, diagonals)
      end
   end

   for _, name in ipairs{ 'Tanh', 'Square', 'Sqrt' } do
      local class = nn[name]
      function class:updateDiagHessianInput(input, diagHessianOutput)
         hessian.updateDiagHessianInputPointWise(self, input, diagHessianOutput)
         return self.diagHessianInput
      end
   end
   -- As in Torch7, the curvatures of its two terms add up.
   function nn.TanhShrink:updateDiagHessianInput(input, diagHessianOutput)
      local of_tanh = self.tanh:updateDiagHessianInput(input, diagHessianOutput)
      self.diagHessianInput = torch.add(self.diagHessianInput or input.new(), of_tanh, diagHessianOutput)
      return self.diagHessianInput
   end

   function nn.Reshape:updateDiagHessianInput(input, diagHessianOutput)
      self.diagHessianInput = diagHessianOutput:contiguous():view(input:size())
      return self.diagHessianInput
   end

   function nn.Sequential:initDiagHessianParameters()
      for _, module in ipairs(self.modules) do module:initDiagHessianParameters() end
   end
   local function input_of(self, i, input) return i > 1 and self.modules[i - 1].output or input end
   function nn.Sequential:updateDiagHessianInput(input, diagHessianOutput)
      for i = #self.modules, 1, -1 do
         diagHessianOutput = self.modules[i]:updateDiagHessianInput(input_of(self, i, input), diagHessianOutput)
      end
      self.diagHessianInput = diagHessianOutput
      return diagHessianOutput
   end
   function nn.Sequential:accDiagHessianParameters(input, diagHessianOutput)
      for i = #self.modules, 1, -1 do
         self.modules[i]:accDiagHessianParameters(input_of(self, i, input), diagHessianOutput)
         diagHessianOutput = self.modules[i].diagHessianInput
      end
   end

   -- Losses
   function nn.MSECriterion:updateDiagHessianInput(input)
      self.diagHessianInput = (self.diagHessianInput or input.new()):resizeAs(input)
      return self.diagHessianInput:fill(self.sizeAverage and 2 / input:nElement() or 2)
   end
   nn.WeightedMSECriterion.updateDiagHessianInput = nn.MSECriterion.updateDiagHessianInput
   function nn.L1Cost:updateDiagHessianInput(input)
      self.diagHessianInput = (self.diagHessianInput or input.new()):resizeAs(input)
      return self.diagHessianInput:copy(torch.ne(input, 0))
   end

   local parameters, getParameters = nn.Module.parameters, nn.Module.getParameters
   function nn.Module:parameters()
      local values, gradients = parameters(self)
      if not values then return end
      local diagonals = {}
      if self.weight then diagonals[1] = self.diagHessianWeight end
      if self.bias then diagonals[#diagonals + 1] = self.diagHessianBias end
      return values, gradients, diagonals
   end
   function nn.Module:getParameters()
      local _, _, diagonals = self:parameters()
      local p, g = getParameters(self)
      return p, g, diagonals and diagonals[1] and nn.Module.flatten(diagonals) or nil
   end
end
