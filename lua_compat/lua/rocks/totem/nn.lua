-- Checks for nn's modules: gradients against finite differences, batches against single inputs, types, and files.
require 'nn'
local nesting = require 'nngraph.nesting'
local pretty = require 'pl.pretty'

totem.nn = {}

-- Returns a function that restores the generators' current state, so that they repeat their draws.
local function generators()
   local cpu = torch.getRNGState()
   local gpu = rawget(_G, 'cutorch') and cutorch.getRNGState()
   return function()
      torch.setRNGState(cpu)
      if gpu then cutorch.setRNGState(gpu) end
   end
end

-- f of each tensor or number, in the same structure.
local function mapped(value, f)
   if torch.isTensor(value) or type(value) == 'number' then return f(value) end
   local result = {}
   for key, entry in pairs(value) do result[key] = mapped(entry, f) end
   return result
end

local function random_like(output)
   return mapped(output, function(value)
      return torch.isTensor(value) and torch.randn(value:size()):typeAs(value) or torch.normal()
   end)
end

local function loss_of(output, gradOutput)
   if torch.isTensor(output) then return output:dot(gradOutput) end
   if type(output) == 'number' then return output * gradOutput end
   local loss = 0
   for key, entry in pairs(output) do loss = loss + loss_of(entry, gradOutput[key]) end
   return loss
end

local function same_sizes(tester, input, gradInput)
   if torch.isTensor(input) then
      tester:eq(input:size(), gradInput:size(), 'wrong gradInput size')
      return
   end
   for key, entry in pairs(input) do
      assert(gradInput[key] ~= nil, 'missing gradInput element')
      same_sizes(tester, entry, gradInput[key])
   end
end

-- Its output and gradInput are its own tensors, whatever the module after it does with them.
local Copy, Module = torch.class('totem._nn_CopyModule', 'nn.Module')

function Copy:__init(tester)
   Module.__init(self)
   self.output, self.gradInput, self.tester = nil, nil, tester
end

local function copied(to, structure, from)
   to = to or nesting.cloneNested(structure)
   nesting.resizeNestedAs(to, structure)
   nesting.fillNested(to, 0)
   nesting.addNestedTo(to, from)
   return to
end

function Copy:updateOutput(input)
   self.output = copied(self.output, input, input)
   return self.output
end

function Copy:updateGradInput(input, gradOutput)
   same_sizes(self.tester, input, gradOutput)
   self.gradInput = copied(self.gradInput, input, gradOutput)
   return self.gradInput
end

