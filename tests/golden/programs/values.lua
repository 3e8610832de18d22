-- Values and texts at the edges of what scripts use: usage: th values.lua
-- Errors are printed without folders and without the places in Torch7's C sources.
require 'nn'
local function row(t) return table.concat(t:totable(), ' ') end
local nan, inf = 0 / 0, 1 / 0

print '# the order of equal elements'
local l = torch.Tensor{5, 3, 8, 3, 5, 5, 9, 2, 3, 8, 5, 3, 7, 5, 2, 3}
print(row((select(2, torch.sort(l)))))
print(row((select(2, torch.sort(l, true)))))
print(select(2, torch.median(l))[1], select(2, torch.mode(l))[1], select(2, l:kthvalue(8))[1])
print(row((select(2, l:topk(4, 1, true, true)))))
for _, kind in ipairs{ 'Double', 'Float', 'Long', 'Byte' } do
   for _, descending in ipairs{ false, true } do
      torch.manualSeed(3)
      local x = torch[kind .. 'Tensor'](5000):random(0, 100)
      local v, p = x:sort(1, descending)
      print(kind, v:clone():double():cmul(torch.range(1, 5000)):sum(), p:double():cmul(torch.range(1, 5000)):sum())
      local m, at = x:view(50, 100):median(1)
      print(m:sum(), at:double():cmul(torch.range(1, 100):view(1, 100)):sum())
   end
end
local x = torch.IntTensor({{{2},{-3},{0}},{{0},{3},{0}}}):expand(2, 3, 2)
local m, p = x:median(3)
print(row(m:view(-1)), row(p:view(-1)))
print(torch.Tensor{3, nan, 1, 2}:kthvalue(1)[1], row(torch.Tensor{3, nan, 1, 2}:sort(1, true):narrow(1, 3, 2)))

print '# elements that share memory'
for _, kind in ipairs{ 'Double', 'Float', 'Int', 'Long', 'Byte' } do
   local Tensor = torch[kind .. 'Tensor']
   local x = Tensor(3, 1):fill(2)
   x:expand(3, 3):mul(2)
   print(row(x:view(-1)))
   x:fill(1):expand(3, 3):add(2)
   print(row(x:view(-1)))
   x:fill(5):expand(3, 3000):clamp(0, 3) -- more than are computed in Lua
   print(row(x:view(-1)))
   x:expand(3, 2):copy(Tensor{{1, 2}, {3, 4}, {5, 6}})
   print(row(x:view(-1)))
   x:expand(3, 2):cmul(Tensor{{1, 2}, {3, 4}, {5, 6}})
   print(row(x:view(-1)))
   local y = Tensor{1, 1, 1, 1}
   y:unfold(1, 2, 1):add(1)
   print(row(y))
   y = Tensor(1):fill(0)
   y:expand(4):indexCopy(1, torch.LongTensor{2, 3}, Tensor{7, 8})
   print(y[1])
   y:expand(4):scatter(1, torch.LongTensor{4, 1}, 9)
   print(y[1])
   x = Tensor(1, 2):fill(1)
   x:expand(2, 2):addmm(Tensor{{1, 2}, {3, 4}}, Tensor{{1, 0}, {0, 1}})
   print(row(x:view(-1)))
end

print '# arithmetic'
print(row(torch.Tensor{3, -2, 5, 0.3, 1} % 0.1))
print(row(torch.remainder(torch.Tensor{3, -2, 5, -0.3}, -0.1)))
print(row(torch.remainder(torch.IntTensor{5, -5, 4}, 3)), row(torch.remainder(torch.IntTensor{5, -5, 4}, -3)))
print(row(torch.Tensor{nan}:cmax(0.5)), row(torch.Tensor{nan}:cmin(torch.Tensor{0.5})), row(torch.Tensor{1, 2}:cmax(2)))
print(row(torch.Tensor{-1, 1, 9}:clamp(5, 2)), row(torch.IntTensor{-1, 1, 9}:clamp(5, 2)))
print(row(torch.ByteTensor():range(10, 5, -3)), row(torch.ByteTensor():range(5, -2, -2)))
print(row(torch.IntTensor():range(1.7, 5.2, 1.5)), row(torch.FloatTensor():range(1.5, 5.2, 1.5)))
print(row(torch.Tensor(2):exponential(0)))
print(row(torch.IntTensor{nan, inf, -inf, 1e10, -1.5}), row(torch.ShortTensor{nan, 1e10, 300.7}))
print(torch.LongTensor(1):fill(nan)[1], torch.LongTensor(1):fill(inf)[1], torch.LongTensor{1}:add(nan)[1])
print(row(torch.Tensor{1, 2, 3, 4}:histc(4, 3, 1)), row(torch.Tensor{1, 1, 1}:histc(4)), row(torch.Tensor{1, 2, 4}:histc(3, 1, 4)))
print(row(torch.ShortTensor{-1, 4}:rshift(1)), row(torch.CharTensor{-128}:crshift(torch.CharTensor{7})))
for _, kind in ipairs{ 'Double', 'Float' } do
   local x = torch[kind .. 'Tensor']{{1.5}, {2}}
   local s, v, b = x:std(2), x:var(2), x:std(2, true)
   print(s[1][1] ~= s[1][1], v[2][1] ~= v[2][1], row(b:view(-1)))
