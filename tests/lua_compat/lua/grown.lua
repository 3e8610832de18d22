-- Results grow from call to call, and tensors that a call has read or written may be given more elements by the next.
require 'nn'
require 'image'

for _, class in ipairs{ 'torch.DoubleTensor', 'torch.FloatTensor' } do
   local function random(...) return torch.rand(...):type(class) end
   local function empty() return torch.Tensor():type(class) end
   local layer, roots, rest, a, b = nn.Sqrt():type(class), empty(), empty(), empty(), empty()
   for _, n in ipairs{ 30000, 60000, 120000 } do
      local x = random(n, 2)
      assert((layer:forward(x):clone():cmul(layer.output) - x):abs():max() < 1e-6)
      layer:backward(x, x)
      torch.sqrt(roots, random(2, n):t())
      torch.log(a, random(n, 2))
      torch.log(b, random(2, n):t())
      a[1][1] = math.huge
      torch.cfmod(rest, a, b)
      assert(roots:size(1) == n and rest:size(1) == n)
   end
   for _, read in ipairs{
      function(t) return image.scale(t, 30, 30) end,
      function(t) return image.rotate(t, 0.3) end,
      function(t) return image.hflip(t) end,
      function(t) return image.warp(t, torch.zeros(2, 60, 60):type(class)) end,
   } do
      local picture, flat = random(3, 60, 60), random(3, 60, 60):transpose(2, 3)
      local found = read(flat)
      assert((found - read(flat:clone())):abs():max() == 0)
      read(picture)
      torch.log(picture, random(3, 400, 400))
      assert(picture:size(3) == 400)
   end
end

-- A result that begins behind its storage's elements is an error; the storage, whose memory the kernel has moved, is
-- the same for both sides.
do
   local storage, result, layer = torch.FloatStorage(2), torch.FloatTensor(), nn.SpatialSoftMax()
   result:set(storage, 5, 0, 3)
   layer.gradInput = result
   local x = torch.rand(3, 1, 3, 9)
   layer:forward(x)
   pcall(layer.backward, layer, x, x)
   storage[1] = 7
   require('torch.core.ways').only 'pytorch' -- reads
   assert(torch.add(torch.FloatTensor(storage, 1, 1, 1), 1)[1] == 8)
end
