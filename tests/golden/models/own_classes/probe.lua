-- usage: th probe.lua classes.lua OUT.t7   (any Torch7 runtime)
-- A net with classes of its own: what it computes, one step of gradient descent, and what it computes then.
require 'nn'
dofile(arg[1])
torch.setdefaulttensortype('torch.DoubleTensor')
torch.manualSeed(1)
local net = nn.Sequential():add(nn.OneOf(5)):add(nn.Linear(5, 6)):add(nn.RunningCentre(6)):add(nn.Tanh())
   :add(nn.Halves()):add(nn.Gate(nn.Linear(3, 3))):add(nn.Linear(3, 2))
net:getParameters()
local record = { input = torch.Tensor{ 1, 3, 5, 3 }, gradOutput = torch.randn(4, 2) }
local function copy(tensors)
   local copies = {}
   for k, tensor in ipairs(tensors) do copies[k] = tensor:clone() end
   return copies
end
net:training()
record.net = net:clone()
record.output = net:forward(record.input):clone()
net:zeroGradParameters()
net:backward(record.input, record.gradOutput)
local parameters, gradients = net:parameters()
record.gradients = copy(gradients)
net:updateParameters(0.1)
record.parameters = copy(parameters)
record.running = net:get(3).running:clone()
net:evaluate()
record.evaluated = net:forward(record.input):clone()
torch.save(arg[2], record)