end

print '# results'
local t, r, i, mask = torch.Tensor{1, 2, 3}, torch.Tensor(), torch.LongTensor{2}, torch.ByteTensor{1, 0, 0}
print(torch.pointer(r:index(t, 1, i)) == torch.pointer(i), r[1], t:index(1, i)[1])
print(torch.pointer(r:maskedSelect(t, mask)) == torch.pointer(mask), r[1])
print(paths.extname('.hidden'), paths.extname('a.b.c'), paths.extname('/x.y/a'), (select('#', paths.extname('a'))))
print(select('#', paths.uname()), (paths.uname()))
local f = torch.MemoryFile()
f:writeString('abc')
f:seek(1)
print(f:readString('*a'), (select(2, pcall(f.readString, f, '*a')):gsub(' at .*', '')))
print(f:quiet():readString('*a'), f:hasError())
local cmd = torch.CmdLine()
cmd:argument('-file', 'an argument')
cmd:option('-lr', 0.1, 'h')
print('[' .. cmd:string('exp', cmd:parse{ 'pos' }, {}) .. ']')
print('[' .. cmd:string('exp', { lr = 0.1 }, {}) .. ']')

print '# matrices with NaN and infinity'
print(torch.Tensor{{1, nan}, {2, 3}})
print(torch.Tensor{{1.5, inf}, {nan, 3}})
print(torch.FloatTensor(2, 30):fill(nan))
print(torch.Tensor{{{1, nan}, {2, 3}}, {{1, 2}, {3, 4}}})

print '# modules'
print(nn.Normalize(0.5), nn.Normalize(2), nn.DistKLDivCriterion(false).sizeAverage, (pcall(nn.Power)))
local pooling = nn.SpatialMaxPooling(1, 1, 2, 2):ceil()
local image = torch.range(1, 16):view(1, 4, 4)
print(row(pooling:forward(image):view(-1)), row(pooling.indices:view(-1)))
print(pooling:backward(image, torch.ones(1, 3, 3)):sum())
local mean = nn.SpatialAveragePooling(2, 2, 3, 3):ceil():forward(torch.ones(1, 6, 5))
print(row(mean:size()), mean[1][2][2], mean[1][3][1] ~= mean[1][3][1])
print(row(nn.VolumetricMaxPooling(1, 2, 2, 2, 2, 2):ceil():forward(torch.ones(1, 2, 3, 4)):size()))
print(row(nn.SpatialDilatedMaxPooling(1, 1, 2, 2):ceil():forward(torch.ones(1, 4, 4)):size()))
local subsampling = nn.SpatialSubSampling(3, 2, 2, 2, 2)
local y = torch.randn(2, 3, 4, 4)
local before = subsampling:forward(y):clone()
for _, name in ipairs{ 'weight', 'gradWeight', 'bias', 'gradBias' } do -- as in files of old versions
   subsampling[name] = subsampling[name]:view(3, 1, 1)
end
subsampling:zeroGradParameters()
subsampling:backward(y, before)
print((subsampling:forward(y) - before):abs():max(), row(subsampling.gradWeight:size()))
local mixture = nn.MixtureTable()
mixture:forward{ torch.rand(2, 3), { torch.rand(2, 4), torch.rand(2, 4), torch.rand(2, 4) } }
print(row(mixture:forward{ torch.ones(2), { torch.ones(4), torch.ones(4) } }))

