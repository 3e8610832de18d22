-- Losses and their gradients.
local h = require 'harness'
local FLOATING, whole_numbers, both_ways, random, sample, same_bits = h.FLOATING, h.whole_numbers, h.both_ways,
   h.random, h.sample, h.same_bits

local function criterions(T)
   local rows, classes = random(1, 5), random(2, 6)
   local x, target = torch.randn(rows, classes):type(T), whole_numbers(rows):random(classes)
   if random(1, 2) == 1 then x = x:t():clone():t() end
   local weights = random(1, 2) == 1 and torch.rand(classes):type(T) or nil
   local average, ignored = random(1, 2) == 1, random(1, classes)
   local bad = target:clone()
   bad[random(1, rows)] = ({ 0, classes + 1, -1, 2 ^ 40 })[random(1, 4)]
   for _, classes_given in ipairs{ target, bad } do
      both_ways(T .. ' ClassNLL', function()
         local criterion = nn.ClassNLLCriterion(weights, average, ignored):type(T)
         local loss = criterion:forward(x, classes_given)
         return loss, criterion.total_weight_tensor, criterion:backward(x, classes_given)
      end)
   end
   local y = sample(T, 2)
   local z = torch.randn(y:size()):type(T)
   local signs, chances = torch.randn(y:size()):type(T):sign(), torch.rand(y:size()):type(T)
   if random(1, 2) == 1 then signs:mul(0.5):round() end
   local margin = random(0, 2)
   for _, name in ipairs{ 'MarginCriterion', 'HingeEmbeddingCriterion' } do
      both_ways(T .. ' ' .. name, function()
         local criterion = nn[name](margin):type(T)
         criterion.sizeAverage = average
         return criterion:forward(y, signs), criterion:backward(y, signs)
      end)
   end
   local weights_of_columns = random(1, 2) == 1 and torch.rand(y:size(2)) or nil
   both_ways(T .. ' BCE', function()
      local criterion = nn.BCECriterion(weights_of_columns, average):type(T)
      local x = chances:clone():mul(0.9):add(0.05)
      return criterion:forward(x, signs:clone():gt(0):type(T)), criterion:backward(x, signs:clone():gt(0):type(T))
   end)
   local lists = torch.Tensor(rows, classes):random(0, classes):type(T)
   if random(1, 6) == 1 then lists[random(1, rows)][random(1, classes)] = classes + 1 end
   if random(1, 8) == 1 then x = x:clone() x[random(1, rows)][1] = ({ 0 / 0, 1 / 0, -1 / 0 })[random(1, 3)] end
   for _, given in ipairs{ target, bad } do
      both_ways(T .. ' MultiMarginCriterion', function()
         local criterion = nn.MultiMarginCriterion(random(1, 2), weights, margin):type(T)
         criterion.sizeAverage = average
         return criterion:forward(x, given), criterion:backward(x, given), criterion:forward(x[1], given[1])
      end)
   end
   both_ways(T .. ' MultiLabelMarginCriterion', function()
      local criterion = nn.MultiLabelMarginCriterion():type(T)
      criterion.sizeAverage = average
      return criterion:forward(x, lists), criterion:backward(x, lists), criterion:forward(x[1], lists[1])
   end)
   both_ways(T .. ' MultiLabelSoftMarginCriterion', function()
      local criterion, labels = nn.MultiLabelSoftMarginCriterion(weights, average):type(T), torch.gt(lists, 1):type(T)
      return criterion:forward(x, labels), criterion:backward(x, labels)
   end)
   for _, name in ipairs{ 'MSECriterion', 'AbsCriterion', 'SmoothL1Criterion', 'DistKLDivCriterion',
      'SoftMarginCriterion' } do
      both_ways(T .. ' ' .. name, function()
         local criterion = nn[name](average):type(T)
         return criterion:forward(y, z), criterion:backward(y, z)
      end)
   end
end

