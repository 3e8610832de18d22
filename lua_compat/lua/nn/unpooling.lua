-- The inverse of max pooling: each element goes to where a pooling module found it, all else is zero.
local kernel = require('torch.kernels').of_tensors
local Module = torch.getmetatable('nn.Module')

-- axes: along them windows must not overlap. copied: own field, the pooling's field it comes from...; the kernel's
-- numbers in their order.
local function define_unpooling(name, pooling_name, axes, copied, kernel_name)
   local class = torch.class('nn.' .. name, 'nn.Module')

   function class:__init(poolingModule)
      Module.__init(self)
      assert(torch.type(poolingModule) == pooling_name, 'Argument must be a ' .. pooling_name .. ' module')
      for _, axis in ipairs(axes) do
         assert(poolingModule['k' .. axis] == poolingModule['d' .. axis],
            "The size of pooling module's kernel must be equal to its stride")
      end
      self.pooling = poolingModule
   end

   -- What is known of the last pooling
   function class:setParams()
      self.indices = self.pooling.indices
      for i = 1, #copied, 2 do self[copied[i]] = self.pooling[copied[i + 1]] end
   end
   local function numbers(self)
      local list = {}
      for i = 1, #copied, 2 do list[#list + 1] = self[copied[i]] end
      return unpack(list)
   end

   function class:updateOutput(input)
      self:setParams()
      kernel[kernel_name](self.output, input, self.indices, numbers(self))
      return self.output
   end
   function class:updateGradInput(input, gradOutput)
      self:setParams()
      kernel[kernel_name .. '_grad_input'](self.gradInput, input, gradOutput, self.indices, numbers(self))
      return self.gradInput
   end

   function class:empty() self:clearState() end
   function class:__tostring__() return ('nn.%s associated to %s'):format(name, tostring(self.pooling)) end
end
define_unpooling('SpatialMaxUnpooling', 'nn.SpatialMaxPooling', { 'W', 'H' },
   { 'owidth', 'iwidth', 'oheight', 'iheight' }, 'max_unpooling')
define_unpooling('VolumetricMaxUnpooling', 'nn.VolumetricMaxPooling', { 'T', 'W', 'H' },
   { 'otime', 'itime', 'owidth', 'iwidth', 'oheight', 'iheight', 'dT', 'dT', 'dW', 'dW', 'dH', 'dH', 'padT', 'padT',
   'padW', 'padW', 'padH', 'padH' }, 'volumetric_max_unpooling')