print '# errors'
local t = torch.Tensor(3, 4)
local function message(f, ...)
   local text = select(2, pcall(f, ...))
   print((text:gsub(' at [^ ]*%.c:?%d*', ''):gsub('^%S*(values%.lua)', '%1')))
end
message(function() local x = t:narrow(5, 1, 1) end)
message(function() return t:narrow(5, 1, 1) end)
message(function() local f = t.narrow local x = f(t, 5, 1, 1) end)
message(t.narrow, t, 5, 1, 1)
message(function() local x = t[5] end)
message(function() local x = t:t():t():t().x() end)
message(function() local x = torch.Tensor():t() end)
message(function() local x = torch.sum(t, 3) end)
message(function() local x = t:sum(3) end)
message(function() local x = t:norm(2, 5) end)
message(function() local x = torch.Tensor():unfold(1, 1, 1) end)
message(function() local x = t:mm(t) end)
message(function() local x = torch.mm(t, t) end)
message(function() local x = t:copy(torch.Tensor(5)) end)
message(function() local x = t + torch.Tensor(7) end)
message(function() local x = t:fill('a') end)
message(function() local x = t:narrow(1, 1) end)
message(function() local x = torch.Tensor('a') end)
message(function() local x = torch.bitand(t, 1) end)
message(function() local x = t:cbitor(t) end)
message(function() local x = torch.bmm(torch.Tensor(2, 2, 3), torch.Tensor(2, 4, 2)) end)
message(function() local x = torch.bmm(torch.Tensor(2, 2, 3), torch.Tensor(3, 3, 2)) end)
message(function() local x = torch.Tensor(2, 2):gather(0, torch.LongTensor(2, 2):fill(1)) end)
message(function() local x = t:indexCopy(1, torch.LongTensor{ 7 }, torch.Tensor(1, 4)) end)
message(function() local x = t:lt(torch.Tensor(2)) end)
message(function() local x = t:cmax(torch.Tensor(2)) end)
message(function() local x = t:maskedFill(torch.ByteTensor(2):zero(), 1) end)
message(function() local x = torch.cross(torch.Tensor(2), torch.Tensor(2)) end)
message(function() local x = t:topk(9) end)
message(function() local x = torch.ger(t, t) end)
message(function() local x = torch.range(5, 1) end)
message(function() local x = torch.IntTensor.range() end)

print '-- masks of zeros'
local large, smaller, none = torch.ones(3), torch.zeros(3), torch.ByteTensor(3):zero()
print(row(large:clone():maskedCopy(none, torch.Tensor())))
local largest, least = nn.CMaxTable(), nn.CMinTable()
print(row(largest:forward{ large, smaller }), row(largest:backward({ large, smaller }, large)[2]))
print(row(least:forward{ smaller, large }), row(least:backward({ smaller, large }, large)[2]))

print '-- criterions'
local ranking, several = nn.MarginRankingCriterion(0.1), { torch.Tensor{ 1, 2, 3 }, torch.Tensor{ 2, 1, 5 } }
print(ranking:forward(several, 1), row(ranking:backward(several, 1)[1]), row(ranking.gradInput[2]))
print(ranking:forward(several, -1), 1 / ranking:backward(several, -1)[1][1])
local ys = torch.Tensor{ 1, 1, -1 }
print(ranking:forward(several, ys), row(ranking:backward(several, ys)[1]), row(ranking.gradInput[2]))
print(row(ranking:backward(several, 1)[1]))
local of_pixels, scores, places = nn.SpatialClassNLLCriterion(torch.Tensor{ 1, 2 }), torch.range(1, 8):view(1, 2, 2, 2), torch.ones(1, 2, 2)
local gradient = of_pixels.gradInput
places[1][1][2] = 2
print(of_pixels:forward(scores, places), row(of_pixels:backward(scores, places):view(-1)), gradient == of_pixels.gradInput)
local multi, class = nn.MultiMarginCriterion(2, torch.Tensor{ 1, 2, 4 }), torch.Tensor{ 3, 1 }
local of_classes = torch.Tensor{ { 0.5, 1, 0.25 }, { 1, 0.5, 2 } }
print(('%.12g'):format(multi:forward(of_classes, class)), (row(multi:backward(of_classes, class):mul(96):view(-1))))

print '-- distances'
local distance, input = nn.Euclidean(2, 1), torch.Tensor{ { 3, 4 }, { 6, 8 } }
distance.weight:zero()
distance:zeroGradParameters()
distance:forward(input)
distance.output:mul(2) -- by a layer in its place
print(('%.5f %.5f %.5f %.5f'):format(unpack(distance:backward(input, torch.ones(2, 1)):view(-1):totable())), ('%.5f %.5f'):format(unpack(distance.gradWeight:view(-1):totable())))

