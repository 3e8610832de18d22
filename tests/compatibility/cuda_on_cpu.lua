-- Runs a script under a Torch7 without a GPU: th cuda_on_cpu.lua SCRIPT ARGUMENTS... CUDA's packages are names for
-- float tensors and nn's layers, as with our th --cpu-as-cuda, so that both can be compared.
local float = torch.FloatTensor

local function as_float(t) return t:float() end
for _, kind in ipairs{ 'Byte', 'Char', 'Short', 'Int', 'Long', 'Float', 'Double' } do
   local metatable = torch.getmetatable(('torch.%sTensor'):format(kind))
   rawset(metatable, 'cuda', as_float)
   rawset(metatable, 'getDevice', function() return 1 end)
   rawset(metatable, 'cudaDouble', function(t) return t:double() end)
   rawset(metatable, 'cudaLong', function(t) return t:long() end)
   rawset(metatable, 'cudaInt', function(t) return t:int() end)
   rawset(metatable, 'cudaByte', function(t) return t:byte() end)
   local plain = metatable.type
   rawset(metatable, 'type', function(t, name, ...)
      if type(name) == 'string' then
         name = name:gsub('^torch%.CudaTensor$', 'torch.FloatTensor'):gsub('^torch%.Cuda(%a+Tensor)$', 'torch.%1')
      end
      return plain(t, name, ...)
   end)
end

package.preload.cutorch = function()
   torch.CudaTensor, torch.CudaStorage = float, torch.FloatStorage
   for _, kind in ipairs{ 'Byte', 'Char', 'Short', 'Int', 'Long', 'Double' } do
      torch['Cuda' .. kind .. 'Tensor'] = torch[kind .. 'Tensor']
   end
   local default = torch.setdefaulttensortype
   function torch.setdefaulttensortype(name) return default((name:gsub('CudaTensor', 'FloatTensor'))) end
   cutorch = {
      manualSeed = torch.manualSeed, manualSeedAll = torch.manualSeed, seed = torch.seed,
      getDevice = function() return 1 end, getDeviceCount = function() return 1 end,
      getMemoryUsage = function() return 2 ^ 33, 2 ^ 34 end,
      getDeviceProperties = function() return { name = 'CPU', totalGlobalMem = 2 ^ 34 } end,
      getRNGState = torch.getRNGState, setRNGState = torch.setRNGState,
      withDevice = function(_, f) return f() end,
      createCudaHostTensor = function(...) return float(...) end,
   }
   setmetatable(cutorch, { __index = function() return function() end end })
   return cutorch
end

package.preload.cunn = function()
   require 'cutorch'
   require 'nn'
   function nn.Module:cuda() return self:float() end
   nn.Criterion.cuda = nn.Module.cuda
   for _, class in ipairs{ nn.Module, nn.Criterion } do
      local plain = class.type
      function class:type(name, ...)
         return plain(self, name == 'torch.CudaTensor' and 'torch.FloatTensor' or name, ...)
      end
   end

   local Parallel, parent = torch.class('nn.DataParallelTable', 'nn.Sequential') -- of one GPU
   function Parallel:__init() parent.__init(self) end
   function Parallel:add(module)
      self.modules[1] = module
      return self
   end
   function Parallel:threads() return self end
   return nn
end

package.preload.cudnn = function()
   require 'cunn'
   cudnn = { benchmark = false, fastest = false, verbose = false, version = 5110 }
   cudnn.SpatialCrossEntropyCriterion = function(weights) return nn.CrossEntropyCriterion(weights) end
   function cudnn.convert(net) return net end
   -- layers of its own name, which nets are searched for; what they do is nn's
   return setmetatable(cudnn, { __index = function(self, name)
      if not nn[name] then return nil end
      local class, parent = torch.class('cudnn.' .. name, 'nn.' .. name)
      -- where cudnn is not told the step of pooling, it is the window's size
      if name == 'SpatialMaxPooling' or name == 'SpatialAveragePooling' then
         function class:__init(kW, kH, dW, dH, ...) parent.__init(self, kW, kH, dW or kW, dH or kH, ...) end
      end
      return rawget(self, name)
   end })
end

local script = table.remove(arg, 1)
arg[0] = script
local chunk = assert(script == '-e' and loadstring(table.remove(arg, 1)) or loadfile(script))
chunk(unpack(arg))
