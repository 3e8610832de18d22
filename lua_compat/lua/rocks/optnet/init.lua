-- The package optnet (optimize-net): tensors of a net that are not in use at the same time share a storage.
require 'nn'

local optnet = require 'optnet.env'
local liveness = require 'optnet.liveness'
local utils = require 'optnet.utils'
require 'optnet.countUsedMemory'

local SHARED_FROM = 2 -- elements

-- Buffers that a layer fills in each call, so that all layers of its class can share one.
local REUSED = {
   inference = {
      ['nn.SpatialConvolution'] = { 'finput', 'fgradInput' }, ['nn.SpatialConvolutionMM'] = { 'finput', 'fgradInput' },
      ['nn.Normalize'] = { 'norm', 'buffer', 'normp', '_indices' }, ['nn.SpatialCrossMapLRN'] = { 'scale' },
      ['nn.SpatialMaxPooling'] = { 'indices' },
   },
   training = { ['nn.SpatialConvolution'] = { 'fgradInput' }, ['nn.SpatialConvolutionMM'] = { 'fgradInput' } },
}

local function each_reused(net, mode, found)
   -- unpooling needs the positions of the maxima
   local unpools = #net:findModules('nn.SpatialMaxUnpooling') > 0 and mode ~= 'all'
   local names = REUSED[mode == 'training' and mode or 'inference']
   net:apply(function(m)
      local class = torch.typename(m)
      if unpools and class == 'nn.SpatialMaxPooling' then return end
      for _, field in ipairs(names[class] or {}) do
         if m[field] then found(m[field], class .. ',' .. field) end
      end
   end)
end

local function share_buffers(net, mode)
   local storages = {}
   each_reused(net, mode, function(buffer, name)
      storages[name] = storages[name] or buffer:storage()
      if storages[name] then buffer:set(storages[name]) end
   end)
end

-- Threshold works in place only for some values.
local function work_in_place(net)
   net:apply(function(m)
      if m.inplace ~= nil and torch.typename(m) ~= 'nn.Threshold' then m.inplace = true end
   end)
end

-- Groups tensors that can share a storage: each joins the group whose largest tensor is closest to it in size.
local function grouped(lives)
   table.sort(lives, function(a, b) return a.used < b.used end)
   local groups = {}
   for _, life in ipairs(lives) do
      local size = life.tensor:numel()
      local best, distance = nil, math.huge
      if life.used ~= liveness.ALWAYS and size >= SHARED_FROM then
         for _, group in ipairs(groups) do
            local off = math.abs(group.maxSize - size)
            if life.defined > group[#group].used and off < distance then best, distance = group, off end
         end
      end
      if best then
         best[#best + 1], best.maxSize = life, math.max(best.maxSize, size)
      else
         groups[#groups + 1] = { life, maxSize = size }
      end
   end
   return groups
end

local function share_outputs(groups)
   for _, group in ipairs(groups) do
      local storage
      for _, life in ipairs(group) do
         if life.defined == -liveness.ALWAYS then break end
         storage = storage or life.tensor.new(1):storage()
         life.tensor:set(storage)
      end
   end
end

local function each_gradient(net, found)
   net:apply(function(m)
      for parameter, gradient in pairs{ weight = 'gradWeight', bias = 'gradBias' } do
         if m[gradient] then found(m[gradient], m[parameter]) end
      end
   end)
end

-- Empties the parameters' gradients, and records which storages they shared, so that they can be restored.
local function remove_gradients(net)
   local kept = {}
   each_gradient(net, function(gradient)
      if not gradient:storage() then return end
      kept[torch.pointer(gradient)] = { storage = torch.pointer(gradient:storage()), offSet = gradient:storageOffset(),
         size = gradient:storage():size(), stride = gradient:stride() }
      gradient:set()
   end)
   net:apply(function(m)
      function m.getParameters()
         error('getParameters was disabled by optnet (by option removeGradParams=true). '
            .. 'Call optnet.removeOptimization(net) to enable it back.')
      end
   end)
   net.__gradParamsInfo = kept
end

local function return_gradients(net)
   local kept, storages = net.__gradParamsInfo, {}
   if not kept then return end
   each_gradient(net, function(gradient, parameter)
      local was = kept[torch.pointer(gradient)]
      if not was then return end
      storages[was.storage] = storages[was.storage] or gradient.new(was.size):storage()
      gradient:set(storages[was.storage], was.offSet, parameter:size(), was.stride)
   end)
   net:apply(function(m) m.getParameters = nil end)
   net.__gradParamsInfo = nil
end

-- Makes cudnn's layers read their input's sizes again.
local function forget_sizes(net)
   net:apply(function(m)
      if torch.typename(m):find('cudnn') and torch.typename(m.iSize) == 'torch.LongStorage' then m.iSize:fill(0) end
   end)
end

local function no_backward()
   error('Backward pass disabled!\n          You are using inference optimization.\n'
      .. '          Call optnet.removeOptimization(net) to enable backward again')
end

function optnet.optimizeMemory(net, input, opts)
   opts = opts or {}
   if net.__memoryOptimized then
      print(('Skipping memory optimization. Network is already optimized for %s mode.'):format(net.__memoryOptimized))
      return
   end
   local mode = opts.mode or 'inference'
   local out = net:forward(input)
   if mode == 'training' then net:backward(input, utils.recursiveClone(out)) end
   if opts.inplace ~= false then work_in_place(net) end
   if opts.reuseBuffers ~= false then share_buffers(net, mode) end
   if opts.removeGradParams ~= false and mode ~= 'training' then remove_gradients(net) end
   share_outputs(grouped(liveness.of(net, input, mode)))
   if mode == 'inference' then net:apply(function(m) m.updateGradInput = no_backward end) end
   forget_sizes(net)
   net.__memoryOptimized = mode
end

local function emptied(t)
   if torch.isTensor(t) then
      t:set()
   elseif torch.type(t) == 'table' then
      for _, entry in ipairs(t) do emptied(entry) end
   end
end

function optnet.removeOptimization(net)
   if not net.__memoryOptimized then
      print('Skipping memory optimization removal, as the network was not optimized.')
      return
   end
   net:apply(function(m)
      emptied(m.output)
      emptied(m.gradInput)
      m.updateGradInput = nil
   end)
   each_reused(net, 'all', emptied)
   forget_sizes(net)
   return_gradients(net)
   net.__memoryOptimized = nil
end

return optnet
