-- Losses of an output and a target.
local kernel = require('torch.core.kernels').of_layers
local declarations = require 'nn.declarations'
local declared = require 'nn.shared.declared'
declared.ways('criterions', { 'nll', 'elementwise', 'margins', 'cosine_embedding' })
local sizes = require 'nn.shared.sizes'
local whole_numbers = require 'nn.shared.whole_numbers'
local Criterion = torch.getmetatable('nn.Criterion')

-- Negative log likelihood of classes. input: log probabilities; target: class numbers from 1.
local ClassNLL = torch.class('nn.ClassNLLCriterion', 'nn.Criterion')

local function check_weights(self)
   local weights = self.weights
   assert(not weights or weights:dim() == 1, 'weights input should be 1-D Tensor')
end

local set_nll, nll_fields = declared.setter 'ClassNLLCriterion', declared.reader 'ClassNLLCriterion'
function ClassNLL:__init(...)
   Criterion.__init(self)
   set_nll(self, ...)
   check_weights(self)
   self.output_tensor = torch.zeros(1)
   self.total_weight_tensor = torch.ones(1)
   self.target = torch.zeros(1):long()
end

-- The target as whole numbers.
local function class_target(self, input, target)
   if type(target) == 'number' then
      self.target = whole_numbers.beside(input, self.target):resize(1)
      self.target[1] = target
   else
      self.target = whole_numbers.beside(input, target)
   end
   return self.target
end

function ClassNLL:__len() return self.weights and #self.weights or 0 end

-- The classes of the input's rows. For a single row the first of several classes is used, except on a device, where
-- Torch7 requires as many classes as rows.
local function classes_of_rows(self, input, target)
   target = class_target(self, input, target)
   assert(target:dim() <= 1, 'multi-target not supported')
   assert(input:dim() <= 2, 'input tensor should be 1D or 2D')
   local weights, last = self.weights, input:dim()
   if weights and last > 0 and weights:nElement() ~= input:size(last) then
      error(('weight tensor should be defined either for all %d classes or no classes but got weight tensor of '
         .. 'shape: %s'):format(input:size(last), sizes.text(weights)), 0)
   end
   local rows, classes = input:dim() == 2 and input:size(1) or 1, target:nElement()
   if rows == classes then return target end
   if input:type():find('Cuda', 1, true) then
      error(('mismatch between the batch size of input (%d) and that of target (%d)'):format(rows, classes), 0)
   end
   assert(input:dim() == 1 and classes > 0, "Assertion `THIndexTensor_(size)(target, 0) == batch_size' failed.")
   return target:narrow(1, 1, 1)
end

local function nll_output(self, input, classes)
   local loss, total = kernel.class_nll(self.total_weight_tensor:resize(1), input, classes, self.weights,
      nll_fields(self))
   self.output = loss
   self.output_tensor:resize(1):fill(loss)
   return loss, total or self.total_weight_tensor[1]
end

local function nll_gradient(self, gradient, input, classes)
   kernel.class_nll_gradient(gradient, input, classes, self.weights, self.total_weight_tensor, nll_fields(self))
end

function ClassNLL:updateOutput(input, target) return nll_output(self, input, classes_of_rows(self, input, target)) end

function ClassNLL:updateGradInput(input, target)
   nll_gradient(self, self.gradInput, input, classes_of_rows(self, input, target))
   return self.gradInput
end

-- LogSoftMax and ClassNLLCriterion in one.
local CrossEntropy = torch.class('nn.CrossEntropyCriterion', 'nn.Criterion')

function CrossEntropy:__init(weights, sizeAverage)
   Criterion.__init(self)
   self.lsm = nn.LogSoftMax()
   self.nll = nn.ClassNLLCriterion(weights, sizeAverage)
   self.sizeAverage, self.oldSizeAverage = self.nll.sizeAverage, self.nll.sizeAverage
end

-- Drops dimensions of size 1, and passes sizeAverage on to the inner criterion if it was changed here.
local function prepared(self, input, target)
   if self.sizeAverage ~= self.oldSizeAverage then self.nll.sizeAverage = self.sizeAverage end
   self.oldSizeAverage = self.sizeAverage
   return input:squeeze(), type(target) == 'number' and target or target:squeeze()
end

