-- nn.Module and nn.Criterion: the methods that all layers and losses have.
local Module = torch.class('nn.Module')

function Module:__init()
   self.gradInput = torch.Tensor()
   self.output = torch.Tensor()
   self._type = self.output:type()
end

-- The parameters and their gradients, or nothing.
function Module:parameters()
   if self.weight and self.bias then return { self.weight, self.bias }, { self.gradWeight, self.gradBias } end
   if self.weight then return { self.weight }, { self.gradWeight } end
   if self.bias then return { self.bias }, { self.gradBias } end
end

function Module:updateOutput() return self.output end
function Module:updateGradInput() return self.gradInput end
function Module:accGradParameters() end
function Module:reset() end

function Module:forward(input) return self:updateOutput(input) end

function Module:backward(input, gradOutput, scale)
   scale = scale or 1
   self:updateGradInput(input, gradOutput)
   self:accGradParameters(input, gradOutput, scale)
   return self.gradInput
end

-- backward and a gradient descent step in one.
function Module:backwardUpdate(input, gradOutput, rate)
   self:updateGradInput(input, gradOutput)
   self:accUpdateGradParameters(input, gradOutput, rate)
   return self.gradInput
end

function Module:accUpdateGradParameters(input, gradOutput, rate)
   if self.shared then
      self:sharedAccUpdateGradParameters(input, gradOutput, rate)
   else
      self:defaultAccUpdateGradParameters(input, gradOutput, rate)
   end
end

-- Adds gradients directly to the parameters.
function Module:defaultAccUpdateGradParameters(input, gradOutput, rate)
   local gradWeight, gradBias = self.gradWeight, self.gradBias
   self.gradWeight, self.gradBias = self.weight, self.bias
   self:accGradParameters(input, gradOutput, -rate)
   self.gradWeight, self.gradBias = gradWeight, gradBias
end

function Module:sharedAccUpdateGradParameters(input, gradOutput, rate)
   if self:parameters() then
      self:zeroGradParameters()
      self:accGradParameters(input, gradOutput, 1)
      self:updateParameters(rate)
   end
end

function Module:zeroGradParameters()
   local _, gradients = self:parameters()
   for _, gradient in ipairs(gradients or {}) do gradient:zero() end
end

function Module:updateParameters(rate)
   local parameters, gradients = self:parameters()
   for i, parameter in ipairs(parameters or {}) do parameter:add(-rate, gradients[i]) end
end

function Module:training() self.train = true end
function Module:evaluate() self.train = false end

-- Lets the named tensors be those of another module.
function Module:share(other, ...)
   for _, name in ipairs{ ... } do
      if self[name] ~= nil then
         self[name]:set(other[name])
         self.shared, other.shared = true, true
      end
   end
   return self
end

function Module:write(file)
   local fields = {}
   for key, value in pairs(self) do fields[key] = value end
   file:writeObject(fields)
end

function Module:read(file)
   for key, value in pairs(file:readObject()) do self[key] = value end
end

-- A deep copy; the named tensors are shared with the original.
function Module:clone(...)
   local shared = {}
   for _, name in ipairs{ ... } do shared[name] = true end
   local write = nn.Module.write
   nn.Module.write = function(module, file)
      local fields = {}
      for key, value in pairs(module) do
         if shared[key] then
            assert(torch.isTensor(value), 'Shared parameters have to be Tensors')
            value = value.new() -- later set to the original's
         end
         fields[key] = value
      end
      file:writeObject(fields)
   end
   local file = torch.MemoryFile('rw'):binary()
   local ok, copy = pcall(function()
      file:writeObject(self)
      file:seek(1)
      return file:readObject()
   end)
   file:close()
   nn.Module.write = write
   if not ok then error(copy, 0) end
   if select('#', ...) > 0 then copy:share(self, ...) end
   return copy
end

-- Without a name, returns the type of the tensors; with one, converts all tensors to it.
function Module:type(name, cache)
   if not name then return self._type end
   cache = cache or {}
   for key, value in pairs(self) do self[key] = nn.utils.recursiveType(value, name, cache) end
   self._type = name
   return self
end
function Module:float(...) return self:type('torch.FloatTensor', ...) end
function Module:double(...) return self:type('torch.DoubleTensor', ...) end
function Module:cuda(...) return self:type('torch.CudaTensor', ...) end

