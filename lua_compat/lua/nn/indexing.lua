-- Elements chosen by indices or a mask that come with the input, and indices as vectors.
local Module = torch.getmetatable('nn.Module')
local whole_numbers = require 'nn.whole_numbers'

-- input { tensor, indices along dimension }
local Index = torch.class('nn.Index', 'nn.Module')
function Index:__init(dimension)
   Module.__init(self)
   self.dimension = dimension
   self.gradInput = { self.gradInput, self.gradInput.new() }
end
function Index:updateOutput(input)
   self.output:index(input[1], self.dimension, input[2])
   return self.output
end
function Index:updateGradInput(input, gradOutput)
   self.gradInput[1]:resizeAs(input[1]):zero():indexAdd(self.dimension, input[2], gradOutput)
   self.gradInput[2]:resize(input[2]:size()):zero()
   return self.gradInput
end
function Index:clearState()
   self.gradInput[1]:set()
   self.gradInput[2]:set()
   self.output:set()
   return self
end

-- input { tensor, ByteTensor that is 1 where an element is wanted }
local MaskedSelect = torch.class('nn.MaskedSelect', 'nn.Module')
function MaskedSelect:__init()
   Module.__init(self)
   self._maskIndices = torch.LongTensor()
   self._maskIndexBuffer = torch.LongTensor()
   self._maskIndexBufferCPU = torch.FloatTensor()
   self._gradBuffer = torch.Tensor()
   self._gradMask = torch.ByteTensor()
end
function MaskedSelect:updateOutput(input)
   self.output:maskedSelect(input[1], input[2])
   return self.output
end
function MaskedSelect:updateGradInput(input, gradOutput)
   local t, mask = unpack(input)
   self._gradBuffer:resize(t:size()):zero():maskedCopy(mask, gradOutput)
   self.gradInput = { self._gradBuffer, self._gradMask:resize(mask:size()):zero() }
   return self.gradInput
end
-- The indices and the mask keep their types.
function MaskedSelect:type(name)
   if not name then return self._type end
   for _, field in ipairs{ '_gradBuffer', 'gradInput', 'output' } do
      if torch.isTensor(self[field]) then self[field] = self[field]:type(name) end
   end
   if torch.type(self.gradInput) == 'table' then self.gradInput = { self._gradBuffer, self._gradMask } end
   self._type = name
   return self
end
function MaskedSelect:clearState()
   return nn.utils.clear(self, 'output', 'gradInput', '_maskIndexBuffer', '_maskIndexBufferCPU', '_maskIndices',
      '_gradBuffer', '_gradMask')
end

-- Classes, from 1, or a class as a number, each as a vector that is 1 at the class
local OneHot = torch.class('nn.OneHot', 'nn.Module')
function OneHot:__init(outputSize)
   Module.__init(self)
   self.outputSize = outputSize
end
function OneHot:updateOutput(input)
   local sizes = {}
   if type(input) == 'number' then
      input = torch.LongTensor{ input }
   else
      sizes = input:size():totable()
   end
   sizes[#sizes + 1] = self.outputSize
   self.output:resize(unpack(sizes)):zero()
   sizes[#sizes] = 1
   return self.output:scatter(#sizes, whole_numbers.beside(self.output, input):view(unpack(sizes)), 1)
end
function OneHot:updateGradInput(input)
   if type(input) == 'number' then return 0 end
   return self.gradInput:resize(input:size()):zero()
end
function OneHot:clearState()
   self._single, self._input = nil, nil
   return self
end
function OneHot:type(name, cache)
   self:clearState()
   return Module.type(self, name, cache)
end