function CrossEntropy:updateOutput(input, target)
   input, target = prepared(self, input, target)
   self.lsm:updateOutput(input)
   self.nll:updateOutput(self.lsm.output, target)
   self.output = self.nll.output
   return self.output
end

function CrossEntropy:updateGradInput(input, target)
   local size = input:size()
   input, target = prepared(self, input, target)
   self.nll:updateGradInput(self.lsm.output, target)
   self.lsm:updateGradInput(input, self.nll.gradInput)
   self.gradInput:view(self.lsm.gradInput, size)
   return self.gradInput
end

local function check_counts(input, target) sizes.check_counts(input, 'input', target, 'target') end
local function check_sizes(input, target)
   assert(input:isSameSizeAs(target), 'input and target should have the same size')
end

-- Losses that are the sum (or mean) over all elements of a function of input and target.
for name, f in pairs{ MSECriterion = 'mse', AbsCriterion = 'absolute', SmoothL1Criterion = 'smooth_l1',
   SoftMarginCriterion = 'soft_margin', DistKLDivCriterion = 'kl_divergence' } do
   local class = torch.class('nn.' .. name, 'nn.Criterion')
   local check, averages = name == 'DistKLDivCriterion' and check_sizes or check_counts, declared.reader(name)
   declared.construct(class, name)
   function class:updateOutput(input, target)
      check(input, target)
      self.output = kernel.elementwise_loss(input, target, f, averages(self))
      return self.output
   end
   function class:updateGradInput(input, target)
      check(input, target)
      kernel.elementwise_loss_gradient(self.gradInput, input, target, f, averages(self))
      return self.gradInput
   end
end

local BCE = torch.class('nn.BCECriterion', 'nn.Criterion')

local set_bce, bce_averages = declared.setter 'BCECriterion', declared.reader 'BCECriterion'
function BCE:__init(...)
   Criterion.__init(self)
   set_bce(self, ...)
   check_weights(self)
end
function BCE:__len() return self.weights and #self.weights or 0 end
function BCE:updateOutput(input, target)
   assert(input:nElement() == target:nElement(), 'input and target size mismatch')
   self.output = kernel.binary_cross_entropy(input, target, self.weights, bce_averages(self))
   return self.output
end
function BCE:updateGradInput(input, target)
   assert(input:nElement() == target:nElement(), 'input and target size mismatch')
   kernel.binary_cross_entropy_gradient(self.gradInput, input, target, self.weights, bce_averages(self))
   return self.gradInput
end

-- Losses from kernels/nn/criterions.py that autograd differentiates. target_of(target, input): the target as a tensor
-- of the input's type; init(self): the rest of the constructor.
local function loss(name, f, init, target_of)
   local class = torch.class('nn.' .. name, 'nn.Criterion')
   local set, fields = declared.setter(name), declared.reader(name)
   local takes_weights = declarations.takes(name, 'weights')
   local function weights_of(self) return takes_weights and self.weights or nil end
   init = init or function() end
   target_of = target_of or function(target) return target end
   function class:__init(...)
      Criterion.__init(self)
      set(self, ...)
      init(self)
   end
   function class:updateOutput(input, target)
      self.output = kernel.loss(input, target_of(target, input), weights_of(self), f, fields(self))
      return self.output
   end
   function class:updateGradInput(input, target)
      kernel.loss_gradient(self.gradInput, input, target_of(target, input), weights_of(self), f, fields(self))
      return self.gradInput
   end
   return class
end

local function number_or_tensor(target, input)
   if type(target) == 'number' then return input.new{ target } end
   return target
end
local function in_its_type(target, input)
   return type(target) == 'number' and input.new{ target } or target:typeAs(input)
end

local function of_as_many(target, input)
   check_counts(input, target)
   return target
end

loss('MarginCriterion', 'margin', nil, of_as_many)
loss('HingeEmbeddingCriterion', 'hinge_embedding', nil, in_its_type)
loss('MultiMarginCriterion', 'multi_margin', function(self)
   assert(self.p == 1 or self.p == 2, 'only p=1 and p=2 supported')
   check_weights(self)
end, in_its_type)
loss('MultiLabelMarginCriterion', 'multi_label_margin', nil, in_its_type)
local MultiLabelSoftMargin = loss('MultiLabelSoftMarginCriterion', 'multi_label_soft_margin', function(self)
   check_weights(self)
   self.sigmoid = nn.Sigmoid()
end)
local soft_margins = MultiLabelSoftMargin.updateOutput
function MultiLabelSoftMargin:updateOutput(input, target)
   self.sigmoid:updateOutput(input)
   return soft_margins(self, input, target)