-- Whether a tensor's elements fill an interval of its storage, in some order of its dimensions.
local function is_compact(t)
   local dims = {}
   for d = 1, t:dim() do
      if t:stride(d) > 0 and t:size(d) > 1 then dims[#dims + 1] = { t:stride(d), t:size(d) } end
   end
   table.sort(dims, function(a, b) return a[1] < b[1] end)
   local expected = 1
   for _, dim in ipairs(dims) do
      if dim[1] ~= expected then return false end
      expected = expected * dim[2]
   end
   return true
end

-- By type name, another type for the temporary copy made below.
Module._flattenTensorBuffer = {}

-- Moves tensors into one new storage, in order; shared elements occur once. Returns the vector of all elements.
function Module.flatten(parameters)
   if not parameters or #parameters == 0 then return torch.Tensor() end
   local new = parameters[1].new
   local starts, places, total = {}, {}, 0 -- the offset of each storage in a sequence of all storages
   for k, parameter in ipairs(parameters) do
      local storage = parameter:storage()
      local key = torch.pointer(storage)
      if not starts[key] then
         starts[key] = { storage = storage, first = total }
         total = total + storage:size()
      end
      places[k] = { offset = starts[key].first + parameter:storageOffset(), size = parameter:size(),
         stride = parameter:stride() }
   end
   local row = new(total):zero()
   local compact = true
   for _, place in ipairs(places) do
      local view = new():set(row:storage(), place.offset, place.size, place.stride)
      view:fill(1)
      compact = compact and is_compact(view)
   end
   local used = row:min() == 0 and row:gt(0) or nil
   for _, start in pairs(starts) do
      local n = start.storage:size()
      row[{ { start.first + 1, start.first + n } }]:copy(new():set(start.storage))
   end
   starts = nil
   for _, parameter in ipairs(parameters) do parameter:set(new()) end
   if used then -- skip elements that no tensor refers to
      assert(compact, 'Cannot gather tensors that are not compact')
      local position = used:long():cumsum(1) -- the index of each used element among the used ones
      row = row:maskedSelect(used)
      for _, place in ipairs(places) do place.offset = position[place.offset] end
   end
   for k, parameter in ipairs(parameters) do
      parameter:set(row:storage(), places[k].offset, places[k].size, places[k].stride)
   end
   return row
end

-- Returns all parameters as one vector and all gradients as another; the module's tensors become views of them.
function Module:getParameters()
   local parameters, gradients = self:parameters()
   local p, g = Module.flatten(parameters), Module.flatten(gradients)
   assert(p:nElement() == g:nElement(), 'check that you are sharing parameters and gradParameters')
   for i, parameter in ipairs(parameters or {}) do
      assert(parameter:storageOffset() == gradients[i]:storageOffset(), 'misaligned parameter at ' .. i)
   end
   return p, g
end

function Module:__call__(input, gradOutput)
   self:forward(input)
   if gradOutput then
      self:backward(input, gradOutput)
      return self.output, self.gradInput
   end
   return self.output
end

-- Calls f on this module, then on the modules inside it.
function Module:apply(f)
   f(self)
   for _, module in ipairs(self.modules or {}) do module:apply(f) end
end

-- The modules of a type inside this one, and their containers.
function Module:findModules(name, container)
   local found, containers = {}, {}
   if torch.typename(self) == name then found[1], containers[1] = self, container or self end
   if torch.type(self.modules) == 'table' then
      for _, module in ipairs(self.modules) do
         local more, more_containers = module:findModules(name, self)
         for i = 1, #more do
            found[#found + 1], containers[#containers + 1] = more[i], more_containers[i]
         end
      end
   end
   return found, containers
end

-- This module and all modules inside it.
function Module:listModules()
   local list = { self }
   for _, module in ipairs(self.modules or {}) do
      for _, inner in ipairs(module:listModules()) do list[#list + 1] = inner end
   end
   return list
end

-- Replaces each module by f(module).
function Module:replace(f)
   local replaced = f(self)
   for i, module in ipairs(self.modules or {}) do self.modules[i] = module:replace(f) end
   return replaced
end

function Module:clearState() return nn.utils.clear(self, 'output', 'gradInput') end

local Criterion = torch.class('nn.Criterion')

function Criterion:__init()
   self.gradInput = torch.Tensor()
   self.output = 0
end

function Criterion:updateOutput() end
function Criterion:forward(input, target) return self:updateOutput(input, target) end
function Criterion:updateGradInput() end
function Criterion:backward(input, target) return self:updateGradInput(input, target) end

-- A deep copy.
function Criterion:clone()
   local file = torch.MemoryFile('rw'):binary()
   file:writeObject(self)
   file:seek(1)
   local copy = file:readObject()
   file:close()
   return copy
end

function Criterion:type(name, cache)
   assert(name, 'Criterion: must provide a type to convert to')
   for key, value in pairs(self) do self[key] = nn.utils.recursiveType(value, name, cache) end
   return self
end
function Criterion:float() return self:type('torch.FloatTensor') end
function Criterion:double() return self:type('torch.DoubleTensor') end
function Criterion:cuda() return self:type('torch.CudaTensor') end
function Criterion:cudaHalf() return self:type('torch.CudaHalfTensor') end
function Criterion:cudaDouble() return self:type('torch.CudaDoubleTensor') end

function Criterion:__call__(input, target)
   self.output = self:forward(input, target)
   self.gradInput = self:backward(input, target)
   return self.output, self.gradInput
end
