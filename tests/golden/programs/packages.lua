-- Random uses of optim, image, CmdLine and of printing: the same for the same seed in every Torch7.
-- usage: th packages.lua SEED COUNT [FIRST]
require 'nn'
require 'optim'
require 'image'
local draws = dofile((arg[0]:match('^(.*/)') or './') .. 'draws.lua')
local whole, pick, chance, tell = draws.whole, draws.pick, draws.chance, draws.tell

local function told(x)
   if torch.isTensor(x) then return 'tensor' end
   return type(x) == 'table' and 'table' or tostring(x)
end
local function tell_call(name, ...)
   local texts = {}
   for i = 1, select('#', ...) do texts[i] = told((select(i, ...))) end
   tell(('%s(%s)'):format(name, table.concat(texts, ',')))
end
-- Lines as one
local function line(text) return (text:gsub('\n', '|')) end

-- optim

local METHODS = { 'sgd', 'asgd', 'nag', 'adagrad', 'adadelta', 'adam', 'adamax', 'rmsprop', 'rprop', 'cg', 'lbfgs' }
local FIELDS = {
   sgd = { learningRate = { 0.1, 0.01 }, learningRateDecay = { 0.01 }, weightDecay = { 0.1 }, momentum = { 0.5, 0.9 } },
   asgd = { eta0 = { 0.01 }, lambda = { 0.01 }, alpha = { 0.5 }, t0 = { 2 } },
   nag = { learningRate = { 0.1 }, learningRateDecay = { 0.01 }, weightDecay = { 0.1 } },
   adagrad = { learningRate = { 0.1 }, learningRateDecay = { 0.01 }, weightDecay = { 0.1 } },
   adadelta = { rho = { 0.8 }, eps = { 1e-5 }, weightDecay = { 0.1 } },
   adam = { learningRate = { 0.1, 0.01 }, learningRateDecay = { 0.1 }, beta1 = { 0.5 }, beta2 = { 0.9 }, epsilon = { 1e-5 },
      weightDecay = { 0.1 } },
   adamax = { learningRate = { 0.1 }, beta1 = { 0.5 }, beta2 = { 0.9 }, epsilon = { 1e-20 } },
   rmsprop = { learningRate = { 0.1 }, alpha = { 0.5 }, epsilon = { 1e-5 }, weightDecay = { 0.1 }, initialMean = { 0.5 } },
   rprop = { stepsize = { 0.05 }, etaplus = { 1.1 }, etaminus = { 0.6 }, niter = { 2 } },
   cg = { maxIter = { 2, 5 }, rho = { 0.02 } },
   lbfgs = { maxIter = { 2, 5 }, learningRate = { 0.5, 1 }, nCorrection = { 2 }, lineSearch = { false } },
}
local function sorted(t)
   local keys = {}
   for key in pairs(t) do keys[#keys + 1] = key end
   table.sort(keys)
   return keys
end
local function optimised()
   local name, T = pick(METHODS), pick{ 'Double', 'Float' }
   if name == 'lbfgs' or name == 'cg' then T = 'Double' end -- how many steps they take is a matter of rounding
   local config, texts = {}, {}
   for _, field in ipairs(sorted(FIELDS[name])) do
      local values = FIELDS[name][field]
      if chance(0.4) then
         config[field] = pick(values)
         texts[#texts + 1] = field .. '=' .. tostring(config[field])
      end
   end
   if name == 'nag' then config.momentum = pick{ 0.5, 0.9 } end
   if name == 'sgd' and config.momentum and chance(0.3) then config.nesterov, config.dampening = true, 0 end
   local n, steps = whole(1, 4), whole(1, 6)
   tell(('optim.%s %s %s, %d steps of %d'):format(name, T, table.concat(texts, ','), steps, n))
   local a = torch[T .. 'Tensor'](n):apply(function() return draws.draw() * 2 + 0.5 end)
   local x = torch[T .. 'Tensor'](n):apply(function() return draws.draw() * 4 - 2 end)
   local state = chance(0.3) and {} or nil
   local function f(x) return torch.cmul(a, x):dot(x) / 2 + x:sum(), torch.cmul(a, x):add(1) end
   local losses
   for _ = 1, steps do
      local _, fs = optim[name](f, x, config, state)
      losses = fs
   end
   local fields = {}
   -- how many evaluations a line search near the minimum takes is a matter of rounding
   local searches = name == 'cg' or name == 'lbfgs'
   if searches then losses = losses[#losses] end
   for key, value in pairs(state or config) do
      if type(value) == 'number' and not (searches and (key == 'nIter' or key == 'funcEval')) then fields[#fields + 1] = ('%s=%.5g'):format(key, value) end
   end
   table.sort(fields)
   return x, losses, table.concat(fields, ' ')
end
local function confusion()
   local n = whole(2, 4)
   tell('ConfusionMatrix ' .. n)
   local matrix = optim.ConfusionMatrix(n)
   for _ = 1, whole(1, 8) do
      if chance(0.5) then
         matrix:add(whole(1, n), whole(1, n))
      else
         local batch = whole(1, 3)
         matrix:batchAdd(draws.plain('Double', { batch, n }, function() return draws.draw() end),
            draws.plain('Double', { batch }, function() return whole(1, n) end))
      end
   end
   if chance(0.5) then matrix:updateValids() end
   return line(tostring(matrix)), matrix.totalValid, matrix.averageValid
end

-- image

local function picture(planes, h, w, T)
   return draws.plain(T or pick{ 'Double', 'Float' }, { planes or pick{ 1, 3 }, h or whole(2, 6), w or whole(2, 6) },
      function() return math.floor(draws.draw() * 1000) / 1000 end)
end
local IMAGE = {
   scale = function() return picture(), whole(1, 9), whole(1, 9), pick{ 'bilinear', 'simple', 'bicubic' } end,
   ['scale '] = function() return picture(), pick{ '^4', '5', '*2', '3x4', '4x3' } end,
   crop = function() return picture(nil, 5, 6), whole(0, 3), whole(0, 2), whole(4, 6), whole(3, 5) end,
   ['crop '] = function() return picture(nil, 5, 6), pick{ 'c', 'tl', 'tr', 'bl', 'br' }, whole(1, 5), whole(1, 5) end,
   hflip = function() return picture() end, vflip = function() return picture() end,
   flip = function() return picture(), whole(1, 3) end,
   translate = function() return picture(), whole(-2, 2), whole(-2, 2) end,
   rotate = function() return picture(nil, 5, 6), whole(-30, 30) / 10, pick{ 'simple', 'bilinear' } end,
   polar = function() return picture(nil, 5, 6), pick{ 'simple', 'bilinear' }, pick{ 'cropped', 'full' } end,
   logpolar = function() return picture(nil, 5, 6), pick{ 'simple', 'bilinear' }, pick{ 'cropped', 'full' } end,
   rgb2yuv = function() return picture(3) end, yuv2rgb = function() return picture(3) end,
   rgb2hsv = function() return picture(3) end, hsv2rgb = function() return picture(3) end,
   rgb2hsl = function() return picture(3) end, hsl2rgb = function() return picture(3) end,
   rgb2lab = function() return picture(3) end, lab2rgb = function() return picture(3):mul(50) end,
   rgb2y = function() return picture(3) end, y2jet = function() return picture(1):mul(9):add(1):floor() end,
   minmax = function() return { tensor = picture() } end,
   gaussian = function()
      return { size = pick{ 3, 4, 5 }, sigma = pick{ 0.1, 0.25 }, amplitude = pick{ 1, 2 }, normalize = chance(0.5) }
   end,
   gaussian1D = function() return pick{ 3, 5 }, pick{ 0.1, 0.3 } end,
   laplacian = function() return pick{ 3, 5 }, pick{ 0.1, 0.3 } end,
   convolve = function() return picture(), picture(1, 2, 2)[1], pick{ 'valid', 'same', 'full' } end,
   lcn = function() return picture(1, 12, 12), image.gaussian(3) end,
   erode = function() return picture(1):round() end, dilate = function() return picture(1):round() end,
   toDisplayTensor = function()
      return { input = { picture(1, 3, 3), picture(1, 3, 3), picture(1, 3, 3) }, padding = whole(0, 2), nrow = whole(1, 3) }
   end,
   warp = function()
      local T = pick{ 'Double', 'Float' }
      return picture(nil, 5, 5, T), draws.plain(T, { 2, 4, 4 }, function() return whole(-20, 20) / 10 end),
         pick{ 'simple', 'bilinear', 'bicubic', 'lanczos' }, chance(0.7), pick{ 'clamp', 'pad' }, 0.5
   end,
   affinetransform = function()
      return picture(nil, 5, 5, 'Double'), draws.plain('Double', { 2, 2 }, function() return whole(-15, 15) / 10 end),
         pick{ 'simple', 'bilinear' }
   end,
   drawRect = function()
      return picture(3, 8, 8), whole(1, 3), whole(1, 3), whole(4, 8), whole(4, 8),
         { lineWidth = whole(1, 2), color = { 0, 255, 9 } }
   end,
}
local function drawn()
   local name = pick(sorted(IMAGE))
   local arguments = { IMAGE[name]() }
   name = name:gsub(' ', '')
   tell_call('image.' .. name, unpack(arguments))
   return image[name](unpack(arguments))
end

-- CmdLine

local function commanded()
   local cmd = torch.CmdLine(pick{ nil, '_' }, nil)
   cmd:text('a program')
   local words, texts = {}, {}
   for i = 1, whole(0, 2) do
      cmd:argument('-in' .. i, 'the input ' .. i)
      words[#words + 1] = 'file' .. i
   end
   for i = 1, whole(1, 4) do
      local default = pick{ 0.5, 3, 'text', false, true }
      local key = '-' .. pick{ 'rate', 'size', 'name', 'on', 'x' } .. i
      cmd:option(key, default, 'the ' .. key)
      if chance(0.5) then
         words[#words + 1] = key
         if type(default) ~= 'boolean' then
            words[#words + 1] = type(default) == 'number' and pick{ '7', '0.25', '1e-3' } or 'word'
         end
      end
   end
   tell('CmdLine ' .. table.concat(words, ' '))
   local values = cmd:parse(words)
   for _, key in ipairs(sorted(values)) do texts[#texts + 1] = key .. '=' .. tostring(values[key]) end
   local print_ = print
   print = function() end
   local name = cmd:string('exp', values, {})
   print = print_
   return table.concat(texts, ' '), name
end

-- printing

local NUMBERS = { 0, 1, -1, 0.5, 1e-5, 123456, 1e10, -2.25, 1 / 3, 7, 1e-12, 99999.5 }
local function number() return chance(0.3) and pick(NUMBERS) or whole(-3000, 3000) / pick{ 1, 10, 1000, 1e6 } end
local function printed()
   local T = pick{ 'Double', 'Float', 'Long', 'Int', 'Byte', 'Char', 'Short' }
   local floating = T == 'Double' or T == 'Float'
   local function value()
      if T == 'Byte' then return whole(0, 255) end
      return floating and number() or whole(-100, 100)
   end
   local sizes = draws.sizes(whole(1, 4), 4)
   if chance(0.3) then sizes[#sizes] = whole(5, 24) end
   local t = draws.tensor(T, sizes, value)
   if chance(0.1) and floating then t:storage()[1] = pick{ 1 / 0, -1 / 0, 0 / 0 } end
   if chance(0.1) then return line(tostring(t:storage())) end
   return line(tostring(t))
end

draws.run(function() return pick{ optimised, confusion, drawn, drawn, drawn, commanded, printed, printed } end)
