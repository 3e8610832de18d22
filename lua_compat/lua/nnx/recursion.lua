-- nn.SpatialRecursiveFovea: an image at several scales, coarsest first; each is processed together with the result of
-- the previous scale.
local downsampler = require 'nnx.downsampler'
local Module = torch.getmetatable('nn.Module')

local NAME = 'nn.SpatialRecursiveFovea'
local Fovea = torch.class(NAME, 'nn.Module')

local function as_many(list, ratios, what)
   if list[1] and #list ~= #ratios then
      xerror(('the number of %s provided should == the number of ratios (scales): %d'):format(what, #ratios), NAME)
   end
end

function Fovea:__init(...)
   Module.__init(self)
   xlua.unpack_class(self, { ... }, NAME,
      'Processes an image at several scales, the coarsest first, whose results are planes of the next one\'s input. '
      .. 'focus(x, y) looks at one point, focus(nil) at the whole image. Criterions compare each scale\'s result with '
      .. 'a target.',
      { arg = 'nInputPlane', type = 'number', help = 'number of input planes', req = true },
      { arg = 'nRecursivePlane', type = 'number', help = 'number of planes that the next scale gets', req = true },
      { arg = 'ratios', type = 'table', help = 'list of downsampling ratios, in decreasing order', req = true },
      { arg = 'processors', type = 'table', help = 'list of processors (each processor sees a single scale)',
         req = true },
      { arg = 'preProcessors', type = 'table', help = 'list of preprocessors (applied before padding)' },
      { arg = 'postProcessors', type = 'table',
         help = 'list of postprocessors (applied before criterions, and on last stage)' },
      { arg = 'criterions', type = 'table', help = 'list of criterions (applied to each intermediate output)' },
      { arg = 'fov', type = 'number', help = 'field of view (== processors\' receptive field)', default = 1 },
      { arg = 'batchSize', type = 'number',
         help = 'size of mini-batch used when computing gradient [default = fov/sub]' },
      { arg = 'sub', type = 'number', help = 'global subsampling (== processors\' subsampling ratio)', default = 1 },
      { arg = 'scaleTargetValues', type = 'boolean', help = 'scale the target values as well as dimension',
         default = false },
      { arg = 'verbose', type = 'boolean', help = 'prints a lot of information', default = true })
   self.batchSize = self.batchSize or self.fov / self.sub
   for _, field in ipairs{ 'processors', 'preProcessors', 'postProcessors', 'criterions' } do
      self[field] = self[field] or {}
   end
   for _, field in ipairs{ 'downsamplers', 'padders', 'upsamplers', 'upsampledPadders', 'pyramid', 'preProcessed',
      'padded', 'narrowed', 'concatenated', 'processed', 'upsampled', 'upsampledPadded', 'upsampledNarrowed',
      'postProcessed', 'predicted', 'gradPostProcessed', 'gradUpsampledNarrowed', 'gradUpsampledPadded',
      'gradUpsampled', 'gradProcessed', 'gradConcatenated', 'gradNarrowed', 'gradPadded', 'gradPreProcessed',
      'gradPyramid', 'gradPredicted', 'targets_scaled', 'targets' } do
      self[field] = {}
   end
   if #self.processors == 0 then as_many({ true }, self.ratios, 'processors') end
   as_many(self.processors, self.ratios, 'processors')
   as_many(self.preProcessors, self.ratios, 'preProcessors')
   as_many(self.criterions, self.ratios, 'criterions')
   table.sort(self.ratios, function(a, b) return a > b end)
   if self.verbose then print(self) end
end

-- For each scale: the sizes of the image, of the processor's result, and of the input that this needs, with its field
-- of view.
local function sizes(self, fov, sub, width, height)
   local ratios, pyramid, processed, narrowed = self.ratios, {}, {}, {}
   for i = #ratios, 1, -1 do
      local ratio, next_ratio = ratios[i], ratios[i + 1]
      if i > 1 and ratio > ratios[i - 1] then
         xerror('downsampling ratios should be provided in decreasing order, for proper coarse-to-fine recursion', NAME)
      end
      pyramid[i] = { w = math.floor(width / ratio), h = math.floor(height / ratio) }
      local function steps(key, whole)
         if not next_ratio then return math.floor(whole / ratio / sub) end
         return math.ceil(pyramid[i + 1][key] * next_ratio / ratio / sub)
      end
      processed[i] = { w = steps('w', width), h = steps('h', height) }
      narrowed[i] = { w = processed[i].w * sub + fov - sub, h = processed[i].h * sub + fov - sub }
   end
   return pyramid, processed, narrowed
end

function Fovea:configure(fov, sub, width, height)
   if fov == self.fov and width == self.input_w and height == self.input_h then return end
   self.fov, self.sub, self.input_w, self.input_h = fov, sub, width, height
   self.bilinear = false
   for _, ratio in ipairs(self.ratios) do
      if ratio < 1 then
         xerror('ratios should be >= 1', NAME)
      elseif ratio % 1 ~= 0 then
         self.bilinear = true
      end
   end
   local pyramid, processed, narrowed = sizes(self, fov, sub, width, height)
   self.pyramid_size, self.processed_size, self.narrowed_size, self.padded_size = pyramid, processed, narrowed, narrowed
   for i, ratio in ipairs(self.ratios) do
      self.downsamplers[i] = downsampler(self, ratio)
      local w, h = narrowed[i].w - pyramid[i].w, narrowed[i].h - pyramid[i].h
      local left, top = math.floor(w / 2), math.floor(h / 2)
      for _, list in ipairs{ self.padders, self.upsampledPadders } do
         list[i] = nn.SpatialPadding(left, w - left + 1, top, h - top + 1)
      end
      local finer = self.ratios[i + 1]
      if finer then
         local times = ratio / finer * sub
         self.upsamplers[i] = self.bilinear and nn.SpatialReSampling(times, times) or nn.SpatialUpSampling(times, times)
      end
   end
end

function Fovea:__tostring__()
   local lines = {
      NAME .. ':',
      '  + number of recursion stages : ' .. #self.ratios,
      '  + downsampling ratios (scales) :   ' .. table.concat(self.ratios, '   '),
      ('  + processors\' field of view : %sx%s'):format(self.fov, self.fov),
      ('  + processors\' downsampling ratio : %sx%s'):format(self.sub, self.sub),
   }
   if self.criterions[1] then
      lines[#lines + 1] = '  + using training criterions : ' .. torch.typename(self.criterions[1])
   end
   lines[#lines + 1] = '  + verbose : ' .. tostring(self.verbose)
   return table.concat(lines, '\n')
end

-- The corner, at each scale, of the patch of batchSize x batchSize results around a point.
function Fovea:focus(x, y)
   self.x, self.y, self.focused = x, y, (x and y) and true or false
   if not self.focused then return end
   self.corners = {}
   for i, ratio in ipairs(self.ratios) do
      local function corner(place)
         local center = math.floor(math.floor((place - 1) / ratio) / self.sub) * self.sub + 1
         return center - math.ceil(self.batchSize / 2) + 1
      end
      self.corners[i] = { x = corner(x), y = corner(y) }
   end
end

local function narrow(t, size) return t:narrow(3, 1, size.w):narrow(2, 1, size.h) end

-- One scale: the image and the coarser scale's result are processed together, and resized for the next scale.
local function walk(self, i)
   self.padded[i] = self.padders[i]:updateOutput(self.preProcessed[i])
   local narrowed = narrow(self.padded[i], self.narrowed_size[i])
   local planes, recursive = narrowed:size(1), self.nRecursivePlane
   self.narrowed[i] = narrowed
   self.concatenated[i] = self.concatenated[i] or torch.Tensor()
   self.concatenated[i]:resize(planes + recursive, narrowed:size(2), narrowed:size(3))
   self.concatenated[i]:narrow(1, 1, planes):copy(narrowed)
   local given = self.concatenated[i]:narrow(1, planes + 1, recursive)
   if i == 1 then
      given:zero()
   else
      given:copy(self.upsampledNarrowed[i - 1])
      if self.scaleTargetValues then given:mul(self.ratios[i - 1] / self.ratios[i]) end
   end
   self.processed[i] = self.processors[i]:updateOutput(self.concatenated[i])
   if i < #self.ratios then
      self.upsampled[i] = self.upsamplers[i]:updateOutput(self.processed[i])
      self.upsampledPadded[i] = self.upsampledPadders[i]:updateOutput(self.upsampled[i])
      self.upsampledNarrowed[i] = narrow(self.upsampledPadded[i], self.narrowed_size[i + 1])
   end
end

-- The criterion's value at one scale, for all results or for the patch in focus.
local function compare(self, i, target)
   local result, ratio = self.postProcessed[i], self.ratios[i]
   local scaled = self.targets_scaled[i] or torch.Tensor()
   self.targets_scaled[i] = scaled
   local height, width = self.processed[i]:size(2), self.processed[i]:size(3)
   if target:dim() == 3 then
      scaled:resize(target:size(1), height, width)
   else
      scaled:resize(height, width)
   end
   image.scale(scaled, target, 'simple')
   if self.scaleTargetValues then scaled:mul(1 / ratio) end
   self.predicted[i], self.targets[i] = result, scaled
   if self.focused then
      local corner, size = self.corners[i], self.batchSize
      -- sic: bounded by planes and rows
      corner.x = math.min(math.max(corner.x, 1), result:size(1) - size + 1)
      corner.y = math.min(math.max(corner.y, 1), result:size(2) - size + 1)
      self.predicted[i] = result:narrow(3, corner.x, size):narrow(2, corner.y, size)
      self.targets[i] = scaled:narrow(2, corner.x, size):narrow(1, corner.y, size)
   end
   return self.criterions[i]:updateOutput(self.predicted[i], self.targets[i])
end

function Fovea:updateOutput(input, target, x, y)
   if input:dim() ~= 3 or input:size(1) ~= self.nInputPlane then
      xerror('input must be 3d and have ' .. self.nInputPlane .. ' input planes', NAME)
   end
   if x and y then self:focus(x, y) end
   self:configure(self.fov, self.sub, input:size(3), input:size(2))
   for i in ipairs(self.ratios) do
      self.pyramid[i] = self.downsamplers[i]:updateOutput(input)
      local pre = self.preProcessors[i]
      self.preProcessed[i] = pre and pre:updateOutput(self.pyramid[i]) or self.pyramid[i]
   end
   for i in ipairs(self.ratios) do walk(self, i) end
   local problem = 0
   for i in ipairs(self.ratios) do
      local post = self.postProcessors[i]
      self.postProcessed[i] = post and post:updateOutput(self.processed[i]) or self.processed[i]
   end
   if self.criterions[1] and target then
      for i in ipairs(self.ratios) do problem = problem + compare(self, i, target) end
      problem = problem / #self.ratios
   end
   self.output = self.postProcessed[#self.ratios]
   return self.output, problem
end

-- Uses the criterions' gradients at each scale; the path from one scale to the next is ignored.
function Fovea:updateGradInput(input)
   self.gradInput:resizeAs(input):zero()
   for i in ipairs(self.ratios) do
      self.gradPredicted[i] = self.criterions[i]:updateGradInput(self.predicted[i], self.targets[i])
      local gradient = (self.gradPostProcessed[i] or torch.Tensor()):resizeAs(self.postProcessed[i]):zero()
      self.gradPostProcessed[i] = gradient
      if self.focused then
         local corner, size = self.corners[i], self.batchSize
         gradient = gradient:narrow(3, corner.x, size):narrow(2, corner.y, size)
      end
      gradient:copy(self.gradPredicted[i])
   end
   for i in ipairs(self.ratios) do
      local pre, post = self.preProcessors[i], self.postProcessors[i]
      self.gradProcessed[i] = post and post:updateGradInput(self.processed[i], self.gradPostProcessed[i])
         or self.gradPostProcessed[i]
      self.gradConcatenated[i] = self.processors[i]:updateGradInput(self.concatenated[i], self.gradProcessed[i])
      self.gradNarrowed[i] = self.gradConcatenated[i]:narrow(1, 1, self.narrowed[i]:size(1))
      self.gradPadded[i] = (self.gradPadded[i] or torch.Tensor()):resizeAs(self.padded[i]):zero()
      narrow(self.gradPadded[i], self.narrowed_size[i]):copy(self.gradNarrowed[i])
      self.gradPreProcessed[i] = self.padders[i]:updateGradInput(self.preProcessed[i], self.gradPadded[i])
      self.gradPyramid[i] = pre and pre:updateGradInput(self.pyramid[i], self.gradPreProcessed[i])
         or self.gradPreProcessed[i]
      self.gradInput:add(self.downsamplers[i]:updateGradInput(input, self.gradPyramid[i]))
   end
   return self.gradInput
end

for _, method in ipairs{ 'reset', 'zeroGradParameters', 'updateParameters' } do
   Fovea[method] = function(self, argument)
      for _, processor in ipairs(self.processors) do processor[method](processor, argument) end
   end
end

function Fovea:decayParameters(decay)
   for _, processor in ipairs(self.processors) do
      if processor.decayParameters then processor:decayParameters(decay) end
   end
end