-- Tensors of as many elements in other sizes.
-- Parts of matrices that lie in rows, as the gates of an LSTM do: of results, of what they are made of, or of one in
-- its place.
local function parts_of_many(T)
   local rows, columns = random(2, 40), random(30, 90)
   local function part()
      local whole = torch.randn(rows, 2 * columns + 1):mul(3):type(T)
      local kind = random(1, 4)
      if kind == 1 then return torch.randn(rows, columns):type(T) end
      if kind == 2 then return whole:view(rows, 1, 2 * columns + 1):narrow(3, 2, columns):select(2, 1) end
      return whole:narrow(2, random(1, columns + 2), columns)
   end
   local x, y = part(), part()
   if FLOATING[T] and random(1, 3) == 1 then
      local numbers = { 0 / 0, 1 / 0, -1 / 0, 1e30, -0, 1e-310 }
      x[rows][columns], y[1][1] = numbers[random(1, 6)], numbers[random(1, 6)]
   end
   same_bits(T .. ' parts of many', function()
      local results = {}
      local function keep(name, ...)
         local first, second = part(), part()
         local both = torch.cat(first, second, 2)
         local left, right = both:narrow(2, 1, columns), both:narrow(2, columns + 1, columns)
         for _, result in ipairs{ first[name](first, ...), left[name](left, left, select(2, ...)),
            right[name](right, left, select(2, ...)), both } do
            results[#results + 1] = result:clone()
         end
      end
      for _, name in ipairs(FLOATING[T] and { 'add', 'csub', 'cmul', 'cdiv', 'cmax' } or { 'add', 'csub', 'cmul' }) do
         keep(name, x, y)
      end
      keep('add', x, 3)
      keep('mul', y, 2)
      if FLOATING[T] then
         for _, name in ipairs{ 'abs', 'sqrt', 'neg', 'floor', 'cinv' } do keep(name, x) end
         results[#results + 1] = part():add(x, 0.5, y)
      end
      return results
   end)
end

-- Losses of many elements, and of the pixels of images.
local function losses_of_many(T)
   local a, b, c, d = random(1, 3), random(1, 4), random(5, 30), random(5, 40)
   local x, y = torch.randn(a, b, c, d):type(T), torch.randn(a + 1, b + 2, c + 3, d + 2):type(T)
   y = y:narrow(1, 1, a):narrow(2, 2, b):narrow(3, random(1, 4), c):narrow(4, 2, d)
   if random(1, 4) == 1 then y = y:clone() elseif random(1, 4) == 1 then x, y = x[1], y[1] end
   both_ways(T .. ' MSECriterion of many', function()
      return nn.MSECriterion():type(T):forward(x, y), nn.MSECriterion(false):type(T):forward(x:view(-1),
         y:clone():view(-1))
   end)
   local classes = random(2, 5)
   local scores = torch.randn(a, classes, c, d):type(T)
   local target = whole_numbers(a, c, d):random(classes)
   if random(1, 5) == 1 then
      target:view(-1)[random(1, target:nElement())] = ({ 0, classes + 1, 2 ^ 32 + 1, -2 ^ 40 })[random(1, 4)]
   end
   local weights = random(1, 2) == 1 and torch.rand(classes):type(T) or nil
   if random(1, 4) == 1 then scores = scores:transpose(3, 4):clone():transpose(3, 4) end
   local ignored = random(1, 2) == 1 and random(-1, classes + 2) or nil
   if ignored and random(1, 2) == 1 then target:view(-1)[random(1, target:nElement())] = ignored end
   both_ways(T .. ' SpatialClassNLLCriterion', function()
      local criterion = nn.SpatialClassNLLCriterion(weights, random(1, 2) == 1, ignored):type(T)
      return criterion:forward(scores, target), criterion.total_weight_tensor, criterion:backward(scores, target)
   end)
end

local function cosine_embedding(T)
   local a, b = h.two_batches(T)
   local signs, margin, average = torch.randn(a:dim() == 2 and a:size(1) or 1):sign():type(T), torch.uniform(-1, 1),
      random(1, 2) == 1
   both_ways(T .. ' CosineEmbeddingCriterion', function()
      local criterion = nn.CosineEmbeddingCriterion(margin):type(T)
      criterion.sizeAverage = average
      return criterion:forward({ a, b }, signs), unpack(criterion:backward({ a, b }, signs))
   end, function()
      -- of cos = sum(a b) / (|a| |b|) by a: b / (|a| |b|) - a cos / |a|^2, whose two terms may cancel
      local function rows(t) return t:clone():view(-1, t:size(t:dim())):double():abs() end
      local x, y = rows(a), rows(b)
      local product = torch.cmul(x, y):sum(2):expandAs(x)
      local of_x, of_y = x:norm(2, 2):expandAs(x), y:norm(2, 2):expandAs(x)
      local both, n = torch.cmul(of_x, of_y), 10 + x:size(2)
      local function terms(own, other, norm)
         return torch.cmul(own, product):cdiv(both):cdiv(norm):cdiv(norm):add(torch.cdiv(other, both))
      end
      return { nil, h.rounding(terms(x, y, of_x), n), h.rounding(terms(y, x, of_y), n) }
   end)
end

return {
   { name = 'criterions', types = h.REALS, run = criterions },
   { name = 'parts_of_many', types = h.REALS, run = parts_of_many },
   { name = 'losses_of_many', types = h.REALS, run = losses_of_many },
   { name = 'cosine_embedding', types = h.REALS, run = cosine_embedding },
}
