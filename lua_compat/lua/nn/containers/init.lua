-- Modules that contain modules: Container, Sequential, and those with branches.
local declared = require 'nn.shared.declared'

local Container, Module = torch.class('nn.Container', 'nn.Module')
declared.construct(Container, 'Container')

function Container:add(module)
   table.insert(self.modules, module)
   return self
end

function Container:get(index) return self.modules[index] end
function Container:size() return #self.modules end

local TRACEBACK_WARNING = "WARNING: If you see a stack trace below, it doesn't point to the place where this error "
   .. 'occurred. Please use only the one above.'

local function with_traceback(problem)
   problem = tostring(problem)
   if problem:find(TRACEBACK_WARNING, 1, true) then
      return problem:sub((problem:find('\n') or 0) + 1) -- from an inner container: drop its position
   end
   return problem .. '\n' .. debug.traceback('stack traceback:', 2):gsub('^[^\n]*\n', '', 1) .. '\n\n'
      .. TRACEBACK_WARNING
end

-- Calls module[method](module, ...); an error is prefixed with the module's place in this container.
function Container:rethrowErrors(module, index, method, ...)
   assert(module == self.modules[index], 'mismatch between moduleIndex and self.modules in rethrowErrors')
   local ok, result, extra = xpcall(module[method], with_traceback, module, ...)
   if not ok then error(('\nIn %d module of %s:\n%s'):format(index, torch.type(self), result)) end
   assert(extra == nil, 'rethrowErrors supports only one return argument')
   return result
end

function Container:applyToModules(f)
   for _, module in ipairs(self.modules) do f(module) end
end

for _, name in ipairs{ 'zeroGradParameters', 'updateParameters', 'reset' } do
   Container[name] = function(self, ...)
      for _, module in ipairs(self.modules) do module[name](module, ...) end
   end
end
for _, name in ipairs{ 'training', 'evaluate' } do
   Container[name] = function(self)
      for _, module in ipairs(self.modules) do module[name](module) end
      Module[name](self)
   end
end

function Container:share(other, ...)
   for i, module in ipairs(self.modules) do module:share(other.modules[i], ...) end
   return self
end

local function insert_all(list, value)
   if torch.type(value) == 'table' then
      for _, inner in ipairs(value) do insert_all(list, inner) end
   else
      table.insert(list, value)
   end
end

-- The modules' parameters, their gradients, and anything else that they return (nn.hessian adds a list).
function Container:parameters()
   local all = { {}, {} }
   for _, module in ipairs(self.modules) do
      for i, list in ipairs{ module:parameters() } do
         all[i] = all[i] or {}
         insert_all(all[i], list)
      end
   end
   return unpack(all)
end

-- New tensors instead of emptied ones: a container's tensors often belong to a module in it.
function Container:clearState()
   for _, name in ipairs{ 'output', 'gradInput' } do
      local value = self[name]
      if torch.isTensor(value) then self[name] = value.new()
      elseif torch.type(value) == 'table' then self[name] = {}
      else self[name] = nil end
   end
   for _, module in pairs(self.modules or {}) do module:clearState() end
   return self
end

local function indented(text, indent) return (tostring(text):gsub('\n', '\n' .. indent)) end

-- One module after the other
local Sequential = torch.class('nn.Sequential', 'nn.Container')

function Sequential:__len() return #self.modules end

function Sequential:add(module)
   if #self.modules == 0 then self.gradInput = module.gradInput end
   table.insert(self.modules, module)
   self.output = module.output
   return self
end

