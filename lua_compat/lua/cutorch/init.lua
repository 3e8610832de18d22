-- The package cutorch: CUDA's tensor types, devices and streams, on PyTorch's CUDA (lua_compat/cuda.py), or with
-- th --cpu-as-cuda on the CPU. Devices and user streams count from 1; stream 0 is the default one.
require 'torch'
local types = require 'torch.types'
local python = require('th.python').functions
local kernel = require('torch.kernels').of_tensors

local problem = python.cuda_why_not()
if problem ~= '' then error(problem, 0) end

if python.cuda_is_cpu() then
   io.stderr:write('th: --cpu-as-cuda: the CPU stands in for a GPU; times are not those of a GPU\n')
end

cutorch = cutorch or {}

-- The device a tensor lies on; 0 without elements.
local function device_of(tensor)
   if tensor:nElement() == 0 then return 0 end
   return kernel.tensor_device(tensor)
end

-- The types exist from the start; scripts see them once cutorch is there.
for code = 1, types.count do
   local T = types[code]
   if T.device then
      torch[T.name .. 'Tensor'] = torch.getconstructortable(T.tensor)
      torch[T.name .. 'Storage'] = torch.getconstructortable(T.storage)
      torch.getmetatable(T.tensor).getDevice = device_of
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
function cutorch.synchronizeAll() python.device_synchronize(true) end
function cutorch.deviceReset() error('cutorch.deviceReset would take the memory of every tensor away', 2) end
function cutorch.getRuntimeVersion() return (python.cuda_versions()) end
cutorch.getDriverVersion = cutorch.getRuntimeVersion
function cutorch.hasHalfInstructions() return cutorch.getDeviceProperties().major >= 6 end
cutorch.hasFastHalfInstructions = cutorch.hasHalfInstructions

-- PyTorch gives a tensor's memory back to its cache when the collector takes the tensor, and lets devices copy from
-- each other: there is nothing to set.
function cutorch.setHeapTracking() end
function cutorch.isCachingAllocatorEnabled() return true end
function cutorch.setPeerToPeerAccess() end
function cutorch.getPeerToPeerAccess() return true end
function cutorch.setKernelPeerToPeerAccess() end
function cutorch.getKernelPeerToPeerAccess() return false end
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
function cutorch.streamWaitFor(waiting, others) python.stream_wait(waiting, unpack(others)) end
function cutorch.streamBarrier(streams)
   for _, stream in ipairs(streams) do python.stream_wait(stream, unpack(streams)) end
end

-- Random numbers: tensors on a device are filled from Torch7's own generator, the one of torch.manualSeed, so that a
-- script draws the same numbers with and without CUDA.
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
cutorch.seedAll, cutorch.initialSeed = cutorch.seed, torch.initialSeed
cutorch.getRNGState, cutorch.setRNGState = torch.getRNGState, torch.setRNGState

-- Tensors of the host; pinned memory is not needed for PyTorch's copies to work.
for _, name in ipairs{ 'Float', 'Double', 'Int', 'Long', 'Byte', 'Half' } do
   cutorch[('createCudaHost%sTensor'):format(name)] = torch[name .. 'Tensor']
end
cutorch.createCudaHostTensor = torch.FloatTensor

return cutorch
