-- The package cutorch: CUDA's tensor types, devices and streams, on PyTorch's CUDA (lua_compat/runtime/cuda.py) or,
-- with th --cpu-as-cuda, on the CPU. Devices and user streams count from 1; stream 0 is the default stream.
require 'torch'
local types = require 'torch.core.types'
local python = require('th.python').functions
local kernel = require('torch.core.kernels').of_tensors

local problem = python.cuda_why_not()
if problem ~= '' then error(problem, 0) end

io.stderr:write(python.cuda_note())
python.start_device()

cutorch = cutorch or {}

-- The device of a tensor; 0 if it has no elements.
local function device_of(tensor)
   if tensor:nElement() == 0 then return 0 end
   return python.device_name(kernel.tensor_device(tensor))
end

-- The types exist from the start; scripts see them once cutorch is loaded.
for code = 1, types.count do
   local T = types[code]
   if T.device then
      torch[T.name .. 'Tensor'] = torch.getconstructortable(T.tensor)
      torch[T.name .. 'Storage'] = torch.getconstructortable(T.storage)
      torch.getmetatable(T.tensor).getDevice = device_of
      torch.getmetatable(T.storage).getDevice = function(storage)
         return storage:size() == 0 and 0 or device_of(torch.getmetatable(T.tensor).new(storage))
      end
   end
   -- Without pinned memory, copies to and from the device are synchronous.
   local tensor = torch.getmetatable(T.tensor)
   tensor.copyAsync = tensor.copy
end

-- On a device p is the probability of success, so the mean is 1/p; on the host it is that of failure.
for _, type_name in ipairs{ 'Byte', 'Char', 'Short', 'Int', 'Long', 'Half', '', 'Double' } do
   local T = types['Cuda' .. type_name]
   local draw = T.tensor_metatable.geometric
   if draw then
      local function geometric(tensor, p) return draw(tensor, 1 - p) end
      T.tensor_metatable.geometric, T.functions.geometric = geometric, geometric
   end
end

-- cutorch also has MAGMA's functions as methods: t:inverse() is torch.inverse(t).
for _, type_name in ipairs{ 'torch.CudaTensor', 'torch.CudaDoubleTensor' } do
   local tensor = torch.getmetatable(type_name)
   for _, name in ipairs{ 'eig', 'gels', 'gesv', 'inverse', 'potrf', 'potri', 'potrs', 'qr', 'svd', 'symeig' } do
      tensor[name] = torch[name]
   end
end
cutorch.hasHalf = true

-- Devices

cutorch.getDeviceCount, cutorch.getDevice, cutorch.setDevice = python.device_count, python.get_device, python.set_device

local PROPERTIES = { 'name', 'totalGlobalMem', 'freeGlobalMem', 'major', 'minor', 'multiProcessorCount', 'warpSize',
   'maxThreadsPerBlock', 'clockRate', 'computeMode' }
function cutorch.getDeviceProperties(device)
   local values = { python.device_properties(device) }
   local properties = {}
   for i, name in ipairs(PROPERTIES) do properties[name] = values[i] end
   return properties
end

-- Free and total bytes.
function cutorch.getMemoryUsage(device) return python.device_memory(device) end

function cutorch.withDevice(device, f)
   local before = cutorch.getDevice()
   cutorch.setDevice(device)
   local results = { pcall(f) }
   cutorch.setDevice(before)
   if not results[1] then error(results[2], 0) end
   return unpack(results, 2, table.maxn(results))
end

function cutorch.synchronize() python.device_synchronize(false) end
function cutorch._sleep(cycles) python.device_sleep(cycles) end
function cutorch.synchronizeAll() python.device_synchronize(true) end
function cutorch.deviceReset()
   error('cutorch.deviceReset is not available: it would free the memory of every tensor', 2)
end
function cutorch.getRuntimeVersion() return (python.cuda_versions()) end
cutorch.getDriverVersion = cutorch.getRuntimeVersion
function cutorch.hasHalfInstructions() return cutorch.getDeviceProperties().major >= 6 end
cutorch.hasFastHalfInstructions = cutorch.hasHalfInstructions

-- PyTorch returns the memory of collected tensors to its cache, and allows copies between devices, so there is nothing
-- to set.
function cutorch.setHeapTracking() end
function cutorch.isCachingAllocatorEnabled() return true end
function cutorch.setPeerToPeerAccess() end
function cutorch.getPeerToPeerAccess() return true end
local kernels_reach_peers = false
function cutorch.setKernelPeerToPeerAccess(on) kernels_reach_peers = on end
function cutorch.getKernelPeerToPeerAccess() return kernels_reach_peers end
function cutorch.reserveBlasHandles() end
function cutorch.getNumBlasHandles() return 1 end
function cutorch.setBlasHandle() end
function cutorch.getBlasHandle() return 1 end
function cutorch.getState() return {} end

-- Streams

cutorch.reserveStreams, cutorch.getNumStreams = python.reserve_streams, python.stream_count
cutorch.setStream, cutorch.getStream = python.set_stream, python.get_stream
cutorch.streamSynchronize = python.stream_synchronize
function cutorch.setDefaultStream() python.set_stream(0) end

-- Flattens { [device] = { stream, ... }, ... } to device, stream, device, stream...
local function pairs_of(streams)
   local flat = {}
   for device, numbers in pairs(streams) do
      for _, number in ipairs(numbers) do
         flat[#flat + 1] = device
         flat[#flat + 1] = number
      end
   end
   return flat
end
function cutorch.streamWaitForMultiDevice(device, waiting, streams)
   python.stream_wait(device, waiting, unpack(pairs_of(streams)))
end
function cutorch.streamBarrierMultiDevice(streams)
   local flat = pairs_of(streams)
   for i = 1, #flat, 2 do python.stream_wait(flat[i], flat[i + 1], unpack(flat)) end
end
function cutorch.streamWaitFor(waiting, others)
   local device = cutorch.getDevice()
   cutorch.streamWaitForMultiDevice(device, waiting, { [device] = others })
end
function cutorch.streamBarrier(streams) cutorch.streamBarrierMultiDevice{ [cutorch.getDevice()] = streams } end

-- cutorch.Event() records the work issued so far in the current stream; event:waitOn() makes the stream that is then
-- current wait for it.
local Event = torch.class('cutorch.Event')
local dead = {} -- a finaliser may run anywhere, so it calls nothing
function Event:__init()
   local gone
   gone, dead = dead, {}
   python.event_release(unpack(gone))
   self.number = python.event_record()
   self.owner = newproxy(true)
   local number = self.number
   getmetatable(self.owner).__gc = function() dead[#dead + 1] = number end
end
function Event:waitOn() python.event_wait(self.number) end

-- Random numbers. Torch7's own generator, seeded by torch.manualSeed, also fills tensors on a device, so a script draws
-- the same numbers with and without CUDA.
function cutorch.manualSeed(seed)
   torch.manualSeed(seed)
   python.device_seed(seed)
end
cutorch.manualSeedAll = cutorch.manualSeed
function cutorch.seed()
   local seed = torch.seed()
   python.device_seed(seed)
   return seed
end
cutorch.seedAll = cutorch.seed
function cutorch.initialSeed() return torch.initialSeed() end
function cutorch.getRNGState() return torch.getRNGState() end
function cutorch.setRNGState(state) torch.setRNGState(state) end

require 'cutorch.host_memory'

return cutorch
