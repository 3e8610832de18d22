-- Images normalised by their neighbourhood, weighted by a kernel: a matrix, or a vector for rows and columns.
local Module = torch.getmetatable('nn.Module')

local function check_kernel(self, kernel)
   self.kernel = kernel or torch.Tensor(9, 9):fill(1)
   local name, dims = torch.type(self):gsub('^nn%.', ''), self.kernel:dim()
   if dims ~= 1 and dims ~= 2 then error(('<%s> averaging kernel must be 2D or 1D'):format(name), 3) end
   for d = 1, dims do
      if self.kernel:size(d) % 2 == 0 then error(('<%s> averaging kernel must have ODD dimensions'):format(name), 3) end
   end
end

-- Adds to a Sequential: padding, a convolution of all planes to one whose filters are to be set, and the result once
-- for each plane. What is returned sets the filters: set(filter of the planes [, filter of their sum]).
local function add_average(self, net)
   local kernel, planes = self.kernel, self.nInputPlane
   local height = kernel:size(1)
   local width = kernel:dim() == 2 and kernel:size(2) or height
   local padW, padH = math.floor(width / 2), math.floor(height / 2)
   net:add(nn.SpatialZeroPadding(padW, padW, padH, padH))
   local convolutions
   if kernel:dim() == 2 then
      convolutions = { nn.SpatialConvolution(planes, 1, width, height) }
   else
      convolutions = { nn.SpatialConvolutionMap(nn.tables.oneToOne(planes), width, 1),
         nn.SpatialConvolution(planes, 1, 1, height) }
   end
   for _, convolution in ipairs(convolutions) do net:add(convolution) end
   net:add(nn.Replicate(planes, 1, 3))
   return function()
      for i, convolution in ipairs(convolutions) do
         local weight = i == #convolutions and convolution.weight[1] or convolution.weight
         for plane = 1, planes do weight[plane]:copy(kernel) end
         convolution.bias:zero()
      end
   end
end

-- What the estimator gives for an image of ones: less than 1 at the borders. As a tensor like those it gives for input.
local function border_coefficients(self, input)
   self.ones = self.ones or input.new()
   self._coef = self._coef or input.new()
   local is_batch = input:dim() == 4
   self.ones:resizeAs(is_batch and input[1] or input):fill(1)
   local coefficients = self.meanestimator:updateOutput(self.ones)
   self._coef:resizeAs(coefficients):copy(coefficients)
   if not is_batch then return self._coef end
   local sizes = coefficients:size():totable()
   return self._coef:view(1, unpack(sizes)):expand(input:size(1), unpack(sizes))
end

-- The input minus the average of its neighbourhood
local Subtractive = torch.class('nn.SpatialSubtractiveNormalization', 'nn.Module')

function Subtractive:__init(nInputPlane, kernel)
   Module.__init(self)
   self.nInputPlane = nInputPlane or 1
   check_kernel(self, kernel)
   self.kernel:div(self.kernel:sum() * self.nInputPlane)
   self.meanestimator = nn.Sequential()
   add_average(self, self.meanestimator)()
   self.subtractor, self.divider = nn.CSubTable(), nn.CDivTable()
   self.coef = torch.Tensor(1, 1, 1)
end

function Subtractive:updateOutput(input)
   if not (self._inpsz and input:isSize(self._inpsz)) then
      self._inpsz = input:size()
      self.coef = border_coefficients(self, input)
   end
   self.localsums = self.meanestimator:updateOutput(input)
   self.adjustedsums = self.divider:updateOutput{ self.localsums, self.coef }
   self.output = self.subtractor:updateOutput{ input, self.adjustedsums }
   return self.output
end

function Subtractive:updateGradInput(input, gradOutput)
   local difference = self.subtractor:updateGradInput({ input, self.adjustedsums }, gradOutput)
   local average = self.divider:updateGradInput({ self.localsums, self.coef }, difference[2])
   self.gradInput:resizeAs(input):copy(self.meanestimator:updateGradInput(input, average[1]))
   return self.gradInput:add(difference[1])
end

function Subtractive:clearState()
   self._inpsz = nil
   nn.utils.clear(self, 'ones', '_coef')
   self.meanestimator:clearState()
   return Module.clearState(self)
end

-- The input divided by the root of the average square of its neighbourhood; averages up to threshold count as thresval
local Divisive = torch.class('nn.SpatialDivisiveNormalization', 'nn.Module')

function Divisive:__init(nInputPlane, kernel, threshold, thresval)
   Module.__init(self)
   self.nInputPlane = nInputPlane or 1
   self.threshold = threshold or 1e-4
   self.thresval = thresval or threshold or 1e-4
   check_kernel(self, kernel)
   self.meanestimator = nn.Sequential()
   local set_mean = add_average(self, self.meanestimator)
   self.stdestimator = nn.Sequential():add(nn.Square())
   local set_square = add_average(self, self.stdestimator)
   self.stdestimator:add(nn.Sqrt())
   local planes = self.kernel:dim() == 2 and self.nInputPlane or math.sqrt(self.nInputPlane)
   self.kernel:div(self.kernel:sum() * planes)
   set_mean()
   set_square()
   self.normalizer, self.divider = nn.CDivTable(), nn.CDivTable()
   self.thresholder = nn.Threshold(self.threshold, self.thresval)
   self.coef = torch.Tensor(1, 1, 1)
end

function Divisive:updateOutput(input)
   self.localstds = self.stdestimator:updateOutput(input)
   if not self.coef:isSameSizeAs(self.localstds) then self.coef = border_coefficients(self, input) end
   self.adjustedstds = self.divider:updateOutput{ self.localstds, self.coef }
   self.thresholdedstds = self.thresholder:updateOutput(self.adjustedstds)
   self.output = self.normalizer:updateOutput{ input, self.thresholdedstds }
   return self.output
end

function Divisive:updateGradInput(input, gradOutput)
   local quotient = self.normalizer:updateGradInput({ input, self.thresholdedstds }, gradOutput)
   local adjusted = self.thresholder:updateGradInput(self.adjustedstds, quotient[2])
   local deviation = self.divider:updateGradInput({ self.localstds, self.coef }, adjusted)
   self.gradInput:resizeAs(input):copy(self.stdestimator:updateGradInput(input, deviation[1]))
   return self.gradInput:add(quotient[1])
end

function Divisive:clearState()
   nn.utils.clear(self, 'ones', '_coef')
   self.meanestimator:clearState()
   self.stdestimator:clearState()
   return Module.clearState(self)
end

-- One after the other
local Contrastive = torch.class('nn.SpatialContrastiveNormalization', 'nn.Module')

function Contrastive:__init(nInputPlane, kernel, threshold, thresval)
   Module.__init(self)
   self.nInputPlane = nInputPlane or 1
   self.threshold = threshold or 1e-4
   self.thresval = thresval or threshold or 1e-4
   check_kernel(self, kernel)
   self.normalizer = nn.Sequential()
   self.normalizer:add(nn.SpatialSubtractiveNormalization(self.nInputPlane, self.kernel))
   self.normalizer:add(nn.SpatialDivisiveNormalization(self.nInputPlane, self.kernel, self.threshold, self.thresval))
end
function Contrastive:updateOutput(input)
   self.output = self.normalizer:forward(input)
   return self.output
end
function Contrastive:updateGradInput(input, gradOutput)
   self.gradInput = self.normalizer:backward(input, gradOutput)
   return self.gradInput
end
