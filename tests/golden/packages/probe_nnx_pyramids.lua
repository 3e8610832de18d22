-- Prints sums of what nnx's graphs, matchings, normalization, pyramids and foveas compute, for Torch7 and th alike.
-- image.scale takes what it writes first since 2012, which nnx's recursive fovea has not followed.
require 'nnx'
require 'image'

local function numbers(name, value)
   if type(value) == 'table' then
      for _, entry in ipairs(value) do numbers(name, entry) end
      return
   end
   local flat = value:double():contiguous():view(-1)
   print(('%s %d %.9g %.9g'):format(name, flat:nElement(), torch.abs(flat):sum(),
      flat:dot(torch.range(1, flat:nElement())) / flat:nElement()))
end

local function like(value)
   if torch.isTensor(value) then return torch.randn(value:size()):typeAs(value) end
   local entries = {}
   for i, entry in ipairs(value) do entries[i] = like(entry) end
   return entries
end

local function try(name, module, input)
   local output = module:forward(input)
   numbers(name, output)
   local gradient = like(output)
   numbers(name, module:updateGradInput(input, gradient))
   local parameters, gradients = module:parameters()
   if parameters and #parameters > 0 then
      module:zeroGradParameters()
      module:accGradParameters(input, gradient, 0.5)
      numbers(name, gradients)
   end
end

torch.manualSeed(11)
local image_ = torch.rand(3, 5, 6)
image_[{ {}, 2, 2 }] = image_[{ {}, 2, 3 }]
for _, kind in ipairs{ 'euclid', 'cosine' } do
   for _, normalize in ipairs{ true, false } do try(kind, nn.SpatialGraph(kind, normalize), image_) end
end
try('full', nn.SpatialMatching(3, 4, true), { image_, torch.rand(3, 5, 6) })
try('beside', nn.SpatialMatching(2, 3), { image_, torch.rand(3, 6, 8) })
try('radial', nn.SpatialRadialMatching(4), { image_, torch.rand(3, 8, 6) })

local print_line = print
local function quietly(f, ...)
   print = function() end
   local result = f(...)
   print = print_line
   return result
end
for _, kernel in ipairs{ { torch.rand(3, 5) }, { torch.rand(4, 2) }, { { torch.rand(1, 5), torch.rand(3, 1) } } } do
   try('normalization', quietly(nn.SpatialNormalization, 2, kernel[1]), torch.randn(2, 9, 10))
end
try('threshold', quietly(nn.SpatialNormalization, 1, torch.rand(3, 3), 0.7), torch.randn(8, 9))

local function processors(from, to, k)
   local list = {}
   for i = 1, 2 do list[i] = nn.Sequential():add(nn.SpatialConvolution(from, to, k, k)):add(nn.Tanh()) end
   return list
end

local function fovea(options)
   options.nInputPlane, options.ratios, options.processors = 2, { 1, 2 }, processors(2, 3, 3)
   options.fov = 3
   return nn.SpatialFovea(options)
end
local picture = torch.randn(2, 16, 16)
try('fovea', fovea{}, picture)
try('bilinear', fovea{ bilinear = true, preProcessors = { nn.Tanh(), nn.Sigmoid() } }, picture)
local focused = fovea{}
focused:focus(7, 4, 3)
try('focused', focused, picture)

local pyramid = nn.SpatialPyramid({ 1, 2 }, processors(2, 3, 3), 3, 3, 1, 1, 3, 2, 3, 2)
try('pyramid', pyramid, picture)
pyramid:focus(5, 9, 2, 3)
try('pyramid', pyramid, picture)
local scaled = nn.SpatialPyramid({ 1, 2 }, processors(2, 3, 3), 3, 3, 1, 1, 3, 2, 3, 2, true)
try('scaled', scaled, { picture, torch.randn(2, 8, 8) })

local scale = image.scale
function image.scale(a, b, mode)
   if mode == 'simple' and a:nElement() > b:nElement() then a, b = b, a end
   return scale(a, b, mode)
end
for _, ratio in ipairs{ 2, 1.5 } do
   local options = { nInputPlane = 2, nRecursivePlane = 3, ratios = { 1, ratio }, processors = processors(5, 3, 3),
      preProcessors = { nn.Tanh(), nn.Identity() }, postProcessors = { nn.Sigmoid(), nn.Sigmoid() },
      criterions = { nn.MSECriterion(), nn.MSECriterion() }, fov = 3, verbose = false, scaleTargetValues = true }
   local recursive = nn.SpatialRecursiveFovea(options)
   local output, problem = recursive:updateOutput(picture, torch.rand(3, 32, 32))
   numbers('recursive', output)
   print('recursive', problem)
   numbers('recursive', recursive:updateGradInput(picture))
end