end
-- The sigmoid is that of the forward pass, as in Torch7.
function MultiLabelSoftMargin:updateGradInput(input, target)
   self.gradInput:add(self.sigmoid.output, -1, target)
   local weights = self.weights
   if weights then
      for _ = 2, input:dim() do weights = nn.utils.addSingletonDimension(weights, 1) end
      self.gradInput:cmul(weights:expandAs(self.gradInput))
   end
   if self.sizeAverage then self.gradInput:div(input:nElement()) end
   return self.gradInput
end

-- The sum of the absolute values of the input
local L1Cost = torch.class('nn.L1Cost', 'nn.Criterion')
function L1Cost:updateOutput(input)
   self.output = input:norm(1)
   return self.output
end
function L1Cost:updateGradInput(input) return self.gradInput:resizeAs(input):copy(input):sign() end
function L1Cost:clearState() return nn.utils.clear(self, 'gradInput') end

-- One class for each pixel
local SpatialClassNLL = torch.class('nn.SpatialClassNLLCriterion', 'nn.Criterion')
local function pixels_last(input) return input:transpose(2, 3):transpose(3, 4) end
function SpatialClassNLL:__init(weights, sizeAverage)
   ClassNLL.__init(self, weights, sizeAverage)
   self.ignoreIndex = nil
end
SpatialClassNLL.__len = ClassNLL.__len
local function sizes_of(t) return table.concat(t:size():totable(), 'x') end
local function in_its_type_pixels(self, input, target)
   target = class_target(self, input, target)
   if target:dim() ~= 3 then
      declared.refuse(3, 'only batches of spatial targets supported (3D tensors) but got targets of dimension: %d',
         target:dim())
   end
   if input:dim() ~= 4 then
      declared.refuse(2, 'only batches of spatial inputs supported (4D tensors), but got input of dimension: %d',
         input:dim())
   end
   assert(not self.weights or self.weights:nElement() == input:size(2),
      'weight tensor should be defined either for all or no classes')
   if target:size(1) ~= input:size(1) or target:size(2) ~= input:size(3) or target:size(3) ~= input:size(4) then
      error(('size mismatch (got input: %s, target: %s)'):format(sizes_of(input), sizes_of(target)), 0)
   end
   return target
end
function SpatialClassNLL:updateOutput(input, target)
   local classes = in_its_type_pixels(self, input, target)
   return nll_output(self, pixels_last(input), classes)
end
function SpatialClassNLL:updateGradInput(input, target)
   local classes = in_its_type_pixels(self, input, target)
   nll_gradient(self, pixels_last(self.gradInput:resizeAs(input)), pixels_last(input), classes)
   return self.gradInput
end

local MSE = torch.getmetatable('nn.MSECriterion')

-- Squared differences weighted element by element
local WeightedMSE = torch.class('nn.WeightedMSECriterion', 'nn.MSECriterion')
function WeightedMSE:__init(weight)
   MSE.__init(self)
   self.weight = weight:clone()
end
local function weighted(self, input, target)
   self.buffer = (self.buffer or input.new()):resizeAs(input):copy(target)
   local weight = self.weight
   if input:dim() - 1 == weight:dim() then weight = nn.utils.addSingletonDimension(weight, 1):expandAs(input) end
   return self.buffer:cmul(weight)
end
function WeightedMSE:updateOutput(input, target) return MSE.updateOutput(self, input, weighted(self, input, target)) end
function WeightedMSE:updateGradInput(input, target)
   return MSE.updateGradInput(self, input, weighted(self, input, target))
end

-- Compares with the centre of the target, cropped to the input's size
local AutoCrop = torch.class('nn.SpatialAutoCropMSECriterion', 'nn.MSECriterion')
declared.construct(AutoCrop, 'SpatialAutoCropMSECriterion')
function AutoCrop:updateOutput(input, target)
   local dims = input:dim()
   assert(dims == target:dim(), 'input and target should have the same number of dimensions')
   assert(dims == 4 or dims == 3, 'input and target must have 3 or 4 dimensions')
   for d = dims - 1, dims do
      local size, room = input:size(d), target:size(d) - input:size(d)
      assert(room >= 0,
         'Spatial resolution of input should be less than or equal to the spatial resolution of the target')
      target = target:narrow(d, 1 + math.floor(room / 2), size)
   end
   return MSE.updateOutput(self, input, target)
