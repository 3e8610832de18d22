-- nn.SpatialNormalization: subtracts the local mean over all planes, and divides by the local standard deviation.
local Module = torch.getmetatable('nn.Module')

local Normalization = torch.class('nn.SpatialNormalization', 'nn.Module')

-- Sums over all planes with a fixed kernel, repeated for each plane, on an image padded with zeros.
local function summing(planes, kernel, pad_w, pad_h, even_w, even_h)
   local map = nn.SpatialConvolutionMap(nn.tables.oneToOne(planes), kernel:size(2), kernel:size(1))
   for i = 1, map.weight:size(1) do map.weight[i]:copy(kernel) end
   map.bias:zero()
   return nn.Sequential():add(nn.SpatialPadding(pad_w, pad_w - even_w, pad_h, pad_h - even_h)):add(map):add(nn.Sum(1))
      :add(nn.Replicate(planes))
end

local function is_even(size, what)
   if size % 2 ~= 0 then return 0 end
   print(('Warning, kernel %s is even -> not symetric padding'):format(what))
   return 1
end

function Normalization:__init(...)
   Module.__init(self)
   print('<SpatialNormalization> WARNING: this module has been deprecated,')
   print(' please use SpatialContrastiveNormalization instead')
   local args, planes, kernel, threshold = xlua.unpack({ ... }, 'nn.SpatialNormalization',
      'Normalizes the contrast of images by their local mean and standard deviation over all planes',
      { arg = 'nInputPlane', type = 'number', help = 'number of input maps', req = true },
      { arg = 'kernel', type = 'torch.Tensor | table', help = 'a KxK filtering kernel or two {1xK, Kx1} 1D kernels' },
      { arg = 'threshold', type = 'number', help = 'threshold, for division [default = adaptive]' })
   if not kernel then xerror('please provide kernel(s)', 'nn.SpatialNormalization', args.usage) end
   self.kernel, self.nfeatures, self.fixedThres = kernel, planes, threshold
   local kernels = type(kernel) == 'table' and { kernel[1], kernel[2] } or { kernel }
   self.pad2W, self.pad2H, self.ker2WisPair, self.ker2HisPair = 0, 0, 0, 0
   for i, each in ipairs(kernels) do
      each:div(each:sum())
      local n = i == 2 and '2' or ''
      self['pad' .. n .. 'W'], self['pad' .. n .. 'H'] = math.floor(each:size(2) / 2), math.floor(each:size(1) / 2)
      self['ker' .. n .. 'WisPair'] = is_even(each:size(2), 'width')
      self['ker' .. n .. 'HisPair'] = is_even(each:size(1), 'height')
   end
   local function whole()
      local first = summing(planes, kernels[1], self.padW, self.padH, self.kerWisPair, self.kerHisPair)
      if not kernels[2] then return first end
      return nn.Sequential():add(first)
         :add(summing(planes, kernels[2], self.pad2W, self.pad2H, self.ker2WisPair, self.ker2HisPair))
   end
   self.convo, self.convostd = whole(), whole()
   self.squareMod, self.sqrtMod, self.subtractMod = nn.Square(), nn.Sqrt(), nn.CSubTable()
   self.meanDiviseMod, self.stdDiviseMod, self.diviseMod = nn.CDivTable(), nn.CDivTable(), nn.CDivTable()
   self.thresMod = nn.Threshold()
   self.coef = torch.Tensor(1, 1)
   for _, field in ipairs{ 'inConvo', 'inMean', 'inputZeroMean', 'inputZeroMeanSq', 'inConvoVar', 'inVar', 'inStdDev',
      'thstd' } do
      self[field] = torch.Tensor()
   end
end

local function as_planes(input)
   return input:dim() == 2 and input:clone():resize(1, input:size(1), input:size(2)) or input
end

function Normalization:updateOutput(given)
   local input = as_planes(given)
   self.input = input
   -- the sum of the kernel at each pixel, less at the borders (sic: compared as if it had no planes)
   if input:size(3) ~= self.coef:size(2) or input:size(2) ~= self.coef:size(1) then
      local ones = input.new(self.nfeatures, input:size(2), input:size(3)):fill(1)
      self.coef = self.convo:updateOutput(ones):clone()
   end
   self.inConvo = self.convo:updateOutput(input)
   self.inMean = self.meanDiviseMod:updateOutput{ self.inConvo, self.coef }
   self.inputZeroMean = self.subtractMod:updateOutput{ input, self.inMean }
   self.inputZeroMeanSq = self.squareMod:updateOutput(self.inputZeroMean)
   self.inConvoVar = self.convostd:updateOutput(self.inputZeroMeanSq)
   self.inStdDevNotUnit = self.sqrtMod:updateOutput(self.inConvoVar)
   self.inStdDev = self.stdDiviseMod:updateOutput{ self.inStdDevNotUnit, self.coef }
   local threshold = self.fixedThres or math.max(self.inStdDev:mean(), 1e-3)
   self.thresMod.threshold, self.thresMod.val = threshold, threshold
   self.stdDev = self.thresMod:updateOutput(self.inStdDev)
   self.output = self.diviseMod:updateOutput{ self.inputZeroMean, self.stdDev }
   return self.output
end

function Normalization:updateGradInput(given, gradOutput)
   local input = as_planes(given)
   self.input = input
   self.gradInput:resizeAs(input):zero()
   local centered, deviation = unpack(self.diviseMod:updateGradInput({ self.inputZeroMean, self.stdDev }, gradOutput))
   deviation = self.thresMod:updateGradInput(self.inStdDev, deviation)
   deviation = self.stdDiviseMod:updateGradInput({ self.inStdDevNotUnit, self.coef }, deviation)[1]
   deviation = self.sqrtMod:updateGradInput(self.inConvoVar, deviation)
   local squares = self.convostd:updateGradInput(self.inputZeroMeanSq, deviation)
   centered:add(self.squareMod:updateGradInput(self.inputZeroMean, squares))
   local direct, mean = unpack(self.subtractMod:updateGradInput({ input, self.inMean }, centered))
   mean = self.meanDiviseMod:updateGradInput({ self.inConvo, self.coef }, mean)[1]
   self.gradInput:add(direct):add(self.convo:updateGradInput(input, mean))
   return self.gradInput
end

