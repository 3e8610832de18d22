-- Where a last bit, an equal number or a NaN decides: usage: th edges.lua
require 'nn'
local nan, inf = 0 / 0, 1 / 0
local function row(t)
   local list = {}
   t:contiguous():view(-1):apply(function(x) list[#list + 1] = x ~= x and 'nan' or x == 0 and '0' or ('%.6g'):format(x) end)
   return table.concat(list, ' ')
end
local function all(tensor_of)
   for _, name in ipairs{ 'Double', 'Float' } do tensor_of(torch[name .. 'Tensor'], name) end
end
-- how many elements of each plane are NaNs
local function nans(t)
   local counts = {}
   for k = 1, t:size(1) do counts[k] = t[k]:ne(t[k]):sum() end
   return table.concat(counts, ' ')
end

print '# numbers as far apart each'
all(function(Tensor, name)
   local exact, r = Tensor(), {}
   for i, x in ipairs(torch.linspace(exact, 0, 1, 11):totable()) do r[i] = ('%.17g'):format(x) end
   print(name, table.concat(r, ' '))
   print(row(torch.logspace(exact, -3, 20, 6)))
end)

print '# a vector times itself, and what does not move'
local vector = torch.Tensor{ 0.1, 0.7, -1.3 }
print(row(torch.cross(vector, vector)), row(torch.cross(vector, vector:clone():mul(3))), row(torch.cross(vector:view(1, 3), vector:view(1, 3))))
print(torch.pointer(vector:permute(1)) == torch.pointer(vector))

print '# large results'
all(function(Tensor, name)
   local most = name == 'Double' and 710 or 89
   for _, n in ipairs{ 4, 3000 } do
      local x = Tensor(n):fill(-most)
      x[1], x[3], x[4] = most, inf, nan
      print(row(x:cosh():narrow(1, 1, 4)))
      x:fill(-most)
      x[1], x[3], x[4] = most, -inf, nan
      print(row(x:sinh():narrow(1, 1, 4)))
   end
end)

print '# bytes of large numbers'
for _, n in ipairs{ 6, 6000 } do
   local x = torch.Tensor(n):fill(2 ^ 32 + 7)
   x[1], x[2], x[3], x[4] = 300.7, -1, 2 ^ 31 - 1, 1e19
   print(row(x:byte():narrow(1, 1, 6)))
   local b = torch.ByteTensor(n):fill(11)
   print(row(torch.cpow(b, b:clone():fill(3)):narrow(1, 1, 1)), row(torch.cpow(b, b):narrow(1, 1, 1)))
end

print '# no times a NaN'
all(function(Tensor)
   local y, x = Tensor{ 1, 2 }, Tensor{ nan, inf }
   print(row(y:clone():add(0, x)), row(y:clone():csub(0, x)), row(torch.add(y, 0, x)))
end)

print '# thresholds that are not in single precision'
all(function(Tensor)
   local x = Tensor{ 0.1, 0.3, 2.844, -0.7 }
   local function both(module)
      module:type(x:type())
      print(row(module:forward(x)) .. ' | ' .. row(module:backward(x, x:clone():fill(2))))
   end
   for _, v in ipairs{ 0.1, 0.3, 2.844, -0.7 } do
      both(nn.Threshold(v, 5))
      both(nn.HardShrink(math.abs(v)))
      both(nn.SoftShrink(math.abs(v)))
      both(nn.HardTanh(-math.abs(v), math.abs(v)))
      local ones = x:clone():fill(1)
      for _, criterion in ipairs{ nn.MarginCriterion(v), nn.HingeEmbeddingCriterion(v) } do
         criterion:type(x:type())
         for _, target in ipairs{ ones, -ones } do print(row(criterion:backward(x, target))) end
      end
      local classes = nn.MultiMarginCriterion(1, nil, math.abs(v)):type(x:type())
      print(('%.6g'):format(classes:forward(Tensor{ math.abs(v), 0, 1 }, 1)), row(classes:backward(Tensor{ math.abs(v), 0, 1 }, 1)))
   end
end)

print '# no loss, no slope'
all(function(Tensor)
   local criterion = nn.CosineEmbeddingCriterion():type(Tensor():type())
   local a, b = Tensor{ { 2, 0 }, { 0, 0 }, { 1, 2 } }, Tensor{ { 0, 3 }, { 1, 2 }, { 3, 1 } }
   criterion:forward({ a, b }, Tensor{ -1, -1, -1 })
   local gradients = criterion:backward({ a, b }, Tensor{ -1, -1, -1 })
   print(row(gradients[1]), row(gradients[2]))
end)

print '# far from zero'
local far = torch.Tensor{ 19, 21, 40, 700, -19, -40 }
local soft = nn.SoftPlus()
soft:forward(far)
print(row(soft:backward(far, far:clone():fill(1)):add(-1)))

print '# a NaN in one of several planes'
all(function(Tensor)
   for _, name in ipairs{ 'SpatialConvolutionMap', 'SpatialFullConvolutionMap' } do
      local module = nn[name](torch.Tensor{ { 1, 1 }, { 2, 1 }, { 3, 2 } }, 2, 2, 2, 1):type(Tensor():type())
      local x = Tensor(3, 6, 6):fill(1)
      local gradient = module:forward(x):clone():fill(1)
      x[2][3][3] = nan
      print(nans(module:forward(x)))
      module:zeroGradParameters()
      module:backward(x, gradient)
      print(nans(module.gradWeight))
      x[2][3][3], gradient[2][2][2] = 1, inf
      print(nans(module:updateGradInput(x, gradient)), row(module.gradInput[1]:ge(1e30):double():sum(1)))
   end
end)

print '# norms that are none'
all(function(Tensor)
   local x, y = Tensor{ { 3, -1, 0 }, { 2, 2, 4 } }, Tensor{ { 1, -1, 5 }, { 2, 0, 0 } }
   for _, p in ipairs{ 0, inf, -inf, nan, -2 } do
      local layer = nn.PairwiseDistance(p):type(torch.type(x))
      print(p ~= p and 'nan' or p, row(layer:forward{ x, y }), row(layer:forward{ x[1], y[1] }), row(Tensor{ torch.dist(x, y, p), torch.norm(x, p) }))
      local a, b = unpack(layer:backward({ x[1], y[1] }, Tensor{ 1 }))
      print(row(a), row(b), 1 / b[2])
      print(row(layer:forward{ x:narrow(2, 2, 1), y:narrow(2, 2, 1) }))
   end
end)

print '# full convolutions with what is not finite'
all(function(Tensor)
   for _, odd in ipairs{ inf, -inf, nan } do
      local x, k = Tensor{ { 1, 2, 0 }, { 3, -1, 4 } }, Tensor{ { 1, odd }, { 2, 3 } }
      for _, way in ipairs{ 'conv', 'xcorr' } do
         print(row(torch[way .. 2](x, k, 'F')), row(torch[way .. 2](x, k, 'V')))
         local many, kernels = torch.cat(x:view(1, 2, 3), x:view(1, 2, 3), 1), torch.cat(k:view(1, 2, 2), k:view(1, 2, 2):clone():fill(1), 1)
         print(row(torch[way .. 2](many, kernels, 'F')), row(torch[way .. 2](many, torch.cat(kernels, kernels, 1):view(2, 2, 2, 2), 'F')))
         print(row(torch[way .. 3](x:view(1, 2, 3), k:view(1, 2, 2), 'F')))
      end
   end
end)

print '# whole numbers that wrap around in convolutions'
for _, name in ipairs{ 'Byte', 'Char', 'Short', 'Int', 'Long' } do
   local most = ({ Byte = 200, Char = 100, Short = 30000, Int = 2 ^ 31 - 2, Long = 2 ^ 53 })[name]
   local function of(t) return t:type(('torch.%sTensor'):format(name)) end
   local x, k = of(torch.Tensor{ { most, most - 1, 3 }, { 5, most, 1 } }), of(torch.Tensor{ { most, 2 }, { 3, most - 4 } })
   local function digits(t) return table.concat(t:contiguous():view(-1):long():apply(function(y) return y % 1000003 end):totable(), ' ') end
   print(name, digits(torch.conv2(x, k, 'F')), digits(torch.xcorr2(x, k)), digits(torch.conv3(x:view(1, 2, 3), k:view(1, 2, 2), 'F')))
   print(digits(torch.xcorr2(torch.cat(x, x, 1):view(2, 2, 3), torch.cat({ k, k, k, k }, 1):view(2, 2, 2, 2))))
end

print '# refused'
local function refused(f, ...)
   local ok, text = pcall(f, ...)
   print(ok or text:gsub('\n.*', ''):gsub('%s*%(?at %S+$', ''):gsub("to '%S+'", 'to'))
end
local zero, one = torch.zeros(2, 2), torch.Tensor{ { 1, 2 }, { 2, 4 } }
refused(torch.trtrs, zero, torch.Tensor{ { 1, 0 }, { 5, 0 } })
refused(torch.trtrs, zero, torch.Tensor{ { 1, 0 }, { 5, 0 } }, 'U', 'N', 'U')
refused(torch.potri, torch.Tensor{ { 1, 0 }, { 0, 0 } })
refused(torch.pstrf, one)
refused(torch.gesv, zero, one)
refused(torch.addbmm, zero, torch.ones(2, 3, 2), torch.ones(2, 2, 2))
refused(torch.baddbmm, torch.ones(2, 2, 2), torch.ones(2, 3, 2), torch.ones(2, 2, 2))
refused(torch.addmv, torch.ones(2), torch.ones(3, 2), torch.ones(2))
refused(zero.bernoulli, zero, torch.ones(3))
refused(torch.multinomial, torch.Tensor(), 1)
for _, planes in ipairs{ { { 2, 2 }, { 3, 3 } }, { { 2, 2, 2 }, { 2, 3, 3 } }, { { 2, 2, 2 }, { 1, 2, 3, 3 } }, { { 2, 3, 3 }, { 1, 1, 2, 2 } }, { { 2, 3, 3 }, { 1, 2, 2 } } } do
   refused(torch.conv2, torch.ones(unpack(planes[1])), torch.ones(unpack(planes[2])))
end

print '# of nothing'
local none = torch.Tensor()
print(none:bernoulli(2):nElement(), none:geometric(7):nElement(), none:logNormal(0, -1):nElement(), none:normal(0, -1):nElement(), torch.IntTensor():div(0):nElement())
print(row(torch.histc(none, 2, -1, 1)))

print '# norms below a negative one'
all(function(Tensor)
   for _, p in ipairs{ 1, 2, 3 } do print(row(torch.renorm(Tensor{ { 3, -4 }, { 0, 0.5 } }, p, 1, -2)), row(torch.renorm(Tensor{ { 3, -4 }, { 0, 0.5 } }, p, 2, -0.5))) end
end)