end
function AutoCrop:updateGradInput(input, target)
   assert(input:dim() == 4 or input:dim() == 3, 'input and gradOutput must have 3 or 4 dimensions')
   assert(input:isSameSizeAs(target), 'gradOutput and input must have the same size')
   return MSE.updateGradInput(self, input, target)
end

-- Classes are the corners of a regular simplex around 0, each of norm 1 (arXiv:1506.08230)
local Simplex = torch.class('nn.ClassSimplexCriterion', 'nn.MSECriterion')
-- The n + 1 corners as rows of n coordinates: the dot product of any two different ones is -1 / n.
local function simplex_corners(n)
   local corners = torch.zeros(n + 1, n)
   for k = 1, n do
      local corner = corners[k]
      corner[k] = math.sqrt(1 - (k > 1 and corner:narrow(1, 1, k - 1):norm() ^ 2 or 0))
      corners:select(2, k):narrow(1, k + 1, n + 1 - k):fill((corner[k] ^ 2 - 1 - 1 / n) / corner[k])
   end
   return corners
end
function Simplex:__init(nClasses)
   MSE.__init(self)
   assert(nClasses and nClasses > 1 and nClasses % 1 == 0, 'Required positive integer argument nClasses > 1')
   self.nClasses = nClasses
   -- one additional dimension helps training
   self.simplex = torch.cat(simplex_corners(nClasses - 1), torch.zeros(nClasses, 1), 2)
   self._target = torch.Tensor(nClasses)
end
local function corners_of(self, target)
   if torch.type(target) == 'number' then
      self._target:resize(self.nClasses):copy(self.simplex[target])
   elseif torch.isTensor(target) then
      assert(target:dim() == 1, '1D tensors only!')
      -- raises Torch7's error for a class that does not exist
      local _, _ = self.simplex[target:min()], self.simplex[target:max()]
      self._target:index(self.simplex, 1, whole_numbers.beside(self.simplex, target))
      if self._target:size(2) ~= tonumber(self.nClasses) then
         error(('inconsistent sizes: %d classes in the simplex, %s in the field nClasses'):format(self._target:size(2),
            tostring(self.nClasses)), 0)
      end
   end
   return self._target
end
function Simplex:updateOutput(input, target) return MSE.updateOutput(self, input, corners_of(self, target)) end
function Simplex:updateGradInput(input) return MSE.updateGradInput(self, input, self._target) end
function Simplex:getPredictions(input)
   if input:dim() == 1 then input = input:view(1, -1) end
   return torch.mm(input, self.simplex:t())
end
function Simplex:getTopPrediction(input)
   local _, best = self:getPredictions(input):max(2)
   return best:view(-1)
end

-- Pairs of inputs

-- y = 1: the first input should be larger than the second by margin; y = -1: smaller
local MarginRanking = torch.class('nn.MarginRankingCriterion', 'nn.Criterion')
local set_ranking = declared.setter 'MarginRankingCriterion'
function MarginRanking:__init(...)
   Criterion.__init(self)
   set_ranking(self, ...)
   self.gradInput = { torch.Tensor(1), torch.Tensor(1) }
end
-- margin - y * (first - second)
local function shortfall(self, input, y)
   -- only the first elements, as in Torch7
   if type(y) == 'number' then return self.margin - y * (input[1][1] - input[2][1]) end
   return torch.add(input[1], -1, input[2]):cmul(y):mul(-1):add(self.margin)
end
function MarginRanking:updateOutput(input, y)
   local lacking = shortfall(self, input, y)
   if type(y) == 'number' then
      self.output = math.max(0, lacking)
   else
      self.output = lacking:cmax(0):sum()
      if self.sizeAverage then self.output = self.output / y:size(1) end
   end
   return self.output
end
function MarginRanking:updateGradInput(input, y)
   local lacking = shortfall(self, input, y)
   local first, second = unpack(self.gradInput)
   if type(y) == 'number' then
      first[1], second[1] = lacking < 0 and 0 or -y, lacking < 0 and 0 or y
   else
      second:resizeAs(y):ge(lacking, 0):cmul(y)
      if self.sizeAverage then second:div(y:size(1)) end
      first:resizeAs(second):copy(second):mul(-1)
   end
   return self.gradInput
