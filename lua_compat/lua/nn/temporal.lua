-- Sequences: input (batch x) frames x features.
local layer = require 'nn.layer'
local Module = torch.getmetatable('nn.Module')

layer.with_parameters{ name = 'TemporalConvolution', f = 'temporal_convolution',
   init = function(self, inputFrameSize, outputFrameSize, kW, dW)
      layer.fields(self, { 'inputFrameSize', 'outputFrameSize', 'kW', 'dW' }, inputFrameSize, outputFrameSize, kW,
         dW or 1)
   end,
   weight = function(self) return self.outputFrameSize, self.inputFrameSize * self.kW end,
   bias = function(self) return self.outputFrameSize end,
   fan_in = function(self) return self.kW * self.inputFrameSize end,
   arguments = function(self) return self.kW, self.dW end }

layer.with_parameters{ name = 'TemporalSubSampling', f = 'temporal_subsampling',
   init = function(self, inputFrameSize, kW, dW)
      layer.fields(self, { 'inputFrameSize', 'kW', 'dW' }, inputFrameSize, kW, dW or 1)
   end,
   weight = function(self) return self.inputFrameSize end, bias = function(self) return self.inputFrameSize end,
   fan_in = function(self) return self.kW end,
   arguments = function(self) return self.kW, self.dW end }

layer.with_parameters{ name = 'TemporalRowConvolution', f = 'temporal_row_convolution',
   init = function(self, inputFrameSize, kW, dW, featFirst)
      layer.fields(self, { 'inputFrameSize', 'kW', 'dW', 'featFirst' }, inputFrameSize, kW, dW or 1,
         featFirst and true or false)
   end,
   weight = function(self) return self.inputFrameSize, 1, self.kW end,
   bias = function(self) return self.inputFrameSize end,
   fan_in = function(self) return self.kW * self.inputFrameSize end,
   arguments = function(self) return self.dW, self.featFirst end,
   text = function(self)
      return ('(%d, %d%s)'):format(self.inputFrameSize, self.kW, self.dW ~= 1 and ', ' .. self.dW or '')
         .. (self.bias and '' or ' without bias')
   end }

local MaxPooling = layer.plain{ name = 'TemporalMaxPooling', f = 'temporal_max_pooling',
   init = function(self, kW, dW) self.kW, self.dW = kW, dW or kW end,
   arguments = function(self) return self.kW, self.dW end }
function MaxPooling:empty() self:clearState() end

-- The k largest values of each feature in their order; k: the larger of minK and factor times the number of frames
local KMax = torch.class('nn.TemporalDynamicKMaxPooling', 'nn.Module')
function KMax:__init(minK, factor)
   Module.__init(self)
   self.minK, self.factor = minK, factor or 0
end
function KMax:updateOutput(input)
   local d = input:dim() - 1
   assert(d == 1 or d == 2, 'Only 2D or 3D(batch mode) accepted')
   local frames = input:size(d)
   local k = math.max(self.minK, math.ceil(self.factor * frames))
   assert(frames >= self.minK, ('Input sequence length (%s) too small for desired k value (%s)'):format(frames, k))
   local _, order = input:sort(d, true)
   self.indices = order:narrow(d, 1, k):sort(d)
   self.output = input:gather(d, self.indices)
   return self.output
end
function KMax:updateGradInput(input, gradOutput)
   if not self.gradInput then return end
   return self.gradInput:resizeAs(input):zero():scatter(input:dim() - 1, self.indices, gradOutput)
end
function KMax:clearState()
   nn.utils.clear(self, 'indices')
   return Module.clearState(self)
end
