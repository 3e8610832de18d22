-- Equal calls give equal bits, whatever was loaded in between: prints what differs, and how many results were compared.
require 'nn'

local function results()
   torch.manualSeed(3)
   local found = {}
   local function add(name, ...)
      for _, t in ipairs{ ... } do
         found[#found + 1] = { name, type(t) == 'number' and torch.Tensor{ t } or t:clone() }
      end
   end
   for _, class in ipairs{ 'torch.DoubleTensor', 'torch.FloatTensor' } do
      local function random(...) return torch.randn(...):type(class) end
      for n = 2, 14 do
         local name = n .. ' of ' .. class
         local a, b, c, v, w = random(n, n), random(n, n), random(n, n), random(n), random(n)
         add('mm ' .. name, a * b, a * b:t(), torch.addmm(0.3, c, 0.7, a, b))
         add('mv ' .. name, a * v, torch.addmv(0.3, v, 0.7, a, w), torch.ger(v, w), torch.addr(0.3, c, 0.7, v, w))
         local x, y = random(n * n * n), random(n * n * n)
         add('dot ' .. name, x:dot(y), v:dot(w))
         add('bmm ' .. name, torch.bmm(random(n, n, n), random(n, n, n)),
            torch.bmm(random(n, n, 9 * n), random(n, 9 * n, 1)))
         local m = random(3 * n, 5 * n)
         add('along ' .. name, m:sum(1), m:sum(2), m:mean(1), m:prod(2), m:norm(2, 1), (m:max(1)), (m:min(2)))
         for _, layer in ipairs{ nn.SoftMax(), nn.LogSoftMax(), nn.SoftMin() } do
            layer:type(class)
            add(torch.type(layer) .. ' ' .. name, layer:forward(m), layer:backward(m, m))
         end
         local lookup = nn.LookupTable(9, 5 * n):type(class)
         local places = torch.rand(2 * n):mul(9):ceil():long()
         lookup:zeroGradParameters()
         lookup:forward(places)
         lookup:accGradParameters(places, random(2 * n, 5 * n), 0.7)
         add('LookupTable ' .. name, lookup.gradWeight)
         local pooling, image = nn.SpatialMaxPooling(2, 2):type(class), random(2, 2 * n, 2 * n)
         add('SpatialMaxPooling ' .. name, pooling:forward(image), pooling:backward(image, random(2, n, n)))
      end
   end
   return found
end

local first = results()
for _, load in ipairs{ function() return torch.ones(40, 40) * torch.ones(40, 40) end,
   function() return torch.inverse(torch.eye(3)) end } do
   load()
   for k, result in ipairs(results()) do
      local name, t = unpack(result)
      if not t:equal(first[k][2]) then print(name, (t - first[k][2]):abs():max()) end
   end
end
print(#first .. ' compared')
