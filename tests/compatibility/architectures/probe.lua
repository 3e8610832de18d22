-- Builds one architecture in its repository's folder and records what it computes.
-- usage: th probe.lua OUT.t7 BUILD.lua ROCKS RECORD.lua   (in the repository's folder; any Torch7 runtime)
-- ROCKS: a folder of packages in Lua; RECORD.lua: the file record.lua beside this one.
-- BUILD.lua returns a module and its input. There, cudnn's names mean nn's layers on a CPU. Once the net is built,
-- every standard normal or uniform draw is 0.5: what PyTorch draws cannot be what Torch7 draws.
package.path = './?.lua;./?/init.lua;' .. arg[3] .. '/?.lua;' .. arg[3] .. '/?/init.lua;' .. package.path
require 'torch'
require 'nn'
require 'nngraph'
require 'paths'
torch.setdefaulttensortype('torch.DoubleTensor')
torch.manualSeed(1)
math.randomseed(1)
table.unpack = table.unpack or unpack
local out, build = arg[1], arg[2]

-- A machine without a GPU

local function same(self) return self end
local of_nn = setmetatable({ version = 5000, benchmark = false, fastest = false }, { __index = nn })
for name, stand_in in pairs{ cudnn = of_nn, cunn = nn, fbcunn = nn,
   cutorch = { setDevice = same, getDeviceCount = function() return 1 end } } do
   package.loaded[name] = stand_in
   _G[name] = stand_in
end
function of_nn.convert(net) return net end
-- Where cudnn is not told the step of pooling, it is the window's size; it takes any data with whole batches.
for _, name in ipairs{ 'SpatialMaxPooling', 'SpatialAveragePooling' } do
   of_nn[name] = function(kW, kH, dW, dH, ...) return nn[name](kW, kH, dW or kW, dH or kH, ...) end
end
function nn.Module.cuda(self) return self end
torch.getmetatable('torch.DoubleTensor').cuda = same
torch.getmetatable('torch.LongTensor').cuda = same

-- What builders use

function values(...) return torch.randn(...) end

-- Whole numbers from 1 to n.
function indices(n, ...)
   local tensor, k = torch.Tensor(...), 0
   return tensor:apply(function() k = k + 1; return 1 + (k * k + 3 * k) % n end)
end

-- Runs the lines of a script from the one that begins with `first` to the one before `last`, and returns `result`.
function part_of(script, first, last, result)
   local lines, inside = {}, false
   for line in io.lines(script) do
      if line:sub(1, #first) == first then inside = true end
      if last and inside and line:sub(1, #last) == last then break end
      lines[#lines + 1] = inside and line or ''
   end
   return assert(loadstring(table.concat(lines, '\n') .. '\nreturn ' .. result, '@' .. script))()
end

-- Layers work out of place: a layer that overwrites what another one's gradient needs gives Torch7 another gradient,
-- which autograd does not follow (docs/models.md).
function out_of_place(net)
   net:apply(function(m) if m.inplace then m.inplace = false end end)
   return net
end

-- Makes nets whose layers are all divided by `factor` in width.
function narrow(factor)
   local function narrower(n) return type(n) == 'number' and n >= 2 * factor and n % factor == 0 and n / factor or n end
   for name, count in pairs{ SpatialConvolution = 2, SpatialConvolutionMM = 2, SpatialBatchNormalization = 1,
      Linear = 2,
      BatchNormalization = 1, View = 1, Reshape = 1, VolumetricConvolution = 2 } do
      local class = nn[name]
      local init = class.__init
      class.__init = function(self, ...)
         local arguments = { ... }
         local last = (name == 'View' or name == 'Reshape') and select('#', ...) or count
         for i = 1, last do arguments[i] = narrower(arguments[i]) end
         return init(self, unpack(arguments, 1, select('#', ...)))
      end
   end
end

local net, input = assert(loadfile(build))()
torch.save(out, dofile(arg[4])(net, input))