end

-- The L1 distance of a pair (y = 1), or the amount by which it falls short of margin (y = -1)
local L1Hinge = torch.class('nn.L1HingeEmbeddingCriterion', 'nn.Criterion')
local set_hinge = declared.setter 'L1HingeEmbeddingCriterion'
function L1Hinge:__init(...)
   Criterion.__init(self)
   set_hinge(self, ...)
   self.gradInput = { torch.Tensor(), torch.Tensor() }
end
function L1Hinge:updateOutput(input, y)
   self.output = input[1]:dist(input[2], 1)
   if y == -1 then self.output = math.max(0, self.margin - self.output) end
   return self.output
end
function L1Hinge:updateGradInput(input, y)
   local first, second = unpack(self.gradInput)
   first:resizeAs(input[1]):copy(input[1]):add(-1, input[2])
   local distance = first:norm(1)
   first:apply(function(x)
      if x > 0 then return 1 elseif x < 0 then return -1 end
      return 2 * torch.random(2) - 3 -- -1 or 1 at random
   end)
   if y == -1 then
      if distance > self.margin then first:zero() else first:mul(-1) end
   end
   second:resizeAs(first):copy(first):mul(-1)
   return self.gradInput
end

-- y = 1: the rows of the pair should point in the same direction; y = -1: their cosine should be below margin
local CosineEmbedding = torch.class('nn.CosineEmbeddingCriterion', 'nn.Criterion')
local set_cosine, cosine_fields = declared.setter 'CosineEmbeddingCriterion', declared.reader 'CosineEmbeddingCriterion'
function CosineEmbedding:__init(...)
   Criterion.__init(self)
   set_cosine(self, ...)
   self.gradInput = { torch.Tensor(), torch.Tensor() }
end
-- The two inputs and y, a tensor with an element for each row.
local function rows_and_sides(input, y)
   local a, b = input[1], input[2]
   y = number_or_tensor(y, a)
   sizes.check_counts(a, 'input[1]', b, 'input[2]')
   local rows = a:dim() == 1 and 1 or a:size(1)
   if y:nElement() ~= rows then
      error(('input of %d rows and y of %d elements: one element expected for each row'):format(rows, y:nElement()), 0)
   end
   return a, b, y
end
function CosineEmbedding:updateOutput(input, y)
   local a, b, sides = rows_and_sides(input, y)
   self.output = kernel.cosine_embedding(a, b, sides, cosine_fields(self))
   return self.output
end
function CosineEmbedding:updateGradInput(input, y)
   local a, b, sides = rows_and_sides(input, y)
   kernel.cosine_embedding_gradients(self.gradInput[1], self.gradInput[2], a, b, sides, cosine_fields(self))
   return self.gradInput
end

-- x and y are distances of similar and dissimilar pairs; the loss is -log(exp(-x) / (exp(-x) + exp(-y)))
-- (arXiv:1610.00243)
local DistanceRatio = torch.class('nn.DistanceRatioCriterion', 'nn.Criterion')
declared.construct(DistanceRatio, 'DistanceRatioCriterion')
local function check_distances(input)
   assert(#input == 2, 'Invalid number of inputs')
   assert(input[1]:nElement() == input[2]:nElement(), "Number of distances don't match.")
   assert(input[1]:size(1) == input[2]:size(1), "Invalid distances' size.")
   return input[1], input[2]
end
function DistanceRatio:updateOutput(input)
   local x, y = check_distances(input)
   self.loss = torch.add(x, -1, y):exp():add(1):log() -- log(1 + exp(x - y))
   local sum = self.loss:sum()
   return self.sizeAverage and sum / x:size(1) or sum
end
function DistanceRatio:updateGradInput(input)
   local x, y = check_distances(input)
   self.dX = torch.add(x, -1, y):sigmoid()
   if self.sizeAverage then self.dX:div(x:size(1)) end
   self.dY = torch.mul(self.dX, -1)
   return { self.dX, self.dY }
end
function DistanceRatio:type(name, cache)
   self.loss, self.dX, self.dY = nil, nil, nil
   return Criterion.type(self, name, cache)
end
