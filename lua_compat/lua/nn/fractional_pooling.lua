-- Max pooling of windows at random places, to sizes that need not divide the input's.
local kernel = require('torch.kernels').of_tensors
local whole_numbers = require 'nn.whole_numbers'
local Module = torch.getmetatable('nn.Module')

local function values(self, prefix, axes)
   local list = {}
   for i = #axes, 1, -1 do list[#list + 1] = self[prefix .. axes[i]] end
   return list
end

-- axes: as the constructor names them, the input's last dimension first
local function define_fractional(name, axes)
   local class = torch.class('nn.' .. name, 'nn.Module')
   local count = #axes

   -- window sizes, then output sizes (at least 1) or factors (below 1)
   function class:__init(...)
      Module.__init(self)
      local exact = true
      for i = 1, count do exact = exact and select(count + i, ...) >= 1 end
      for i, axis in ipairs(axes) do
         local window, size = select(i, ...), (select(count + i, ...))
         assert(window >= 2)
         self['poolSize' .. axis] = window
         if exact then
            self['out' .. axis] = size
         else
            assert(size > 0 and size < 1)
            self['ratio' .. axis] = size
         end
      end
      self.newRandomPool = false
   end

   function class:getBufferSize_(input)
      local dims = input:dim()
      if dims ~= count + 1 and dims ~= count + 2 then
         error(('input must be dim %d or %d'):format(count + 1, count + 2))
      end
      local first = dims - count
      return torch.LongStorage{ first == 2 and input:size(1) or 1, input:size(first), count }
   end

   function class:initSampleBuffer_(input)
      local size = self:getBufferSize_(input)
      local samples = self.randomSamples
      local fits = samples and samples:size(1) == size[1] and samples:size(2) == size[2]
      if not fits or not self.newRandomPool then
         self.randomSamples = (samples or input.new()):resize(size):uniform()
      end
   end

   function class:getOutputSizes_(input)
      local sizes = {}
      for i, axis in ipairs(axes) do
         local ratio = self['ratio' .. axis]
         sizes[i] = ratio and math.floor(input:size(input:dim() + 1 - i) * ratio) or self['out' .. axis]
         assert(sizes[i] > 0, 'reduction ratio or input size too small')
      end
      return unpack(sizes)
   end

   -- Whether the places stay as they are from now on.
   function class:fixPoolingRegions(fixed)
      self.newRandomPool = fixed == nil or fixed
      return self
   end

   function class:updateOutput(input)
      self.indices = whole_numbers.beside(input, self.indices)
      self:initSampleBuffer_(input)
      local numbers = { self:getOutputSizes_(input) }
      for i = 1, math.floor(count / 2) do numbers[i], numbers[count + 1 - i] = numbers[count + 1 - i], numbers[i] end
      for _, window in ipairs(values(self, 'poolSize', axes)) do numbers[#numbers + 1] = window end
      kernel.fractional_max_pooling(self.output, self.indices, input, self.randomSamples, unpack(numbers))
      return self.output
   end

   function class:updateGradInput(input, gradOutput)
      assert(self.randomSamples, 'must call updateOutput/forward first')
      kernel.fractional_max_pooling_grad_input(self.gradInput, input, gradOutput, self.indices, count)
      return self.gradInput
   end

   function class:empty() self:clearState() end
   function class:clearState()
      self.indices, self.randomSamples = nil, nil
      return Module.clearState(self)
   end

   function class:__tostring__()
      local sizes, windows = {}, {}
      for i, axis in ipairs(axes) do
         sizes[i] = ('%d'):format(self['out' .. axis] or self['ratio' .. axis])
         windows[i] = ('%d'):format(self['poolSize' .. axis])
      end
      return ('%s(%s, %s)'):format(torch.type(self), table.concat(sizes, 'x'), table.concat(windows, ','))
   end
end
define_fractional('SpatialFractionalMaxPooling', { 'W', 'H' })
define_fractional('VolumetricFractionalMaxPooling', { 'T', 'W', 'H' })