print '-- what reset leaves alone, and what is updated where parameters are shared'
local slope = nn.PReLU()
slope.weight:fill(0.5)
slope:reset()
print(slope.weight[1], nn.Sequential():add(slope):reset(), slope.weight[1])
local sequence = nn.TemporalConvolution(1, 1, 1)
sequence.weight:fill(2)
sequence.bias:fill(1)
sequence:share(sequence:clone(), 'weight', 'bias')
sequence:zeroGradParameters()
sequence:forward(torch.ones(2, 1))
sequence:backwardUpdate(torch.ones(2, 1), torch.ones(2, 1), 0.25)
print(sequence.shared, sequence.weight[1][1], sequence.bias[1], sequence.gradWeight[1][1], sequence.gradBias[1])

print '-- a bottle of as many dimensions as it takes, with a gradient that lies apart'
local bottle, apart = nn.Bottle(nn.Identity()), torch.range(1, 6):view(3, 2):t()
bottle:forward(torch.ones(2, 3))
print(row(bottle:backward(torch.ones(2, 3), apart):reshape(6)), bottle.gradInput:stride(1))

print '-- strides that stay where a tensor gets another storage but keeps its sizes'
local numbers = torch.range(1, 9)
for _, view in ipairs{ torch.ones(3, 2):select(2, 1), torch.ones(1):expand(3), torch.ones(2, 2):t() } do
   view:set(numbers:storage(), 2, view:size())
   print(row(view:clone():view(-1)), view:stride(1), view:stride(view:dim()))
end
local apart = torch.ones(3, 3):select(2, 1)
print(apart:set(numbers:storage(), 1, 3, -1):stride(1), apart:set(numbers:storage(), 1, 2):stride(1))

print '-- callbacks that return false, true or too few elements'
local function keep_small(x) return x > 1 and 0 end
for _, kind in ipairs{ 'Double', 'Float', 'Byte' } do
   local x = torch[kind .. 'Tensor']{ 1, 2, 1 }
   print(row(x:clone():apply(keep_small)), row(x:clone():map(x, keep_small)), row(x:clone():map2(x, x, keep_small)))
   print(row(x:clone():apply(function(y) return y == 2 end)), row(x:clone():map(x, function(y, z) return y == z end)))
   for _, y in ipairs{ x:narrow(1, 1, 2), x:view(3, 1):expand(3, 2) } do
      local _, text = pcall(x.map, x, y, keep_small)
      print(text:match('size mismatch') or text:match('inconsistent tensor size'))
   end
end

print '-- numbers that end within a word'
local name = os.tmpname()
for _, text in ipairs{ '12abc', '1,2', '1.9 2', '5000000000 -129', '99999999999999999999', '0x1p3', '1e400 7', 'x', '' } do
   local file = io.open(name, 'w')
   file:write(text)
   file:close()
   for _, kind in ipairs{ 'Double', 'Float', 'Long', 'Int', 'Short', 'Char' } do
      file = torch.DiskFile(name):quiet()
      local found = {}
      for k = 1, 3 do
         local x = file['read' .. kind](file)
         found[k] = file:hasError() and 'none' or x
      end
      print(kind, text, table.concat(found, ' '), file:position())
      file:close()
   end
end
os.remove(name)

print '-- sizes that are nil, and what errors name'
local function why(pattern, f) print((select(2, pcall(f)):match(pattern))) end
for _, f in ipairs{
   function() return torch.Tensor(3, nil):dim() end,
   function() return torch.FloatTensor(2, 3, nil):dim() end,
   function() return torch.Tensor():resize(nil):dim() end,
   function() return torch.Tensor():resize(2, nil):dim() end,
   function() return torch.Tensor():set(numbers:storage(), nil):dim() end,
   function() return torch.Tensor():set(numbers:storage(), 1, 2, nil):dim() end,
   function() return nn.LookupTable(3).weight end,
   function() return nn.Euclidean(3).weight end,
} do why('number expected', f) end
for _, module in ipairs{ nn.Select(1, 3), nn.Narrow(1, 1, 3) } do
   why("bad argument #%d to '%w+'", function() module:forward(torch.ones(2, 2)) end)
