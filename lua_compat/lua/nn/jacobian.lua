-- nn.Jacobian compares a module's gradients with finite differences. nn.SparseJacobian does the same for an input that
-- is a tensor of entries x (index, value), with respect to the values.
local Jacobian, SparseJacobian = {}, {}
nn.Jacobian, nn.SparseJacobian = Jacobian, SparseJacobian

-- Calls column(i, gradOutput) for each element of the output, with gradOutput 1 there and 0 elsewhere; it returns a
-- column.
local function columns_by_output(module, rows, column)
   local gradOutput = module.output.new():resizeAs(module.output)
   local flat = gradOutput:view(-1)
   local jacobian = torch.Tensor(rows, flat:nElement()):zero()
   for i = 1, flat:nElement() do
      gradOutput:zero()
      flat[i] = 1
      jacobian:select(2, i):copy(column(gradOutput))
   end
   return jacobian
end

-- The Jacobian by the module's backward pass: with respect to the input, or to param, whose gradient is dparam.
function Jacobian.backward(module, input, param, dparam)
   module:forward(input)
   return columns_by_output(module, (param or input):nElement(), function(gradOutput)
      module:zeroGradParameters()
      local gradInput = module:updateGradInput(input, gradOutput)
      module:accGradParameters(input, gradOutput)
      return param and dparam or gradInput
   end)
end

-- The values of a sparse input
local function values_of(input) return input:select(2, 2) end

function SparseJacobian.backward(module, input, param, dparam)
   module:forward(input)
   return columns_by_output(module, param and param:nElement() or input:size(1), function(gradOutput)
      module:zeroGradParameters()
      local gradInput = module:updateGradInput(input, gradOutput)
      module:accGradParameters(input, gradOutput)
      return param and dparam or values_of(gradInput)
   end)
end

-- The Jacobian by accUpdateGradParameters with rate 1: what param becomes.
function Jacobian.backwardUpdate(module, input, param)
   module:forward(input)
   local parameters, originals = module:parameters(), {}
   for i, parameter in ipairs(parameters) do originals[i] = parameter:clone() end
   local function restore()
      for i, parameter in ipairs(parameters) do parameter:copy(originals[i]) end
   end
   local jacobian = columns_by_output(module, param:nElement(), function(gradOutput)
      restore()
      module:updateGradInput(input, gradOutput)
      module:accUpdateGradParameters(input, gradOutput, 1)
      return param
   end)
   restore()
   return jacobian
end

-- The Jacobian by central differences with respect to the vector `flat`, which the module or its input views;
-- finish(row, value) may change a row.
local function by_differences(module, input, flat, perturbation, finish)
   perturbation = perturbation or 1e-6
   local n = module:forward(input):nElement()
   local jacobian = torch.Tensor(flat:nElement(), n)
   local below, above = torch.Tensor(n), torch.Tensor(n)
   for i = 1, flat:nElement() do
      local value = flat[i]
      flat[i] = value - perturbation
      below:copy(module:forward(input))
      flat[i] = value + perturbation
      above:copy(module:forward(input))
      flat[i] = value
      local row = above:add(-1, below):div(2 * perturbation)
      if finish then finish(row, value) end
      jacobian:select(1, i):copy(row)
   end
   return jacobian
end

local function flattened(t) return t.new(t):resize(t:nElement()) end

function Jacobian.forward(module, input, param, perturbation)
   return by_differences(module, input, flattened(param or input), perturbation)
end
function SparseJacobian.forward(module, input, param)
   return by_differences(module, input, param and flattened(param) or values_of(input))
end

-- What param becomes after a step with rate 1.
function Jacobian.forwardUpdate(module, input, param, perturbation)
   return by_differences(module, input, flattened(param), perturbation, function(row, value) row:mul(-1):add(value) end)
end

local function randomize(t, low, high)
   low, high = low or -2, high or 2
   t:copy(torch.rand(t:nElement()):mul(high - low):add(low))
end

local function largest_difference(a, b) return (a - b):abs():max() end

-- The part of an input to fill with random numbers
local function whole(input) return input end

for jacobian, variable in pairs{ [Jacobian] = whole, [SparseJacobian] = values_of } do
   function jacobian.testJacobian(module, input, minval, maxval, perturbation)
      randomize(variable(input), minval, maxval)
      local forward = jacobian.forward(module, input, nil, perturbation)
      return largest_difference(forward, jacobian.backward(module, input))
   end

   function jacobian.testJacobianParameters(module, input, param, dparam, minval, maxval, perturbation)
      randomize(variable(input), minval, maxval)
      randomize(param, minval, maxval)
      local backward = jacobian.backward(module, input, param, dparam)
      return largest_difference(jacobian.forward(module, input, param, perturbation), backward)
   end

   function jacobian.testJacobianUpdateParameters(module, input, param, minval, maxval, perturbation)
      randomize(variable(input), minval, maxval)
      randomize(param, minval, maxval)
      local backward = Jacobian.backwardUpdate(module, input, param)
      return largest_difference(Jacobian.forwardUpdate(module, input, param, perturbation), backward)
   end
