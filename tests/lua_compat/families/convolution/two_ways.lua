-- Convolutions of images, volumes and sequences.
local h = require 'harness'
local both_ways, random, images, three_phases, phases = h.both_ways, h.random, h.images, h.three_phases,
   h.phases

local function convolutions(T)
   local inputs, outputs = random(1, 5), random(1, 6)
   local kw, kh, dw, dh, pw, ph = random(1, 4), random(1, 4), random(1, 3), random(1, 3), random(0, 2), random(0, 2)
   if random(1, 4) == 1 then kw, kh, dw, dh, pw, ph = 1, 1, 1, 1, 0, 0 end
   local without_bias = random(1, 3) == 1
   local x = images(T, random(1, 8) == 1 and inputs + 1 or inputs, 1, 10)
   if random(1, 5) == 1 then kw, kh, pw, ph = x:size(x:dim()), x:size(x:dim() - 1), 0, 0 end
   local function layer(name, ...)
      local more = { ... }
      local seeded = torch.random(1000)
      three_phases(('%s %s'):format(T, name), function()
         torch.manualSeed(seeded)
         local module = nn[name](inputs, outputs, kw, kh, dw, dh, pw, ph, unpack(more)):type(T)
         return without_bias and module.noBias and module:noBias() or module
      end, x)
   end
   layer 'SpatialConvolution'
   layer 'SpatialConvolutionMM'
   layer('SpatialDilatedConvolution', random(1, 3), random(1, 3))
   -- Products with a border's zeros are NaNs, as under Torch7, where Python has no border.
   local is_finite = x:sum() - x:sum() == 0
   local more_columns, more_rows = random(0, dw - 1), random(0, dh - 1)
   if is_finite then layer('SpatialFullConvolution', more_columns, more_rows) end
end