end
why("bad argument #%d to '%w+' %(size mismatch", function() torch.IntStorage(3):copy(torch.IntStorage(2)) end)
local weighted = nn.ClassNLLCriterion(torch.ones(3))
why('weight tensor.*%]', function() weighted:forward(torch.ones(2), 1) end)
why('weight tensor.*%]', function() weighted:forward(torch.ones(1, 2), torch.ones(1)) end)

print '-- copies between storages, and the sign of a zero in half precision'
local long = torch.LongStorage{ 2 ^ 32 + 1, -2 ^ 53, 511, 2 ^ 40 - 1 }
for _, kind in ipairs{ 'Byte', 'Char', 'Short', 'Int', 'Double' } do
   print(kind, unpack(torch[kind .. 'Storage'](4):copy(long):totable()))
end
print(unpack(torch.LongStorage(3):copy(torch.DoubleStorage{ 2 ^ 62, 0 / 0, -1.5 }):totable()))
local halves = torch.HalfStorage(2)
halves[1], halves[2] = 0 * -1, 0
print(1 / halves[1], 1 / halves[2])

print '-- masks and callbacks of other sizes'
local empty, mask = torch.Tensor(), torch.ByteTensor(2, 3):fill(1)
local sizes = 'inconsistent tensor size, expected .-respectively'
why(sizes, function() empty:maskedSelect(mask) end)
why(sizes, function() empty:maskedFill(mask, 1) end)
why(sizes, function() empty[mask] = 1 end)
why(sizes, function() return empty[mask] end)
print(empty:maskedSelect(mask.new()):dim(), empty:maskedFill(mask.new(), 3))
why(sizes, function() torch.ones(2, 3):t():map(torch.ones(2, 2), math.max) end)
why(sizes, function() torch.ones(2, 3):t():map2(torch.ones(2, 2), torch.ones(7), math.max) end)
why('bad argument.-dimension 0', function() torch.cat(numbers, numbers, 0) end)
why('expected arguments.*', function() numbers:cmax(mask) end)
why('expected arguments.*', function() numbers:cmul(mask) end)

print '-- copies by nn.Replicate, and calls of THNN with too few or too many arguments'
for _, input in ipairs{ torch.ones(3, 1), torch.ones(1, 2) } do
   print(unpack(nn.Replicate(2, 1, 1):forward(input):stride():totable()))
end
local rows = torch.ones(2, 3)
for _, arguments in ipairs{ { rows }, { rows, torch.Tensor(), 1 }, {} } do
   local pointers = {}
   for k, argument in ipairs(arguments) do pointers[k] = torch.isTensor(argument) and argument:cdata() or argument end
   why('wrong.*', function() rows.THNN.Tanh_updateOutput(unpack(pointers)) end)
end

print '-- indices with fractions, and arguments of storages'
local counted = torch.range(1, 6):view(2, 3)
for _, i in ipairs{ 0.5, 0.999, 1.9, 2.5, -0.5, -1.5, -1, 3 } do
   for _, f in ipairs{ function() return counted[{ 1, i }] end, function() return counted[{ {}, { i } }]:sum() end,
      function() return counted[{ {}, { 1, i } }]:sum() end, function() return counted[1][i] end } do
      local ok, found = pcall(f)
      print(i, ok and found or found:match("%a+ ?%a* ?%a* out of %a+") or 'out')
   end
   local copy = counted:clone()
   print(i, (pcall(function() copy[{ 2, i }] = 0 copy[1][i] = 7 end)), copy:sum())
end
for _, wrong in ipairs{ 'x', true, {}, false } do
   why('number expected, got %w+', function() torch.DoubleStorage(2):fill(wrong) end)
   if wrong ~= 'x' then print(torch.ByteStorage(2):fill(66):string(wrong)) end
end
why('Torch: .*overflow', function() torch.IntStorage(2):resize(-1) end)
why('Torch: .*overflow', function() torch.IntStorage(-1) end)
print(torch.IntStorage(-0.5):size())
why('out of bounds', function() nn.View(-1):setNumInputDims(3):forward(torch.ones(2)) end)

print '-- whole numbers of 64 bits'
local large = torch.LongTensor{ 2 ^ 53, 5 }
local larger = large:clone():add(1)
larger[2] = 5
print(large:equal(larger), large:equal(large:clone()), large:eq(larger):sum(), torch.LongTensor{ 3 }:equal(torch.LongTensor{ 3 }))
