-- nn.DataParallelTable: one module on several GPUs, each of which processes a part of the batch.
--
-- The first device has the module that was added; the others have clones. In a pass, each gets its part in turn, and
-- CUDA runs them concurrently. Parameter gradients are gathered on the first device; syncParameters copies its
-- parameters to the others.
local DataParallelTable, parent = torch.class('nn.DataParallelTable', 'nn.Container')

function DataParallelTable:__init(dimension, flattenParams, usenccl)
   parent.__init(self)
   if not dimension then error('must specify a dimension!') end
   self.dimension = dimension
   self.flattenParams, self.usenccl = flattenParams, usenccl
   self.gpuAssignments = {}
   self.replicas = {}
   self.needsSync = false
   self:type('torch.CudaTensor')
end

-- gpus: a device number, or a table of them.
function DataParallelTable:add(module, gpus)
   if type(gpus) == 'number' then gpus = { gpus } end
   if #self.modules > 0 or type(gpus) ~= 'table' then
      error('add one module, with the GPUs that share its work: add(module, {1, 2})', 2)
   end
   parent.add(self, module)
   self.gpuAssignments = gpus
   self.needsSync = true
   return self
end

-- In cunn each device has a thread, which runs init first (to load and configure cudnn). Here a single thread issues
-- the work, which the devices run concurrently; init runs in that thread.
function DataParallelTable:threads(init)
   if init then init(1) end
   return self
end

function DataParallelTable:get(index)
   if index ~= 1 then error('the module is get(1)', 2) end
   return self.modules[1]
end

local function on(self, place, f)
   return cutorch.withDevice(self.gpuAssignments[place], f)
end

-- Copies the first module's parameters to the clones on the other devices.
function DataParallelTable:syncParameters()
   local source = self.modules[1]
   for place = 2, #self.gpuAssignments do
      on(self, place, function()
         if not self.replicas[place] then
            self.replicas[place] = source:clone()
            return
         end
         local from, to = source:parameters(), self.replicas[place]:parameters()
         for i = 1, #(from or {}) do to[i]:copy(from[i]) end
      end)
   end
   self.needsSync = false
end

local function module_at(self, place) return place == 1 and self.modules[1] or self.replicas[place] end

-- Part number `place` of a tensor, or of each tensor in a table, on its device; nil if nothing is left for it.
local function part(self, value, place)
   if type(value) == 'table' then
      local parts = {}
      for i, inner in ipairs(value) do parts[i] = part(self, inner, place) end
      return next(parts) and parts
   end
   local size, count = value:size(self.dimension), #self.gpuAssignments
   local each = math.ceil(size / count)
   local first = (place - 1) * each + 1
   if first > size then return nil end
   local piece = value:narrow(self.dimension, first, math.min(each, size - first + 1))
   return place == 1 and piece or on(self, place, function() return piece:clone() end)
end

local function join(self, target, pieces)
   if type(pieces[1]) == 'table' then
      local joined = type(target) == 'table' and target or {}
      for i in ipairs(pieces[1]) do
         local column = {}
         for place, piece in ipairs(pieces) do column[place] = piece[i] end
         joined[i] = join(self, joined[i] or column[1].new(), column)
      end
      return joined
   end
   local size = pieces[1]:size()
   size[self.dimension] = 0
   for _, piece in ipairs(pieces) do size[self.dimension] = size[self.dimension] + piece:size(self.dimension) end
   target = torch.isTensor(target) and target or pieces[1].new()
   target:resize(size)
   local first = 1
   for _, piece in ipairs(pieces) do
      target:narrow(self.dimension, first, piece:size(self.dimension)):copy(piece)
      first = first + piece:size(self.dimension)
   end
   return target
end

-- Calls f(module, parts of each value...) on every device that has a part. Returns the results.
local function on_all(self, f, ...)
   local results, values = {}, { ... }
   for place = 1, #self.gpuAssignments do
      local parts = {}
      for i, value in ipairs(values) do parts[i] = part(self, value, place) end
      if parts[1] == nil then break end
      results[place] = on(self, place, function() return f(module_at(self, place), unpack(parts)) end)
   end
   return results
end

function DataParallelTable:updateOutput(input)
   if self.needsSync then self:syncParameters() end
   local outputs = on_all(self, function(module, piece) return module:updateOutput(piece) end, input)
   self.output = join(self, self.output, outputs)
   return self.output
end

function DataParallelTable:updateGradInput(input, gradOutput)
   local gradients = on_all(self, function(module, piece, gradient)
      return module:updateGradInput(piece, gradient)
   end, input, gradOutput)
   if self.gradInput and gradients[1] then self.gradInput = join(self, self.gradInput, gradients) end
   return self.gradInput
end

function DataParallelTable:accGradParameters(input, gradOutput, scale)
   on_all(self, function(module, piece, gradient) module:accGradParameters(piece, gradient, scale) end, input,
      gradOutput)
   local _, sums = self.modules[1]:parameters()
   for place = 2, #self.gpuAssignments do
      local replica = self.replicas[place]
      local _, gradients = replica:parameters()
      for i = 1, #(sums or {}) do
         sums[i]:add(on(self, 1, function() return gradients[i]:clone() end))
         gradients[i]:zero()
      end
   end
end

function DataParallelTable:backward(input, gradOutput, scale)
   self:updateGradInput(input, gradOutput)
   self:accGradParameters(input, gradOutput, scale)
   return self.gradInput
end

function DataParallelTable:parameters() return self.modules[1]:parameters() end

function DataParallelTable:updateParameters(rate)
   self.modules[1]:updateParameters(rate)
   self.needsSync = true
end

-- From here on parameters are changed from outside, so each pass first copies them to the other devices.
function DataParallelTable:getParameters()
   local parameters, gradients = self.modules[1]:getParameters()
   self.needsSync = true
   return parameters, gradients
end

function DataParallelTable:zeroGradParameters()
   self.modules[1]:zeroGradParameters()
   for _, replica in pairs(self.replicas) do replica:zeroGradParameters() end
   self.needsSync = true -- a new step starts: an optimiser may have changed the parameters
end

-- Only the first module is converted and written to files.
function DataParallelTable:clearState()
   self.replicas, self.needsSync = {}, true
   return parent.clearState(self)
end

function DataParallelTable:__tostring__()
   return ('DataParallelTable: %d x %s'):format(#self.gpuAssignments, tostring(self.modules[1]))
end