function Sequential:insert(module, index)
   index = index or #self.modules + 1
   if index > #self.modules + 1 or index < 1 then error('index should be contiguous to existing modules', 2) end
   table.insert(self.modules, index, module)
   self.output = self.modules[#self.modules].output
   self.gradInput = self.modules[1].gradInput
end

function Sequential:remove(index)
   index = index or #self.modules
   if index > #self.modules or index < 1 then error('index out of range', 2) end
   table.remove(self.modules, index)
   local first, last = self.modules[1], self.modules[#self.modules]
   self.output = last and last.output or torch.Tensor()
   self.gradInput = first and first.gradInput or torch.Tensor()
end

function Sequential:updateOutput(input)
   local output = input
   for i, module in ipairs(self.modules) do output = self:rethrowErrors(module, i, 'updateOutput', output) end
   self.output = output
   return output
end

-- Calls a method of each module, from the last to the first, with its input and its gradOutput.
local function backwards(self, method, input, gradOutput, scale)
   local modules = self.modules
   for i = #modules, 1, -1 do
      local module_input = i > 1 and modules[i - 1].output or input
      local result = self:rethrowErrors(modules[i], i, method, module_input, gradOutput, scale)
      if method == 'backward' or method == 'updateGradInput' then
         if method == 'backward' then modules[i].gradInput = result end
         gradOutput = result
      else
         gradOutput = modules[i].gradInput
      end
   end
   return gradOutput
end

function Sequential:updateGradInput(input, gradOutput)
   self.gradInput = backwards(self, 'updateGradInput', input, gradOutput)
   return self.gradInput
end
function Sequential:backward(input, gradOutput, scale)
   self.gradInput = backwards(self, 'backward', input, gradOutput, scale or 1)
   return self.gradInput
end
function Sequential:accGradParameters(input, gradOutput, scale)
   backwards(self, 'accGradParameters', input, gradOutput, scale or 1)
end
function Sequential:accUpdateGradParameters(input, gradOutput, rate)
   backwards(self, 'accUpdateGradParameters', input, gradOutput, rate)
end

function Sequential:__tostring__()
   local lines = { 'nn.Sequential {' }
   local path = { '  [input' }
   for i = 1, #self.modules do path[#path + 1] = '(' .. i .. ')' end
   lines[2] = table.concat(path, ' -> ') .. ' -> output]'
   for i, module in ipairs(self.modules) do lines[#lines + 1] = ('  (%d): %s'):format(i, indented(module, '  ')) end
   lines[#lines + 1] = '}'
   return table.concat(lines, '\n')
end

-- The printed form of containers with branches.
local function branches_text(self)
   local lines = { torch.type(self) .. ' {', '  input' }
   for i, module in ipairs(self.modules) do
      local last = i == #self.modules
      lines[#lines + 1] = ('  %s(%d): %s'):format(last and '   `-> ' or '  |`-> ', i,
         indented(module, last and '         ' or '    |    '))
   end
   lines[#lines + 1] = '     ... -> output'
   lines[#lines + 1] = '}'
   return table.concat(lines, '\n')
end

-- Sets target = f(tensor of source, tensor of target) for each tensor, through nested tables.
local function each_tensor(target, source, f)
   for key, value in ipairs(source) do
      if torch.type(value) == 'table' then
         target[key] = each_tensor(target[key] or {}, value, f)
      else
         target[key] = f(target[key], value)
      end
   end
   for key = #source + 1, #target do target[key] = nil end
   return target
end

local function copied(old, new)
   old = old or new.new()
   return old:resizeAs(new):copy(new)
end
local function added(old, new) return old and old:add(new) or new:clone() end

-- Functions of the container, gradOutput, the branch's number, the branch, and where its part of gradOutput begins.
-- They return the branch's part, and where the next one begins.
local function entry(_, gradOutput, i) return gradOutput[i] end
local function slice(self, gradOutput, _, module, first)
   local n = module.output:size(self.dimension)
   return gradOutput:narrow(self.dimension, first, n), first + n
end

-- The sum of the gradInputs that the branches' methods return, in self.gradInput.
local function sum_of_branches(self, method, input, part, gradOutput, scale)
   local was_table = torch.type(self.gradInput) == 'table'
   local is_table = torch.type(input) == 'table'
   if is_table ~= was_table then self.gradInput = is_table and {} or input.new() end
   if not is_table then self.gradInput:resizeAs(input) end
   local first = 1
   for i, module in ipairs(self.modules) do
      local of_branch
      of_branch, first = part(self, gradOutput, i, module, first)
      local gradient = self:rethrowErrors(module, i, method, input, of_branch, scale)
      if is_table then
         if torch.type(gradient) ~= 'table' then error('currentGradInput is not a table!', 2) end
         if #input ~= #gradient then error(('table size mismatch: %d ~= %d'):format(#input, #gradient), 2) end
         self.gradInput = each_tensor(self.gradInput, gradient, i == 1 and copied or added)
      elseif gradient then -- a first layer may have none
         if i == 1 then self.gradInput:resizeAs(gradient):copy(gradient) else self.gradInput:add(gradient) end
      end
   end
   return self.gradInput
end

-- The outputs joined along dimension d to a tensor of these sizes, in self.output.
local function joined(self, outputs, sizes, d)
   self.output:resize(sizes)
   local first = 1
   for _, output in ipairs(outputs) do
      local n = output:size(d)
      self.output:narrow(d, first, n):copy(output)
      first = first + n
   end
   return self.output
end

-- Branches with one input, their outputs joined along a dimension
local Concat = torch.class('nn.Concat', 'nn.Container')

declared.construct(Concat, 'Concat')

function Concat:updateOutput(input)
   local outputs = {}
   for i, module in ipairs(self.modules) do
      outputs[i] = self:rethrowErrors(module, i, 'updateOutput', input)
   end
   local sizes = outputs[1] and outputs[1]:size() or torch.LongStorage()
   for i = 2, #outputs do sizes[self.dimension] = sizes[self.dimension] + outputs[i]:size(self.dimension) end
   self.outputSize = sizes
   return joined(self, outputs, sizes, self.dimension)
end

-- The same for methods that return nothing.
local function each_branch(self, method, input, part, gradOutput, scale)
   local first, of_branch = 1, nil
   for i, module in ipairs(self.modules) do
      of_branch, first = part(self, gradOutput, i, module, first)
      self:rethrowErrors(module, i, method, input, of_branch, scale or 1)
   end
end

-- Gives a container of branches with one input the methods of its backward pass. part: of gradOutput, as above
local function add_backward(class, part)
   function class:updateGradInput(input, gradOutput)
      return sum_of_branches(self, 'updateGradInput', input, part, gradOutput)
   end
   function class:backward(input, gradOutput, scale)
      return sum_of_branches(self, 'backward', input, part, gradOutput, scale or 1)
   end
   for _, method in ipairs{ 'accGradParameters', 'accUpdateGradParameters' } do
      class[method] = function(self, input, gradOutput, scale)
         each_branch(self, method, input, part, gradOutput, scale)
      end
   end
end

add_backward(Concat, slice)
Concat.__tostring__ = branches_text

-- Branches with one input and a table of outputs
local ConcatTable = torch.class('nn.ConcatTable', 'nn.Container')

declared.construct(ConcatTable, 'ConcatTable')

function ConcatTable:updateOutput(input)
   for i, module in ipairs(self.modules) do
      self.output[i] = self:rethrowErrors(module, i, 'updateOutput', input)
   end
   return self.output
end

add_backward(ConcatTable, entry)
ConcatTable.__tostring__ = branches_text

-- A table of inputs, one for each branch
local ParallelTable = torch.class('nn.ParallelTable', 'nn.Container')

declared.construct(ParallelTable, 'ParallelTable')

function ParallelTable:updateOutput(input)
   for i, module in ipairs(self.modules) do
      self.output[i] = self:rethrowErrors(module, i, 'updateOutput', input[i])
   end
   return self.output
end
function ParallelTable:updateGradInput(input, gradOutput)
   for i, module in ipairs(self.modules) do
      self.gradInput[i] = self:rethrowErrors(module, i, 'updateGradInput', input[i], gradOutput[i])
   end
   return self.gradInput
end
for _, method in ipairs{ 'accGradParameters', 'accUpdateGradParameters' } do
   ParallelTable[method] = function(self, input, gradOutput, scale)
      for i, module in ipairs(self.modules) do
         self:rethrowErrors(module, i, method, input[i], gradOutput[i], scale or 1)
      end
   end
end
ParallelTable.__tostring__ = branches_text

-- Slices of the input along one dimension, one for each branch; the outputs are joined along another
local Parallel = torch.class('nn.Parallel', 'nn.Container')

declared.construct(Parallel, 'Parallel')

function Parallel:updateOutput(input)
   local outputs, sizes = {}, nil
   for i = 1, input:size(self.inputDimension) do
      local output = self:rethrowErrors(self.modules[i], i, 'updateOutput', input:select(self.inputDimension, i))
      outputs[i] = output
      if i == 1 then
         sizes = output:size()
      else
         sizes[self.outputDimension] = sizes[self.outputDimension] + output:size(self.outputDimension)
      end
   end
   self.totalOutputSize = sizes
   return joined(self, outputs, sizes, self.outputDimension)
end

local function each_slice(self, method, input, gradOutput, scale, use)
   local first = 1
   for i = 1, input:size(self.inputDimension) do
      local module = self.modules[i]
      local n = module.output:size(self.outputDimension)
      local result = self:rethrowErrors(module, i, method, input:select(self.inputDimension, i),
         gradOutput:narrow(self.outputDimension, first, n), scale)
      if use then use(i, result) end
      first = first + n
   end
end

function Parallel:updateGradInput(input, gradOutput)
   self.gradInput:resizeAs(input)
   each_slice(self, 'updateGradInput', input, gradOutput, nil, function(i, gradient)
      self.gradInput:select(self.inputDimension, i):copy(gradient)
   end)
   return self.gradInput
end
function Parallel:accGradParameters(input, gradOutput, scale)
   each_slice(self, 'accGradParameters', input, gradOutput, scale)
end
function Parallel:accUpdateGradParameters(input, gradOutput, rate)
   each_slice(self, 'accUpdateGradParameters', input, gradOutput, rate)
end
Parallel.__tostring__ = branches_text

-- Branches whose outputs differ in size: smaller ones are centred and padded with zeros
local DepthConcat = torch.class('nn.DepthConcat', 'nn.Concat')

-- The part of t (of the output's shape) that belongs to a branch's output; the branch's slice starts at `first`.
function DepthConcat:windowNarrow(t, output, first)
   local window = t:narrow(self.dimension, first, output:size(self.dimension))
   for d = 1, output:dim() do
      local size, whole = output:size(d), self.outputSize[d]
      if d ~= self.dimension and size ~= whole then
         window = window:narrow(d, math.floor((whole - size) / 2) + 1, size)
      end
   end
   return window
end

function DepthConcat:updateOutput(input)
   local outputs, sizes = {}, nil
   for i, module in ipairs(self.modules) do
      local output = self:rethrowErrors(module, i, 'updateOutput', input)
      outputs[i] = output
      if i == 1 then
         sizes = output:size()
      else
         for d = 1, output:dim() do
            sizes[d] = d == self.dimension and sizes[d] + output:size(d) or math.max(sizes[d], output:size(d))
         end
      end
   end
   self.outputSize = sizes
   self.output:resize(sizes):zero()
   local first = 1
   for _, output in ipairs(outputs) do
      self:windowNarrow(self.output, output, first):copy(output)
      first = first + output:size(self.dimension)
   end
   return self.output
end

local function window(self, gradOutput, _, module, first)
   return self:windowNarrow(gradOutput, module.output, first), first + module.output:size(self.dimension)
end

add_backward(DepthConcat, window)
-- As in Torch7, no scale is passed on; only accGradParameters has one.
function DepthConcat:backward(input, gradOutput)
   return sum_of_branches(self, 'backward', input, window, gradOutput)
end

-- One module applied to every entry of a table; the copies share its parameters
local MapTable = torch.class('nn.MapTable', 'nn.Container')

local set_map = declared.setter 'MapTable'
function MapTable:__init(...)
   Container.__init(self)
   set_map(self, ...)
   self.sharedparams = { 'weight', 'bias', 'gradWeight', 'gradBias' }
   self.modules[1] = self.module
end

function MapTable:add(module)
   assert(not self.module, 'Single module required')
   self.module = module
   self.modules[1] = module
   return self
end

function MapTable:_extend(n)
   self.modules[1] = self.module
   for i = #self.modules + 1, n do
      self.modules[i] = self.shared and self.module:clone(unpack(self.sharedparams)) or self.module:clone()
   end
end

function MapTable:resize(n)
   self:_extend(n)
   for i = #self.modules, n + 1, -1 do
      self.modules[i]:clearState()
      self.modules[i] = nil
   end
end

function MapTable:updateOutput(input)
   self.output = {}
   self:_extend(#input)
   for i, entry in ipairs(input) do
      self.output[i] = self:rethrowErrors(self.modules[i], i, 'updateOutput', entry)
   end
   return self.output
end
function MapTable:updateGradInput(input, gradOutput)
   self.gradInput = {}
   self:_extend(#input)
   for i, entry in ipairs(input) do
      self.gradInput[i] = self:rethrowErrors(self.modules[i], i, 'updateGradInput', entry, gradOutput[i])
   end
   return self.gradInput
end
for _, method in ipairs{ 'accGradParameters', 'accUpdateGradParameters' } do
   MapTable[method] = function(self, input, gradOutput, scale)
      self:_extend(#input)
      for i, entry in ipairs(input) do
         self:rethrowErrors(self.modules[i], i, method, entry, gradOutput[i], scale or 1)
      end
   end
end
for _, method in ipairs{ 'zeroGradParameters', 'updateParameters' } do
   MapTable[method] = function(self, ...)
      if not self.module then return end
      if self.shared then self.module[method](self.module, ...) else Container[method](self, ...) end
   end
end
function MapTable:clearState()
   for i = #self.modules, 2, -1 do
      self.modules[i]:clearState()
      self.modules[i] = nil
   end
   return Container.clearState(self)
end
function MapTable:__tostring__()
   if not self.module then return torch.type(self) .. ' { }' end
   return ('%s {\n  %s\n}'):format(torch.type(self), indented(self.module, '        '))
end