-- Adds { tensor, its gradient, name } for each tensor of an input.
local function add_pairs(list, input, gradInput, name)
   if input == nil then return end
   if not gradInput then
      print('\nWARNING: ignored gradInput: %s', name)
   elseif torch.isTensor(input) then
      list[#list + 1] = { input, gradInput, name }
   else
      for i = 1, #input do add_pairs(list, input[i], gradInput[i], ('%s[%s]'):format(name, i)) end
   end
end

local function is_double(t) return t:type() == 'torch.DoubleTensor' end

-- The gradient of evaluate() with respect to a tensor's elements, by central differences.
local function by_differences(evaluate, t)
   local flat = t.new(t:storage())
   assert(flat:nElement() == t:nElement(), 'shared storage of params is not supported')
   local gradient, step = t.new(t:nElement()), is_double(t) and 1e-6 or 1e-3
   for i = 1, flat:nElement() do
      local value = flat[i]
      flat[i] = value - step
      local below = evaluate()
      flat[i] = value + step
      local above = evaluate()
      flat[i] = value
      gradient[i] = (above - below) / (2 * step)
   end
   return t.new(gradient:storage(), t:storageOffset(), t:size(), t:stride())
end

function totem.nn.checkGradients(tester, module, input, precision)
   module = nn.Sequential():add(totem._nn_CopyModule(tester)):add(module)
   local again = generators()
   local output = module:forward(input)
   assert(module.output == output, 'module.output should be returned')
   local gradInput = module:backward(input, random_like(output))
   assert(module.gradInput == gradInput, 'module.gradInput should be returned')

   local gradOutput, checked = random_like(module.output), {}
   local parameters = module:parameters()
   if parameters and #parameters > 0 then
      local flat, gradient = module:getParameters()
      checked[1] = { flat, gradient, 'params' }
   end
   add_pairs(checked, input, module.gradInput, 'input')

   for _, entry in ipairs(checked) do
      local t, gradient, name = entry[1], entry[2], entry[3]
      local is_parameter = name == 'params'
      -- gradients of parameters are accumulated
      local before = gradient:clone():uniform()
      if not is_parameter then before:zero() end
      local function evaluate()
         again()
         if not is_parameter then module:zeroGradParameters() end
         gradient:copy(before)
         module:forward(input)
         local loss = loss_of(module.output, gradOutput)
         module:backward(input, gradOutput)
         gradient:add(-1, before)
         return loss, gradient
      end
      local _, computed = evaluate()
      local numeric = by_differences(evaluate, t)
      tester:eq(computed, numeric, 'wrong grad w.r.t. ' .. name, precision or is_double(t) and 1e-4 or 1e-2)
   end
end

-- The single inputs of a batch.
local function single(batch)
   local inputs = {}
   if torch.isTensor(batch) then
      for i = 1, batch:size(1) do inputs[i] = batch[i]:clone() end
      return inputs
   end
   local columns = {}
   for k, entry in ipairs(batch) do columns[k] = single(entry) end
   for i = 1, #columns[1] do
      inputs[i] = {}
      for k, column in ipairs(columns) do inputs[i][k] = column[i] end
   end
   return inputs
end

function totem.nn.checkMinibatch(tester, module, batch, precision)
   precision = precision or 1e-14
   local inputs, batch_output = single(batch), module:forward(batch)
   local outputs, gradOutput = single(batch_output), random_like(batch_output)
   local gradOutputs, gradInputs = single(gradOutput), single(module:updateGradInput(batch, gradOutput))
   for i, input in ipairs(inputs) do
      tester:eq(outputs[i], module:forward(input), 'wrong minibatch output', precision)
      tester:eq(gradInputs[i], module:updateGradInput(input, gradOutputs[i]), 'wrong minibatch gradInput', precision)
   end
end

local function differences(a, b)
   local found = ''
   if a:storage() ~= b:storage() then found = found .. '\n+ different storage pointer' end
   if a:storageOffset() ~= b:storageOffset() then found = found .. '\n+ different storage offset' end
   if not a:isSameSizeAs(b) then return found .. '\n+ different tensor sizes' end
   local same = torch.LongTensor(a:stride()):eq(torch.LongTensor(b:stride())):all()
   return same and found or found .. '\n+ different tensor strides'
end

function totem.nn.checkTypePreservesSharing(tester, module, type_name)
   local function broken()
      if not module.parameters then return nil end
      local other = module:clone()
      local own, own_gradients = module:parameters()
      if not own then return nil end
      local others, others_gradients = other:parameters()
      for i in ipairs(own) do
         others[i]:set(own[i])
         others_gradients[i]:set(own_gradients[i])
      end
      nn.Sequential():add(module):add(other):type(type_name or 'torch.FloatTensor')
      own, own_gradients = module:parameters()
      others, others_gradients = other:parameters()
      for i in ipairs(own) do
         for name, pair in pairs{ parameter = { own[i], others[i] },
            gradParameter = { own_gradients[i], others_gradients[i] } } do
            if not pair[2]:isSetTo(pair[1]) then
               return ('Sharing is broken for %s #%d\n%s vs\n%s\nReason: %s'):format(name, i, tostring(pair[1]),
                  tostring(pair[2]), differences(pair[1], pair[2]))
            end
         end
      end
   end
   local problem = broken()
   tester:assert(problem == nil, problem)
end

-- The names of the tensors of a type in an object, which may contain cycles.
local function tensors_of_type(object, type_name)
   local found, seen = {}, {}
   local function look(value, name)
      if type(value) == 'table' then
         if seen[value] then return end
         seen[value] = true
         for key, entry in pairs(value) do
            if type(key) == 'number' or type(key) == 'string' then look(entry, name .. '.' .. key) end
         end
      elseif torch.isTensor(value) and torch.typename(value) == type_name then
         found[#found + 1] = name
      end
   end
   look(object, 'self')
   return found
end

-- Converts tensors; those in a table are replaced there.
local function cast(tester, value, type_name)
   if torch.isTensor(value) then return value:type(type_name) end
   if type(value) ~= 'table' then
      tester:assert(false, 'the input contains something which is not a tensor')
      return value
   end
   for key, entry in pairs(value) do value[key] = cast(tester, entry, type_name) end
   return value
end

local function type_of(input) return type(input) == 'table' and type_of(input[1]) or input:type() end

function totem.nn.checkTypeCastable(tester, module, input, type_name, precision)
   precision, type_name = precision or 1e-6, type_name or 'torch.FloatTensor'
   local first_type = type_of(input)
   local function to(value, other) return cast(tester, value, other) end

   local again = generators()
   local output = module:updateOutput(input)
   local gradOutput = random_like(output)
   local gradInput = module:updateGradInput(input, gradOutput)
   tester:assertNoError(function() module:type(type_name) end, 'module cannot be cast to ' .. type_name)
   local left = tensors_of_type(module, first_type)
   assert(#left == 0 or first_type == type_name,
      'after casting, module still contains objects of original type: ' .. pretty.write(left))
   local new = tensors_of_type(module, type_name)
   assert(#new > 0, 'after casting, module still contains no objects of new type: ' .. pretty.write(new))

   again()
   local cast_input = to(input, type_name)
   local cast_output = module:forward(cast_input)
   local cast_gradInput = module:updateGradInput(cast_input, to(gradOutput, type_name))
   tester:eq(to(output, type_name), cast_output, 'cast module output differs from before casting', precision)
   tester:eq(to(gradInput, type_name), cast_gradInput, 'cast module grad input differs from before casting', precision)

   tester:assertNoError(function() module:type(first_type) end, 'module cannot be base back to ' .. first_type)
   again()
   input, gradOutput = to(input, first_type), to(gradOutput, first_type)
   tester:eq(to(output, first_type), module:updateOutput(input), 'module output differs before and after typecast',
      precision)
   tester:eq(to(gradInput, first_type), module:updateGradInput(input, gradOutput),
      'module gradInput differs before and after typecast', precision)
end

function totem.nn.checkSerializable(tester, module, input, precision)
   precision = precision or 1e-6
   local again = generators()
   local output = module:updateOutput(input)
   local gradOutput = random_like(output)
   local gradInput = module:updateGradInput(input, gradOutput)
   local name = paths.tmpname()
   tester:assertNoError(function() torch.save(name, module) end, 'module cannot be serialized')
   local loaded = torch.load(name)
   os.remove(name)
   again()
   tester:eq(output, loaded:updateOutput(input), 'module output differs before and after serialization', precision)
   tester:eq(gradInput, loaded:updateGradInput(input, gradOutput),
      'module gradInput differs before and after serialization', precision)
end
