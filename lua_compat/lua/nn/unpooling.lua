-- The inverse of max pooling: each element goes to where a pooling module found it, all else is zero.
local kernel = require('torch.kernels').of_tensors
local Module = torch.getmetatable('nn.Module')

for pooling_name, axes in pairs{ SpatialMaxPooling = { H = 'height', W = 'width' },
   VolumetricMaxPooling = { T = 'time', H = 'height', W = 'width' } } do
   local class = torch.class('nn.' .. pooling_name:gsub('Pooling$', 'Unpooling'), 'nn.Module')

   function class:__init(poolingModule)
      Module.__init(self)
      assert(torch.type(poolingModule) == 'nn.' .. pooling_name, ('Argument must be a nn.%s module'):format(pooling_name))
      for axis in pairs(axes) do
         assert(poolingModule['k' .. axis] == poolingModule['d' .. axis],
            "The size of pooling module's kernel must be equal to its stride")
      end
      self.pooling = poolingModule
   end

   -- What is known of the last pooling
   function class:setParams()
      self.indices = self.pooling.indices
      for _, axis in pairs(axes) do self['o' .. axis] = self.pooling['i' .. axis] end
   end

   local function sizes(self)
      if self.otime then return self.otime, self.oheight, self.owidth end
      return self.oheight, self.owidth
   end
   function class:updateOutput(input)
      self:setParams()
      kernel.max_unpooling(self.output, input, self.indices, sizes(self))
      return self.output
   end
   function class:updateGradInput(input, gradOutput)
      self:setParams()
      kernel.max_unpooling_grad_input(self.gradInput, input, gradOutput, self.indices, sizes(self))
      return self.gradInput
   end

   function class:empty() self:clearState() end
   function class:__tostring__() return torch.type(self) .. ' associated to ' .. tostring(self.pooling) end
end
