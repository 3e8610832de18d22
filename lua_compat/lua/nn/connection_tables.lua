-- nn.tables: which input plane goes to which output plane, as connections x (input, output); convolutions with them.
local kernel = require('torch.kernels').of_tensors
local Module = torch.getmetatable('nn.Module')

nn.tables = nn.tables or {}

-- Every input plane to every output plane
function nn.tables.full(nin, nout)
   local t = torch.Tensor(nin * nout, 2)
   for o = 1, nout do
      for i = 1, nin do
         local row = t[(o - 1) * nin + i]
         row[1], row[2] = i, o
      end
   end
   return t
end

function nn.tables.oneToOne(nfeat)
   local planes = torch.range(1, nfeat):view(-1, 1)
   return torch.cat(planes, planes, 2)
end

-- Each output plane from nto input planes: consecutive ones of a random order, a new one when they are used up
function nn.tables.random(nin, nout, nto)
   local t = torch.Tensor(nto * nout, 2)
   local order = torch.randperm(nin)
   local chunks, used = math.floor(nin / nto), 0
   for o = 1, nout do
      local rows = t:narrow(1, (o - 1) * nto + 1, nto)
      rows:select(2, 1):copy(order:narrow(1, used * nto + 1, nto))
      rows:select(2, 2):fill(o)
      used = used + 1
      if used == chunks then
         order:copy(torch.randperm(nin))
         used = 0
      end
   end
   return t
end

-- full: wherever image and kernel overlap
local function define(name, full)
   local class = torch.class('nn.' .. name, 'nn.Module')

   function class:__init(conMatrix, kW, kH, dW, dH)
      Module.__init(self)
      self.kW, self.kH, self.dW, self.dH = kW, kH, dW or 1, dH or 1
      self.connTable = conMatrix
      self.nInputPlane, self.nOutputPlane = conMatrix:select(2, 1):max(), conMatrix:select(2, 2):max()
      for _, field in ipairs{ 'weight', 'gradWeight' } do self[field] = torch.Tensor(conMatrix:size(1), kH, kW) end
      for _, field in ipairs{ 'bias', 'gradBias' } do self[field] = torch.Tensor(self.nOutputPlane) end
      self:reset()
   end

   -- By default each output plane within 1 / sqrt of how many elements it is made of
   function class:reset(stdv)
      if stdv then
         stdv = stdv * math.sqrt(3)
         self.weight:uniform(-stdv, stdv)
         self.bias:uniform(-stdv, stdv)
         return
      end
      local outputs, inputs_of = self.connTable:select(2, 2):totable(), {}
      for _, o in ipairs(outputs) do inputs_of[o] = (inputs_of[o] or 0) + 1 end
      local function spread(o) return 1 / math.sqrt(self.kW * self.kH * (inputs_of[o] or 0)) end
      for k, o in ipairs(outputs) do self.weight:select(1, k):uniform(-spread(o), spread(o)) end
      for o = 1, self.nOutputPlane do self.bias[o] = torch.uniform(-spread(o), spread(o)) end
   end

   function class:updateOutput(input)
      kernel.mapped_convolution(self.output, input, self.weight, self.bias, self.connTable, self.dW, self.dH, full)
      return self.output
   end
   function class:updateGradInput(input, gradOutput)
      kernel.mapped_convolution_grad_input(self.gradInput, input, gradOutput, self.weight, self.bias, self.connTable,
         self.dW, self.dH, full)
      return self.gradInput
   end
   function class:accGradParameters(input, gradOutput, scale)
      kernel.mapped_convolution_grad_parameters(self.gradWeight, self.gradBias, input, gradOutput, self.weight,
         self.bias, self.connTable, self.dW, self.dH, full, scale or 1)
   end
   return class
end

local Map = define('SpatialConvolutionMap', false)
function Map:decayParameters(decay)
   self.weight:add(-decay, self.weight)
   self.bias:add(-decay, self.bias)
end

define('SpatialFullConvolutionMap', true)
