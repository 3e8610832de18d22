-- nn.Jacobian: a module's gradients against finite differences.
local Jacobian = {}
nn.Jacobian = Jacobian

-- For each element of the output, gradOutput is 1 there and 0 elsewhere: column(i, gradOutput) gives a column.
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

-- By the module's own backward pass: with respect to the input, or to param whose gradient is dparam.
function Jacobian.backward(module, input, param, dparam)
   module:forward(input)
   return columns_by_output(module, (param or input):nElement(), function(gradOutput)
      module:zeroGradParameters()
      local gradInput = module:updateGradInput(input, gradOutput)
      module:accGradParameters(input, gradOutput)
      return param and dparam or gradInput
   end)
end

-- By accUpdateGradParameters with a rate of 1: what param becomes.
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

-- By central differences with respect to the input or param; finish(row, value) may change a row.
local function by_differences(module, input, param, perturbation, finish)
   param = param or input
   perturbation = perturbation or 1e-6
   local flat = param.new(param):resize(param:nElement())
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

function Jacobian.forward(module, input, param, perturbation)
   return by_differences(module, input, param, perturbation)
end

-- What param would become after a step with rate 1.
function Jacobian.forwardUpdate(module, input, param, perturbation)
   return by_differences(module, input, param, perturbation, function(row, value) row:mul(-1):add(value) end)
end

local function randomize(t, low, high)
   low, high = low or -2, high or 2
   t:copy(torch.rand(t:nElement()):mul(high - low):add(low))
end

local function largest_difference(a, b) return (a - b):abs():max() end

function Jacobian.testJacobian(module, input, minval, maxval, perturbation)
   randomize(input, minval, maxval)
   local forward = Jacobian.forward(module, input, input, perturbation)
   return largest_difference(forward, Jacobian.backward(module, input))
end

function Jacobian.testJacobianParameters(module, input, param, dparam, minval, maxval, perturbation)
   randomize(input, minval, maxval)
   randomize(param, minval, maxval)
   local backward = Jacobian.backward(module, input, param, dparam)
   return largest_difference(Jacobian.forward(module, input, param, perturbation), backward)
end

function Jacobian.testJacobianUpdateParameters(module, input, param, minval, maxval, perturbation)
   randomize(input, minval, maxval)
   randomize(param, minval, maxval)
   local backward = Jacobian.backwardUpdate(module, input, param)
   return largest_difference(Jacobian.forwardUpdate(module, input, param, perturbation), backward)
end

-- The module written to a file and read back: the largest differences of outputs and of gradInputs.
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

-- The ways to make a step with a rate, by name: how far each is from what it should give.
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

   -- two modules with one weight: both steps count
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
