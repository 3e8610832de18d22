-- Probe of layers that repositories declared themselves: as probe_models.lua, with parameters' gradients.
-- usage: th probe_repositories.lua FOLDER OUT.t7 [cyclegan]   (any Torch7 runtime)
-- FOLDER holds the repositories' own Lua files, which are not kept here: InstanceNormalization.lua, ShaveImage.lua and
-- TotalVariation.lua of fast-neural-style, CycleGAN.lua (its InstanceNormalization.lua), OneHot.lua of char-rnn,
-- Sampler.lua and KLDPenalty.lua of VAE-Torch, TVLoss.lua (from neural-style), Upsample.lua (SpatialConvolutionUpsample
-- of deepmask); and the folder dpnn.
require 'nn'
torch.setdefaulttensortype('torch.DoubleTensor')
torch.manualSeed(1)
table.unpack = table.unpack or unpack
local folder, out, cyclegan = arg[1], arg[2], arg[3]
local function declare(name) dofile(folder .. '/' .. name .. '.lua') end
local function randn(...) return torch.randn(...) end
local records = {}
local function copy(value)
   if torch.isTensor(value) then return value:clone() end
   local copies = {}
   for k, inner in ipairs(value) do copies[k] = copy(inner) end
   return copies
end
local function random_like(value)
   if torch.isTensor(value) then return torch.randn(value:size()) end
   local list = {}
   for k, inner in ipairs(value) do list[k] = random_like(inner) end
   return list
end
local function record(name, module, input, random)
   module:training()
   local parameters, gradients = module:parameters()
   for _, parameter in ipairs(parameters or {}) do parameter:normal() end
   local r = { name = name, module = module:clone(), input = copy(input), random = random or false }
   local output = module:forward(input)
   r.output, r.gradOutput = copy(output), random_like(output)
   if name ~= 'OneHot' then
      module:zeroGradParameters()
      r.gradInput = copy(module:backward(input, copy(r.gradOutput)))
      r.gradients = copy(gradients or {})
   end
   records[#records + 1] = r
end

local function record_normalization(file)
   declare(file)
   local norm = nn.InstanceNormalization(3)
   norm:forward(randn(2, 3, 4, 5))
   record(file, norm, randn(2, 3, 4, 5))
   norm:clearState()
   record(file .. ' after clearState', norm, randn(1, 3, 4, 5))
end
if cyclegan then -- its class has the name of another one
   record_normalization('CycleGAN')
   record('CycleGAN without parameters', nn.InstanceNormalization(3, 1e-3, 0, false), randn(2, 3, 4, 5))
   torch.save(out, records)
   return
end
record_normalization('InstanceNormalization')
for _, name in ipairs{ 'ShaveImage', 'TotalVariation', 'OneHot', 'Sampler', 'KLDPenalty', 'TVLoss', 'Upsample' } do
   declare(name)
end
record('ShaveImage', nn.ShaveImage(1), randn(2, 3, 5, 6))
record('TotalVariation', nn.TotalVariation(0.3), randn(2, 3, 5, 6))
record('TVLoss', nn.TVLoss(0.7), randn(3, 5, 6))
record('OneHot', OneHot(4):float():double(), torch.Tensor{ 1, 4, 2, 2 })
record('KLDPenalty', nn.KLDPenalty(), { randn(2, 3), randn(2, 3) })
record('Sampler', nn.Sampler(), { randn(2, 3), randn(2, 3) }, true)
record('Upsample', nn.SpatialConvolutionUpsample(2, 3, 3, 3, 2), randn(2, 2, 4, 5))
local pool = nn.SpatialMaxPooling(2, 2, 2, 2)
record('unpooling', nn.Sequential():add(pool):add(nn.Tanh()):add(nn.SpatialMaxUnpooling(pool)), randn(2, 3, 4, 7))
package.path = folder .. '/?.lua;' .. folder .. '/?/init.lua;' .. package.path
local ok, problem = pcall(require, 'dpnn')
assert(ok, problem)
record('Inception', nn.Inception{ inputSize = 4, kernelSize = { 3, 5 }, kernelStride = { 1, 1 }, outputSize = { 2, 3 },
   reduceSize = { 2, 2, 3, 2 }, pool = nn.SpatialMaxPooling(3, 3, 1, 1, 1, 1), batchNorm = true }, randn(2, 4, 6, 7))
torch.save(out, records)
