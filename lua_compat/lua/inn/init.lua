-- The package inn (imagine-nn): pooling of regions, stochastic pooling, spatial pyramids, and names that older models
-- use. Its pooling runs on tensors of any device.
require 'nn'
local kernel = require('torch.core.kernels').of_tensors

inn = inn or {}

-- Defines inn's class of that name by define(class, parent).
local function class(name, parent, define)
   inn[name] = define(torch.class('inn.' .. name, parent)) or inn[name]
end

for _, name in ipairs{ 'SpatialMaxPooling', 'SpatialAveragePooling' } do
   local Pooling, parent = torch.class('inn.' .. name, 'nn.' .. name)
   function Pooling:__init(...)
      parent.__init(self, ...)
      self:ceil()
   end
   function Pooling:updateOutput(input)
      self.ceil_mode = true
      return parent.updateOutput(self, input)
   end
end

torch.class('inn.SpatialCrossResponseNormalization', 'nn.SpatialCrossMapLRN')

-- x / (1 + alpha * the mean of the squares around it)^beta, within each plane
class('SpatialSameResponseNormalization', 'nn.Sequential', function(SameResponse)
   local parent = nn.Sequential
   function SameResponse:__init(size, alpha, beta)
      parent.__init(self)
      self.size, self.alpha, self.beta = size or 3, alpha or 5e-5, beta or 0.75
      local around = math.floor(self.size / 2)
      local divisor = nn.Sequential():add(nn.Square())
         :add(nn.SpatialAveragePooling(self.size, self.size, 1, 1, around, around))
         :add(nn.MulConstant(self.alpha, true)):add(nn.AddConstant(1, true)):add(nn.Power(self.beta))
      self:add(nn.ConcatTable():add(nn.Identity()):add(divisor)):add(nn.CDivTable())
   end
end)

-- Subtracts a mean image from every image.
class('MeanSubtraction', 'nn.Module', function(MeanSubtraction)
   function MeanSubtraction:__init(mean)
      nn.Module.__init(self)
      self.mean = assert(mean, 'MeanSubtraction needs a mean')
   end
   function MeanSubtraction:updateOutput(input)
      local mean = self.mean
      if mean:dim() == 4 then mean = mean[1] end
      if input:dim() == 4 then mean = mean:view(1, input:size(2), input:size(3), input:size(4)):expandAs(input) end
      self.output:resizeAs(input):copy(input):add(-1, mean)
      return self.output
   end
   function MeanSubtraction:updateGradInput(_, gradOutput)
      self.gradInput = gradOutput
      return gradOutput
   end
end)

-- a * x + b for each plane, with fixed a and b
class('ConstAffine', 'nn.Module', function(ConstAffine)
   function ConstAffine:__init(nOutputPlane)
      nn.Module.__init(self)
      self.a, self.b, self.inplace = torch.Tensor(nOutputPlane), torch.Tensor(nOutputPlane), false
      self:reset()
   end
   function ConstAffine:reset()
      self.a:fill(1)
      self.b:zero()
   end
   local function per_plane(t, input)
      if input:dim() ~= 2 and input:dim() ~= 4 then error('Unsupported dimension', 3) end
      local size = torch.LongStorage(input:dim()):fill(1)
      size[2] = t:nElement()
      return t:view(size):expandAs(input)
   end
   function ConstAffine:updateOutput(input)
      if self.inplace then self.output:set(input) else self.output:resizeAs(input):copy(input) end
      return self.output:cmul(per_plane(self.a, input)):add(per_plane(self.b, input))
   end
   function ConstAffine:updateGradInput(input, gradOutput)
      if self.inplace then
         self.gradInput:set(gradOutput)
      else
         self.gradInput:resizeAs(gradOutput):copy(gradOutput)
      end
      return self.gradInput:cmul(per_plane(self.a, input))
   end
end)