-- Gradients of weights are those of the input that is given, whatever there was before: windows of the forward pass are
-- kept.
local function inputs_that_change(T)
   local kw, kh, dw, dh, pw, ph = random(1, 4), random(1, 4), random(1, 2), random(1, 2), random(0, 2), random(0, 2)
   local batch, height, width, change, seeded = random(1, 5), random(4, 9), random(4, 9), random(1, 7),
      torch.random(1000)
   local kt, dt, pt = random(1, 2), random(1, 2), random(0, 1)
   local of_volumes = random(1, 2) == 1
   local sizes = torch.LongStorage(of_volumes and { batch, 3, random(2, 4), height, width }
      or { batch, 3, height, width })
   local x, z = torch.randn(sizes):type(T), torch.randn(sizes):type(T)
   local function new_module()
      if of_volumes then return nn.VolumetricConvolution(3, 4, kt, kw, kh, dt, dw, dh, pt, pw, ph):type(T) end
      return nn.SpatialConvolution(3, 4, kw, kh, dw, dh, pw, ph):type(T)
   end
   local run = {}
   both_ways(('%s %d inputs that change: %d'):format(T, #sizes, change), function()
      torch.manualSeed(seeded)
      local module = new_module()
      local a, b = x:clone(), z:clone()
      if change == 6 then module:evaluate() end
      local gradient = module:forward(a):clone():normal()
      if change == 1 then a:view(-1)[random(1, a:nElement())] = 7 end
      if change == 2 then a:copy(b) end
      if change == 3 then a = b end
      if change == 4 then module:forward(a:narrow(1, 1, 1)) end
      if change == 5 then
         module.padW, module.padH, module.dW = module.padW + 1, module.padH + 1, 3
         gradient = module:forward(b):clone():normal()
      end
      if change == 7 then new_module():forward(b) end
      module:zeroGradParameters()
      module:accGradParameters(a, gradient, 0.5)
      module:accGradParameters(b, gradient)
      module:accGradParameters(a, gradient)
      run.module, run.a, run.b, run.gradient = module, a, b, gradient
      return module.gradWeight, module.gradBias
   end, function()
      local module, gradient = run.module:clone():double(), run.gradient:double():abs()
      module:zeroGradParameters()
      for _, input in ipairs{ run.a, run.b, run.a } do module:accGradParameters(input:double():abs(), gradient) end
      local n = 3 * gradient:nElement() / 4
      return { h.rounding(module.gradWeight, n), h.rounding(module.gradBias, n) }
   end)
end

local function sequences(T)
   local features, outputs, span, step = random(1, 5), random(1, 5), random(1, 4), random(1, 3)
   local x = torch.randn(random(1, 4), random(2, 9), features):type(T)
   if random(1, 8) == 1 then x = x:transpose(2, 3) end
   if random(1, 3) == 1 then x = x[1] end
   if random(1, 4) == 1 then span = x:size(x:dim() - 1) end
   if random(1, 4) == 1 then step = span end
   if random(1, 8) == 1 then x:select(1, 1):fill(({ 0 / 0, 1 / 0, -1 / 0 })[random(1, 3)]) end
   local seeded = torch.random(1000)
   three_phases(T .. ' TemporalConvolution', function()
      torch.manualSeed(seeded)
      return nn.TemporalConvolution(features, outputs, span, step):type(T)
   end, x)
   both_ways(T .. ' TemporalMaxPooling, places', function()
      local module = nn.TemporalMaxPooling(span, step):type(T)
      return module:forward(x), module.indices
   end)
end

local function volumes(T)
   local function small() return random(1, 3) end
   local inputs, outputs = random(1, 3), random(1, 3)
   local kt, kw, kh, dt, dw, dh, pt, pw, ph = small(), small(), small(), small(), small(), small(), random(0, 1),
      random(0, 1), random(0, 2)
   local x = torch.randn(random(1, 3), random(1, 8) == 1 and inputs + 1 or inputs, random(1, 6), random(1, 6),
      random(1, 6)):type(T)
   if random(1, 6) == 1 then x = x:transpose(3, 4) end
   if random(1, 3) == 1 then x = x[1] end
   phases(T, 'VolumetricConvolution', x, inputs, outputs, kt, kw, kh, dt, dw, dh, pt, pw, ph)
   phases(T, 'VolumetricDilatedConvolution', x, inputs, outputs, kt, kw, kh, dt, dw, dh, pt, pw, ph, small(), small(),
      small())
   phases(T, 'VolumetricFullConvolution', x, inputs, outputs, kt, kw, kh, dt, dw, dh, pt, pw, ph, random(0, dt - 1),
      random(0, dw - 1), random(0, dh - 1))
end

local function plane_by_plane(T)
   local inputs, outputs, kw, kh = random(1, 3), random(1, 3), random(1, 3), random(1, 3)
   local dw, dh, pictures = random(1, 3), random(1, 3), images(T, inputs, 1, 9)
   local connections, seeded = nn.tables.random(inputs, outputs, random(1, inputs)), torch.random(1000)
   for _, name in ipairs{ 'SpatialConvolutionMap', 'SpatialFullConvolutionMap' } do
      three_phases(('%s %s'):format(T, name), function()
         torch.manualSeed(seeded)
         return nn[name](connections, kw, kh, dw, dh):type(T)
      end, pictures:sum() - pictures:sum() == 0 and pictures or torch.ones(inputs, 4, 5):type(T))
   end
   phases(T, 'SpatialSubSampling', torch.randn(pictures:size()):type(T), inputs, kw, kh, dw, dh)
   phases(T, 'SpatialSubSampling', pictures, random(1, 9) == 1 and inputs + 1 or inputs, kw, kh, dw, dh)
   phases(T, 'SpatialDepthWiseConvolution', pictures, inputs, outputs, kw, kh, dw, dh, random(0, 2), random(0, 2))
   local height, width = pictures:size(pictures:dim() - 1), pictures:size(pictures:dim())
   phases(T, 'SpatialConvolutionLocal', pictures, inputs, outputs, width, height, math.min(kw, width),
      math.min(kh, height),
      dw, dh, random(0, 1), random(0, 1))
   local frames = h.matrix(T, random(2, 9), 4)
   phases(T, 'TemporalSubSampling', frames, random(1, 9) == 1 and 5 or 4, kw, dw)
   phases(T, 'TemporalRowConvolution', frames, 4, kw, dw)
   local features_first, seeded = torch.randn(random(1, 3), 4, random(2, 9)):type(T), torch.random(1000)
   three_phases(T .. ' TemporalRowConvolution, features first', function()
      torch.manualSeed(seeded)
      return nn.TemporalRowConvolution(4, kw, dw, true):type(T):noBias()
   end, random(1, 2) == 1 and features_first or features_first[1])
end

return {
   { name = 'convolutions', types = h.REALS, run = convolutions },
   { name = 'inputs_that_change', types = h.REALS, run = inputs_that_change },
   { name = 'sequences', types = h.REALS, run = sequences },
   { name = 'volumes', types = h.REALS, run = volumes },
   { name = 'plane_by_plane', types = h.REALS, run = plane_by_plane },
}