end

-- Writes the module to a file and reads it back; returns the largest differences of outputs and of gradInputs.
function Jacobian.testIO(module, input, minval, maxval)
   minval, maxval = minval or -2, maxval or 2
   local input_copy = input:clone()
   module:forward(input)
   local gradOutput = module.output:clone()
   randomize(gradOutput, minval, maxval)
   local gradOutput_copy = gradOutput:clone()
   local function backward(m, x, g)
      m:zeroGradParameters()
      m:updateGradInput(x, g)
      m:accGradParameters(x, g)
   end
   backward(module, input, gradOutput)
   local output, gradInput = module.output:clone(), module.gradInput:clone()
   local name = os.tmpname()
   assert(module == module:clearState(), 'clearState did not return self')
   torch.save(name, module)
   local copy = torch.load(name)
   os.remove(name)
   copy:forward(input_copy)
   backward(copy, input_copy, gradOutput_copy)
   local difference = gradInput:nElement() == 0 and 0 or largest_difference(gradInput, copy.gradInput)
   return largest_difference(output, copy.output), difference
end

-- The ways of making a step with a rate, by name: the difference of each from the expected result.
function Jacobian.testAllUpdate(module, input, weight, gradWeight)
   local rate = torch.uniform(0.1, 1)
   local errors = {}
   local plain = module:clone()
   local start = plain[weight]:clone()
   plain:forward(input)
   local gradOutput = torch.rand(plain.output:size())

   plain:zeroGradParameters()
   plain:updateGradInput(input, gradOutput)
   plain:accGradParameters(input, gradOutput)
   plain:updateParameters(rate)
   errors.accGradParameters = (start - plain[gradWeight] * rate - plain[weight]):norm()

   local update = module:clone()
   update:forward(input)
   update:updateGradInput(input, gradOutput)
   update:accUpdateGradParameters(input, gradOutput, rate)
   errors.accUpdateGradParameters = (update[weight] - plain[weight]):norm()

   -- two modules that share a weight: both steps apply
   local function shared(step)
      local first, second = module:clone(), module:clone()
      second:share(first, weight)
      first:forward(input)
      second:forward(input)
      step(first, second)
      local expected = start - plain[gradWeight] * (rate * 2)
      return (expected - first[weight]):norm() + (expected - second[weight]):norm()
   end
   errors['accGradParameters [shared]'] = shared(function(...)
      for _, method in ipairs{ 'zeroGradParameters', 'updateGradInput', 'accGradParameters' } do
         for _, m in ipairs{ ... } do m[method](m, input, gradOutput) end
      end
      for _, m in ipairs{ ... } do m:updateParameters(rate) end
   end)
   errors['accUpdateGradParameters [shared]'] = shared(function(...)
      for _, m in ipairs{ ... } do m:updateGradInput(input, gradOutput) end
      for _, m in ipairs{ ... } do m:accUpdateGradParameters(input, gradOutput, rate) end
   end)
   return errors
end

-- The diagonal of the Hessian of half the sum of the squares of a module's output (nn.hessian must be enabled).

-- As estimated by nn.hessian
function Jacobian.backwardDiagHessian(module, input, diagHessianParamName)
   module:forward(input)
   local ones = module.output.new():resizeAs(module.output):fill(1)
   module.diagHessianWeight:zero()
   module.diagHessianBias:zero()
   module:updateDiagHessianInput(input, ones)
   module:accDiagHessianParameters(input, ones)
   return module[diagHessianParamName]
end

-- For a module that is linear in its input and its parameters: the sum of the squared gradients of all outputs
function Jacobian.linearModuleDiagHessian(module, input, gradParamName)
   local diagonal = module[gradParamName].new():resize(module[gradParamName]:nElement()):zero()
   module:forward(input)
   local gradOutput = module.output.new():resizeAs(module.output)
   local flat = gradOutput:view(-1)
   for i = 1, flat:nElement() do
      gradOutput:zero()
      flat[i] = 1
      module.gradWeight:zero()
      if module.bias then module.gradBias:zero() end
      module:updateGradInput(input, gradOutput)
      module:accGradParameters(input, gradOutput)
      diagonal:addcmul(module[gradParamName], module[gradParamName])
   end
   return diagonal
end

function Jacobian.testDiagHessian(module, input, gradParamName, diagHessianParamName, minval, maxval)
   randomize(input, minval, maxval)
   module:initDiagHessianParameters()
   local estimate = Jacobian.backwardDiagHessian(module, input, diagHessianParamName)
   return largest_difference(estimate, Jacobian.linearModuleDiagHessian(module, input, gradParamName))
end
for what, gradient in pairs{ Input = 'gradInput', Weight = 'gradWeight', Bias = 'gradBias' } do
   Jacobian['testDiagHessian' .. what] = function(module, input, minval, maxval)
      return Jacobian.testDiagHessian(module, input, gradient, 'diagHessian' .. what, minval, maxval)
   end
end

for name, f in pairs(Jacobian) do SparseJacobian[name] = SparseJacobian[name] or f end