-- Maxima over grids of several sizes, concatenated: SpatialPyramidPooling({ w, h }, { w, h }...)
class('SpatialPyramidPooling', 'nn.Concat', function(Pyramid)
   function Pyramid:__init(...)
      nn.Concat.__init(self, 1)
      local levels = { ... }
      self.pyr = type(levels[1][1]) == 'table' and levels[1] or levels
      for _, size in ipairs(self.pyr) do
         nn.Concat.add(self, nn.Sequential():add(nn.SpatialAdaptiveMaxPooling(size[1], size[2]))
            :add(nn.View(-1):setNumInputDims(3)):add(nn.Contiguous()))
      end
   end
   function Pyramid:updateOutput(input)
      assert(input:dim() == 4 or input:dim() == 3, 'unsupported dimensionality')
      self.dimension = input:dim() - 2
      return nn.Concat.updateOutput(self, input)
   end
end)

-- Maxima over W x H cells of regions; the input is { images, rows of image, x1, y1, x2, y2 }.
class('ROIPooling', 'nn.Module', function(ROIPooling)
   function ROIPooling:__init(W, H, spatial_scale)
      nn.Module.__init(self)
      assert(W and H, 'W and H have to be provided')
      self.W, self.H, self.spatial_scale = W, H, spatial_scale or 1
      self.gradInput, self.indices, self.v2 = {}, torch.Tensor(), true
   end
   function ROIPooling:setSpatialScale(scale)
      self.spatial_scale = scale
      return self
   end
   function ROIPooling:updateOutput(input)
      assert(#input == 2)
      kernel.pool_regions(self.output, self.indices, input[1], input[2], self.W, self.H, self.spatial_scale,
         not self.v2)
      return self.output
   end
   function ROIPooling:updateGradInput(input, gradOutput)
      self.gradInput_boxes = self.gradInput_boxes or input[1].new()
      self.gradInput_rois = (self.gradInput_rois or input[1].new()):resizeAs(input[2]):zero()
      kernel.pool_regions_gradient(self.gradInput_boxes, self.indices, input[1], input[2], gradOutput)
      self.gradInput = { self.gradInput_boxes, self.gradInput_rois }
      return self.gradInput
   end
   function ROIPooling:clearState()
      nn.utils.clear(self, 'gradInput_rois', 'gradInput_boxes', 'indices')
      return nn.Module.clearState(self)
   end
end)

-- In training, a pixel of each window, drawn with its value as weight; in evaluation, the expected value of that.
class('SpatialStochasticPooling', 'nn.SpatialMaxPooling', function(Stochastic)
   function Stochastic:__init(kW, kH, dW, dH)
      nn.SpatialMaxPooling.__init(self, kW, kH, dW, dH)
      self.train = true
   end
   local function as_batch(t) return t:dim() == 3 and t:view(1, t:size(1), t:size(2), t:size(3)) or t end
   local function output_size(input, k, d, dimension) return math.ceil((input:size(dimension) - k) / d) + 1 end
   function Stochastic:updateOutput(input)
      local images = as_batch(input)
      local kW, kH, dW, dH = self.kW, self.kH, self.dW, self.dH
      self.indices = torch.isTypeOf(self.indices, 'torch.LongTensor') and input.new() or self.indices
      self.indices:resize(images:size(1), images:size(2), output_size(images, kH, dH, 3),
         output_size(images, kW, dW, 4))
      self.indices:uniform(0, 1)
      if self.train then
         kernel.stochastic_choice(self.output, self.indices, images, self.indices:clone(), kW, kH, dW, dH)
      else
         kernel.stochastic_average(self.output, images, kW, kH, dW, dH)
      end
      if input:dim() == 3 then self.output:resize(self.output:size(2), self.output:size(3), self.output:size(4)) end
      return self.output
   end
   function Stochastic:updateGradInput(input, gradOutput)
      kernel.stochastic_choice_gradient(self.gradInput, as_batch(input), self.indices, gradOutput)
      self.gradInput:resizeAs(input)
      return self.gradInput
   end
end)

return inn
