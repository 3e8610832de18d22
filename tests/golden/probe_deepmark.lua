-- Probe of DeepMark's image and video nets: what seed 1 gives for them, at full size, in FloatTensor.
-- usage: th cuda_on_cpu.lua probe_deepmark.lua OUT.t7 (tests/compatibility/cuda_on_cpu.lua: resnet.lua requires cunn)
-- in the folder torch/image+video of a clone of DeepMark/deepmark.
-- For each net: torch.manualSeed(1), build it; torch.manualSeed(2), draw the input with torch.randn; then updateOutput,
-- updateGradInput and accGradParameters with the output itself as gradOutput, as the benchmark does. Dropout, which
-- draws anew, is off; batch normalisation works on the batch.
require 'torch'
require 'nn'
torch.setdefaulttensortype('torch.FloatTensor')

local function digest(tensors) -- what tensors are known by, in double precision
   local found = { first = {}, sum = {}, norm = {} }
   for i, t in ipairs(tensors) do
      local d = t:double()
      found.first[i], found.sum[i], found.norm[i] = d:contiguous():view(-1)[1], d:sum(), d:norm()
   end
   for what, numbers in pairs(found) do found[what] = torch.DoubleTensor(numbers) end
   return found
end

local results = {}
for _, case in ipairs{ { 'alexnet', 2 }, { 'vgg_d', 1 }, { 'resnet', 2 }, { 'inceptionv3', 2 }, { 'c3d', 1 } } do
   collectgarbage()
   local name, batch = unpack(case)
   torch.manualSeed(1)
   local m, size = dofile(name .. '.lua')(batch)
   local r = { name = name, input_size = size, string = tostring(m) }
   for _, module in ipairs(m:listModules()) do
      if torch.isTypeOf(module, 'nn.Dropout') then module.p = 0 end
      module.gradInput = module.gradInput or torch.Tensor() -- the scripts want none of the first layer
   end
   local params, gradParams = m:parameters()
   r.params = digest(params)
   torch.manualSeed(2)
   local input = torch.randn(torch.LongStorage(size))
   r.input = digest{ input }
   m:zeroGradParameters()
   local output = m:updateOutput(input)
   r.output = output:clone()
   local gradOutput = output:clone()
   r.gradInput = digest{ m:updateGradInput(input, gradOutput) }
   m:accGradParameters(input, gradOutput)
   r.gradParams = digest(gradParams)
   results[#results + 1] = r
   print(name, r.output:double():sum(), r.gradInput.norm[1])
end
torch.save(arg[1], results)
