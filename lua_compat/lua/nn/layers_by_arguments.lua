-- Functions of Torch7's THNN that no module of nn covers: sparse and indexed linear layers, dilated transposed
-- convolutions, upsampling and pooling of volumes, sampling at a grid, unfolding. By name, with THNN's arguments as
-- tensors and numbers (nn/THNN.lua).
local kernel = require('torch.core.kernels').of_layers

local functions = {}

-- A function that passes its arguments to f as a record, by their names in order; those called _ are left out.
local function by_name(names, f)
   local list = {}
   for name in names:gmatch('%S+') do list[#list + 1] = name end
   return function(...)
      local record = {}
      for k, name in ipairs(list) do
         if name ~= '_' then record[name] = (select(k, ...)) end
      end
      return f(record)
   end
end

-- Torch7 has these only on GPUs.
for _, name in ipairs{ 'GRUFused', 'LSTMFused' } do
   for _, what in ipairs{ '_updateOutput', '_updateGradInput' } do
      functions[name .. what] = function() error("Assertion `false' failed. Not implemented for CPU", 0) end
   end
end

-- Sparse linear layers. The input is entries x (example, index, value); for the "legacy" functions, examples x entries
-- x (index, value)

-- The fields that nn.SparseLinear's methods read after gradients were accumulated for a single input.
local function after_one_input(weight, bias, gradWeight, gradBias, lastInput)
   return { weight = weight, bias = bias, gradWeight = gradWeight, gradBias = gradBias, lastInput = lastInput,
      sparseUpdate = 1 }
end
local function zero_touched(gradWeight, gradBias, lastInput)
   nn.SparseLinear.zeroGradParameters(after_one_input(gradWeight, nil, gradWeight, gradBias, lastInput))
end
local function update_touched(weight, bias, gradWeight, gradBias, lastInput, rate)
   nn.SparseLinear.updateParameters(after_one_input(weight, bias, gradWeight, gradBias, lastInput), rate)
end

local function add_gradients(input, gradOutput, gradWeight, gradBias, weight, _, decay, scale)
   kernel.sparse_linear_grad_parameters(gradWeight, gradBias, input, gradOutput, weight, decay, scale)
end

function functions.SparseLinear_updateOutput(input, output, weight, bias)
   kernel.sparse_linear(output, input, weight, bias, output:size(1))
end
function functions.SparseLinear_legacyUpdateOutput(input, output, weight, bias)
   kernel.sparse_linear(output, input, weight, bias, input:size(1))
end
functions.SparseLinear_accGradParameters, functions.SparseLinear_legacyAccGradParameters = add_gradients, add_gradients
functions.SparseLinear_zeroGradParameters, functions.SparseLinear_legacyZeroGradParameters = zero_touched, zero_touched
functions.SparseLinear_updateParameters, functions.SparseLinear_legacyUpdateParameters = update_touched, update_touched

-- Indexed linear layers

functions.IndexLinear_updateOutput = by_name('keys offset values sizes _ output weight bias normalized train',
   function(a)
   kernel.index_linear(a.output, a.normalized, a.keys, a.values, a.sizes, a.weight, a.bias, a.offset, a.train)
end)
functions.IndexLinear_accGradParameters =
   by_name('_ _ values sizes _ gradOutput gradWeight gradBias weight _ _ _ scale',
   function(a)
      kernel.index_linear_grad_parameters(a.gradWeight, a.gradBias, a.values, a.sizes, a.gradOutput, a.weight, a.scale)
   end)
functions.IndexLinear_accUpdateGradParameters = by_name('keys offset values sizes _ gradOutput weight bias decay rate',
   function(a)
      kernel.index_linear_update(a.keys, a.values, a.sizes, a.gradOutput, a.weight, a.bias, a.offset, a.decay, a.rate)
   end)
functions.IndexLinear_updateParameters = by_name('gradWeight gradBias weight bias keys _ offset decay rate', function(a)
   kernel.index_linear_update_parameters(a.gradWeight, a.gradBias, a.weight, a.bias, a.keys, a.offset, a.decay, a.rate)
end)

-- Convolutions. buffers: the number of unused tensors before the numbers; numbers(...): the kind, strides, paddings,
-- the additional output size, and dilations, each as (time,) width, height

local function define_convolution(name, buffers, numbers)
   functions[name .. '_updateOutput'] = function(input, output, weight, bias, ...)
      kernel.convolution(output, input, weight, bias, numbers(select(buffers[1] + 1, ...)))
   end
   functions[name .. '_updateGradInput'] = function(input, gradOutput, gradInput, weight, ...)
      kernel.convolution_grad_input(gradInput, input, gradOutput, weight, nil, numbers(select(buffers[2] + 1, ...)))
   end
   functions[name .. '_accGradParameters'] = function(input, gradOutput, gradWeight, gradBias, ...)
      local scale = select(select('#', ...), ...)
      kernel.convolution_grad_parameters(gradWeight, gradBias, input, gradOutput, gradWeight, gradBias, scale,
         numbers(select(buffers[3] + 1, ...)))
   end
end
define_convolution('SpatialFullDilatedConvolution', { 2, 1, 2 },
   by_name('_ _ dW dH padW padH dilationW dilationH adjW adjH', function(g)
      return 'transposed', g.dW, g.dH, g.padW, g.padH, g.adjW, g.adjH, g.dilationW, g.dilationH
   end))
define_convolution('VolumetricFullDilatedConvolution', { 2, 2, 2 },
   by_name('dT dW dH padT padW padH dilationT dilationW dilationH adjT adjW adjH', function(g)
      return 'transposed', g.dT, g.dW, g.dH, g.padT, g.padW, g.padH, g.adjT, g.adjW, g.adjH, g.dilationT, g.dilationW,
         g.dilationH
   end))
-- Torch7 rejects a padding of zero, and ignores any other.
define_convolution('VolumetricConvolution', { 2, 1, 2 },
   function(dT, dW, dH, padT, padW, padH)
      if padT == 0 and padW == 0 and padH == 0 then
         error('bad argument #9 to \'v\' (padding not supported by CPU backend)', 0)
      end
      return 'plain', dT, dW, dH, 0, 0, 0
   end)

-- Pooling and upsampling of volumes

local function flag(value) return value and value ~= 0 and 1 or 0 end
-- Kernel, strides and paddings; whether sizes are rounded up, and whether the padding counts
local function averages(...)
   local numbers = { ... }
   numbers[10], numbers[11] = flag(numbers[10]), flag(numbers[11])
   return unpack(numbers, 1, 11)
end
function functions.VolumetricAveragePooling_updateOutput(input, output, ...)
   kernel.volumetric_average_pooling(output, input, averages(...))
end
function functions.VolumetricAveragePooling_updateGradInput(input, gradOutput, gradInput, ...)
   kernel.volumetric_average_pooling_gradient(gradInput, input, gradOutput, averages(...))
end

local function enlarged(input, factor)
   local d = input:dim()
   return input:size(d - 2) * factor, input:size(d - 1) * factor, input:size(d) * factor
end
function functions.VolumetricUpSamplingNearest_updateOutput(input, output, factor)
   kernel.upsample_nearest(output, input, enlarged(input, factor))
end
function functions.VolumetricUpSamplingNearest_updateGradInput(input, gradOutput, gradInput, factor)
   kernel.upsample_nearest_gradient(gradInput, input, gradOutput, enlarged(input, factor))
end
function functions.VolumetricUpSamplingTrilinear_updateOutput(input, output, ...)
   kernel.upsample_linear(output, input, ...)
end
function functions.VolumetricUpSamplingTrilinear_updateGradInput(gradOutput, gradInput, batch, planes, time, height,
   width,
   ...)
   kernel.upsample_linear_gradient(gradInput, gradOutput.new(batch, planes, time, height, width), gradOutput, ...)
end

-- Sampling of images (batch x planes x height x width) at a grid of (x, y). The kernel takes planes last, and (y, x).

local function planes_last(images) return images:permute(1, 3, 4, 2) end
local function exchanged(grid) return torch.cat(grid:narrow(4, 2, 1), grid:narrow(4, 1, 1), 4) end

local function take(result, from) result:resize(from:size()):copy(from) end

function functions.SpatialGridSamplerBilinear_updateOutput(input, grid, output)
   local sampled = input.new()
   kernel.bilinear_sampler(sampled, planes_last(input), exchanged(grid))
   take(output, sampled:permute(1, 4, 2, 3))
end
function functions.SpatialGridSamplerBilinear_updateGradInput(input, gradInput, grid, gradGrid, gradOutput)
   local of_input, of_grid = input.new(), input.new()
   kernel.bilinear_sampler_gradients(of_input, of_grid, planes_last(input), exchanged(grid), planes_last(gradOutput))
   take(gradInput, of_input:permute(1, 4, 2, 3))
   take(gradGrid, exchanged(of_grid))
end

-- Unfolding: the pixels that each kernel element meets. visit(columns, pixels) gets pairs of views of equal sizes.

local function range(length, size, step, before)
   local first = math.max(0, math.ceil(-before / step))
   return first, math.min(length - 1, math.floor((size - 1 - before) / step)) - first + 1
end

local function for_each_tap(visit)
   return by_name('columns image kW kH dW dH padW padH planes width height columnsW columnsH', function(g)
      local columns = g.columns:view(g.planes, g.kH, g.kW, g.columnsH, g.columnsW)
      local image = g.image:view(g.planes, g.height, g.width)
      for y = 0, g.kH - 1 do
         for x = 0, g.kW - 1 do
            local top, rows = range(g.columnsH, g.height, g.dH, y - g.padH)
            local left, cells = range(g.columnsW, g.width, g.dW, x - g.padW)
            local tap = columns:select(2, y + 1):select(2, x + 1)
            if rows > 0 and cells > 0 then
               local first = (top * g.dH + y - g.padH) * g.width + left * g.dW + x - g.padW
               local pixels = image.new():set(image:storage(), image:storageOffset() + first,
                  torch.LongStorage{ g.planes, rows, cells },
                  torch.LongStorage{ g.height * g.width, g.dH * g.width, g.dW })
               visit(tap, tap:narrow(2, top + 1, rows):narrow(3, left + 1, cells), pixels)
            else
               visit(tap)
            end
         end
      end
   end)
end

functions.unfolded_copy = for_each_tap(function(tap, met, pixels)
   tap:zero()
   if met then met:copy(pixels) end
end)
functions.unfolded_acc = for_each_tap(function(_, met, pixels)
   if met then pixels:add(met) end
end)

return functions
