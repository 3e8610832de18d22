-- Transfer functions and softmax.
local h = require 'harness'
local both_ways, random, sample, matrix = h.both_ways, h.random, h.sample, h.matrix

local function other_sizes(T)
   local a, b, c = random(1, 4), random(1, 4), random(1, 4)
   local x, y = torch.randn(a, 2 * b, c):type(T):narrow(2, 2, b), torch.randn(a * b, c):type(T)
   local z = torch.randn(c, a * b):type(T):t()
   both_ways(T .. ' other sizes', function()
      local sums = torch.add(x, y)
      return sums, x:clone():cmul(y), y:clone():cmul(x), torch.cmul(y, x), torch.add(y:view(a, b, c), 0.5, z),
         torch.randn(2 * a, b, c):type(T):narrow(1, 1, a):cmul(y), z:clone():add(x), torch.cmul(z, y:view(b, c, a))
   end)
end

local function transfers(T)
   local x = sample(T, random(1, 4))
   local y = torch.randn(x:size()):type(T)
   if random(1, 2) == 1 and x:dim() > 1 then y = y:transpose(1, 2):clone():transpose(1, 2) end
   local made = { -- with their parameters
      { 'ReLU' }, { 'LeakyReLU', random(-1, 2) * 0.3 }, { 'Threshold', random(-1, 1), random(0, 1) }, { 'Sigmoid' },
         { 'Tanh' }, { 'Square' },
      { 'Abs' }, { 'Sqrt' }, { 'Exp' }, { 'Log' }, { 'TanhShrink' }, { 'SoftSign' }, { 'LogSigmoid' },
         { 'SoftPlus', random(1, 2) },
      { 'HardShrink', random(0, 2) * 0.5 }, { 'SoftShrink', random(-1, 2) * 0.5 }, { 'ELU', random(1, 3) * 0.5 },
         { 'ReLU6' },
      { 'HardTanh', -random(0, 2), random(1, 2) }, { 'HardTanh', 0, 1 / 0 }, { 'Power', 2 }, { 'Power', 3 },
         { 'Power', 2.5 }, { 'Power', ({ -1, -0.5, 0.5, 1.5 })[random(1, 4)] },
   }
   local EXACT = 6 -- so many have one result at a NaN; in the gradients of others, PyTorch's depends on where it lies
   for k, row in ipairs(made) do
      both_ways(('%s %s'):format(T, row[1]), function()
         local module = nn[row[1] ](unpack(row, 2)):type(T)
         return module:forward(x), module:backward(x, y)
      end)
      if k == EXACT then x[x:ne(x)] = 0 end
   end
   local numbers = { 0 / 0, -(0 / 0), 1 / 0, -1 / 0, 0, -0, 1e-310, -1e-310, 1e-40, -1e-40, 1e-300, -1e-300, 3, -3,
      1e38, -1e38 }
   local special = torch.Tensor(numbers):type(T)
   for k, row in ipairs(made) do
      both_ways(('%s %s of unusual numbers'):format(T, row[1]), function()
         local module = nn[row[1] ](unpack(row, 2)):type(T)
         local x = k > EXACT and special:narrow(1, 3, #numbers - 2) or special
         return module:forward(x), module:updateGradInput(x, x:clone():fill(0.5))
      end)
   end
   for _, module in ipairs{ nn.ReLU(true), nn.ELU(0.7, true), nn.HardTanh(-1, 1, true), nn.ReLU6(true),
      nn.LeakyReLU(0.1, true) } do
      both_ways(T .. ' in place', function()
         local input, gradient = x:clone(), y:clone()
         module:type(T)
         return module:forward(input):clone(), module:backward(input, gradient):clone(), input, gradient
      end)
   end
   local many = torch.randn(random(30, 60), random(80, 130)):type(T)
   for k = 1, 40 do many:view(-1)[random(1, many:nElement())] = (k % 9 - 4) * 0.5 end
   for _, row in ipairs(made) do
      both_ways(('%s %s of many'):format(T, row[1]), function()
         local module, gradient = nn[row[1] ](unpack(row, 2)):type(T), torch.randn(many:size()):type(T)
         return module:forward(many), module:backward(many, gradient), torch.cmul(many, gradient),
            torch.add(many, 0.5, gradient)
      end)
   end
end

local function soft_maxima(T)
   local x = random(1, 3) == 1 and torch.randn(random(1, 40)):type(T) or matrix(T, random(1, 30), random(1, 20))
   x:mul(3)
   local y = torch.randn(x:size()):type(T)
   if random(1, 2) == 1 then
      y = x:dim() == 1 and torch.randn(1):type(T):expandAs(x) or y:narrow(2, 1, 1):expandAs(x)
   end
   if random(1, 6) == 1 and x:dim() == 2 then
      x[random(1, x:size(1))][random(1, x:size(2))] = ({ 0 / 0, 1 / 0, -1 / 0 })[random(1, 3)]
   end
   for _, name in ipairs{ 'SoftMax', 'LogSoftMax', 'SoftMin' } do
      both_ways(('%s %s'):format(T, name), function()
         local module = nn[name]():type(T)
         return module:forward(x), module:backward(x, y)
      end)
   end
end

local function soft_maxima_of_images(T)
   local x = torch.randn(random(1, 4), random(1, 9), random(1, 9), random(1, 9)):type(T):mul(random(1, 9))
   if random(1, 3) == 1 then x = x[1] end
   local y = torch.randn(x:size()):type(T)
   if random(1, 4) == 1 then x = x:transpose(1, 2) y = y:transpose(1, 2) end
   if random(1, 4) == 1 then y = y:narrow(1, 1, 1):expandAs(x) end
   if random(1, 6) == 1 and x:isContiguous() then
      x:view(-1)[random(1, x:nElement())] = ({ 0 / 0, 1 / 0, -1 / 0, 1e300 })[random(1, 4)]
   end
   for _, name in ipairs{ 'SpatialSoftMax', 'SpatialLogSoftMax', 'SoftMin' } do
      both_ways(('%s %s of images'):format(T, name), function()
         local module = nn[name]():type(T)
         return module:forward(x), module:backward(x, y)
      end)
   end
end

local function gated_units(T)
   local x = matrix(T, random(1, 9), 2 * random(1, 30))
   if random(1, 2) == 1 then x = torch.randn(random(1, 4), 2 * random(1, 4), random(1, 6), 2 * random(1, 5)):type(T) end
   if random(1, 4) == 1 then x = x:transpose(1, 2) end
   if random(1, 6) == 1 and x:isContiguous() then
      x:view(-1)[random(1, x:nElement())] = ({ 0 / 0, 1 / 0, -1 / 0, 800, -800 })[random(1, 5)]
   end
   for d = 1, x:dim() do
      if x:size(d) % 2 == 0 then
         local sizes = x:size()
         sizes[d] = sizes[d] / 2
         local g = torch.randn(sizes):type(T)
         if random(1, 4) == 1 then
            g = torch.randn(1):type(T):set(torch.randn(1):type(T):storage(), 1, sizes,
               torch.LongStorage(#sizes):fill(0))
         end
         both_ways(('%s GatedLinearUnit(%d)'):format(T, d), function()
            local module = nn.GatedLinearUnit(d):type(T)
            return module:forward(x), module:backward(x, g)
         end)
      end
   end
end

local function with_weights(T)
   local a, b = h.two_batches(T)
   local planes = random(1, 3) == 1 and a:size(a:dim()) or 0
   both_ways(T .. ' PReLU', function()
      local module = nn.PReLU(random(1, 6) == 1 and planes + 1 or planes):type(T)
      module.gradWeight:fill(0.25)
      local y, grad_input = module:forward(a), module:updateGradInput(a, b)
      module:accGradParameters(a, b, 0.5)
      return y, grad_input, module.gradWeight
   end)
   local x = h.images(T, 3, 1, 6)
   both_ways(T .. ' PReLU of images', function()
      local module = nn.PReLU(x:dim() == 4 and 3 or 1):type(T)
      module.weight:uniform(-1, 1)
      module.gradWeight:fill(0.25)
      local y, gradient = module:forward(x), torch.randn(x:size()):type(T)
      local grad_input = module:updateGradInput(x, gradient)
      module:accGradParameters(x, gradient, 0.5)
      return y, grad_input, module.gradWeight
   end)
end

local function random_slopes(T)
   local a, b = h.two_batches(T)
   local evaluates = random(1, 2) == 1
   both_ways(T .. ' RReLU', function()
      local module = nn.RReLU(0.1, 0.4):type(T)
      if evaluates then module:evaluate() end
      return module:forward(a), module:updateGradInput(a, b)
   end)
end

return {
   { name = 'other_sizes', types = h.REALS, run = other_sizes },
   { name = 'transfers', types = h.REALS, run = transfers },
   { name = 'soft_maxima', types = h.REALS, run = soft_maxima },
   { name = 'soft_maxima_of_images', types = h.REALS, run = soft_maxima_of_images },
   { name = 'gated_units', types = h.REALS, run = gated_units },
   { name = 'with_weights', types = h.REALS, run = with_weights },
   { name = 'random_slopes', types = h.REALS, run = random_slopes },
}
