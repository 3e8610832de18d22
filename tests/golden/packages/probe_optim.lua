-- Records what optim's functions do on small problems: th probe_optim.lua OUT.t7
-- (with a Torch7 that has optim on its LUA_PATH).
require 'torch'
require 'optim'

-- Rosenbrock's function of n variables
local function rosenbrock(x)
   local n = x:size(1)
   local f, g = 0, x:clone():zero()
   for i = 1, n - 1 do
      local a, b = x[i + 1] - x[i] ^ 2, 1 - x[i]
      f = f + 100 * a ^ 2 + b ^ 2
      g[i] = g[i] - 400 * a * x[i] - 2 * b
      g[i + 1] = g[i + 1] + 200 * a
   end
   return f, g
end

-- A bowl with unequal axes; not quadratic, as line searches would then divide rounding errors by one another
local function bowl(x)
   local linear, cubic = torch.cmul(torch.linspace(1, 5, x:size(1)), x), torch.pow(x, 3)
   return 0.5 * linear:dot(x) + 0.25 * cubic:dot(x), linear + cubic
end

local rates = torch.Tensor{ 0.5, 1, 2 }
local decays = torch.Tensor{ 0, 0.1, 0.2 }

local cases = {
   { 'sgd', {} }, { 'sgd', { learningRate = 0.01, learningRateDecay = 0.1, weightDecay = 0.01 } },
   { 'sgd', { learningRate = 0.01, momentum = 0.9 } },
   { 'sgd', { learningRate = 0.01, momentum = 0.9, dampening = 0.5 } },
   { 'sgd', { learningRate = 0.01, momentum = 0.9, dampening = 0, nesterov = true } },
   { 'sgd', { learningRate = 0.01, learningRates = rates, weightDecays = decays } },
   { 'asgd', {} }, { 'asgd', { eta0 = 0.01, lambda = 0.1, alpha = 0.5, t0 = 3 } },
   { 'nag', {} }, { 'nag', { learningRate = 0.01, learningRateDecay = 0.1, weightDecay = 0.1, momentum = 0.5 } },
   { 'nag', { learningRates = rates } },
   { 'adagrad', {} }, { 'adagrad', { learningRate = 0.1, learningRateDecay = 0.1, weightDecay = 0.1 } },
   { 'adadelta', {} }, { 'adadelta', { rho = 0.5, eps = 1e-3, weightDecay = 0.1 } },
   { 'adam', {} }, { 'adam', { learningRate = 0.1, learningRateDecay = 0.1, beta1 = 0.5, beta2 = 0.9, epsilon = 0.1,
      weightDecay = 0.1 } },
   { 'adamax', {} }, { 'adamax', { learningRate = 0.1, beta1 = 0.5, beta2 = 0.9, weightDecay = 0.1 } },
   { 'rmsprop', {} }, { 'rmsprop', { learningRate = 0.1, alpha = 0.5, epsilon = 0.1, weightDecay = 0.1,
      initialMean = 1 } },
   { 'rprop', {} }, { 'rprop', { stepsize = 0.01, etaplus = 1.5, etaminus = 0.3, stepsizemax = 0.02,
      stepsizemin = 0.005, niter = 3 } },
   { 'lbfgs', { maxIter = 8, learningRate = 0.1 } }, { 'lbfgs', { nCorrection = 2, maxIter = 6 } },
   { 'lbfgs', { maxIter = 1, learningRate = 0.1 } },
   { 'lbfgs', { maxIter = 8, tolFun = 1e-3, tolX = 1e-4, lineSearch = optim.lswolfe } },
   { 'lbfgs', { maxIter = 6, tolFun = 1e-3, tolX = 1e-4, lineSearch = optim.lswolfe,
      lineSearchOptions = { maxIter = 3, c2 = 0.1 } } },
   { 'cg', {} }, { 'cg', { maxIter = 10 } }, { 'cg', { maxEval = 7, rho = 0.1, sig = 0.3, ratio = 5 } },
   { 'de', { popsize = 10, scaleFactor = 0.5, crossoverRate = 0.9, maxFEs = 100 } },
   { 'de', { scaleFactor = 0.7, crossoverRate = 0.3, maxFEs = 300, minRegion = -2, maxRegion = 2 } },
}

-- Only what a file should hold: numbers, strings, tensors and lists of them.
local function kept(value)
   if torch.isTensor(value) then return value:clone() end
   if type(value) ~= 'table' then return type(value) ~= 'function' and value or nil end
   local copy = {}
   for k, v in pairs(value) do copy[k] = kept(v) end
   return copy
end

local results = {}
local function record(name, config, f, x, steps, split)
   local state = split and {} or config
   local entry = { name = name, values = {} }
   for step = 1, steps do
      local point, values, more = optim[name](f, x, config, split and state or nil)
      entry.values[step], entry.more = kept(values), kept(more)
      entry.x = point:clone()
   end
   entry.state = kept(state)
   -- buffers whose contents nobody set
   for _, buffer in ipairs{ 'dir_bufs', 'stp_bufs', 'ro', 'df3', 'tmp', 'deltaParameters' } do
      if entry.state then entry.state[buffer] = nil end
   end
   results[#results + 1] = entry
end

local function copied(config)
   local copy = {}
   for k, v in pairs(config) do copy[k] = v end
   return copy
end

for _, case in ipairs(cases) do
   local name, config = case[1], case[2]
   local steps = (name == 'cg' or name == 'de') and 1 or 5
   for _, f in ipairs{ rosenbrock, bowl } do
      record(name, copied(config), f, torch.Tensor{ 0.3, -0.2, 0.5 }, steps)
   end
   record(name, copied(config), bowl, torch.Tensor{ 1, -1, 2 }, steps, name ~= 'de')
end

-- FISTA: the lasso of a small system
local A, b = torch.Tensor{ { 1, 2, 0 }, { 0, 1, -1 }, { 3, 0, 1 }, { 1, 1, 1 } }, torch.Tensor{ 1, -2, 0.5, 3 }
local lambda = 0.2
local function fit(x, derivative)
   local rest = A * x - b
   return 0.5 * rest:dot(rest), derivative and A:t() * rest
end
local function shrink(x, L)
   x:apply(function(v) return v > lambda / L and v - lambda / L or v < -lambda / L and v + lambda / L or 0 end)
end
for _, update in ipairs{ true, false } do
   local x, history = optim.FistaLS(fit, function(v) return lambda * v:clone():abs():sum() end, shrink, torch.zeros(3),
      { doFistaUpdate = update, maxiter = 20, errthres = 1e-6 })
   results[#results + 1] = { name = 'FistaLS', x = x, history = history }
end

-- Interpolating polynomials
for _, points in ipairs{ { { 0, 1, -1 }, { 1, 0.5, 2 } }, { { 0, 1, -1 }, { 2, 3, -4 } },
   { { 0, 1, -1 }, { 1, 0.5, 2 }, { 2, 4, 1 } }, { { 0, 0, -1 }, { 1, -1, -1 } } } do
   points = torch.Tensor(points)
   local entry = { name = 'polyinterp' }
   entry.free = { optim.polyinterp(points) }
   entry.bounded = { optim.polyinterp(points, -0.5, 3) }
   results[#results + 1] = entry
end

-- Gradients
do
   local x = torch.Tensor{ 0.3, -0.2, 0.5 }
   local _, exact, estimated = optim.checkgrad(rosenbrock, x)
   results[#results + 1] = { name = 'checkgrad', exact = exact, estimated = estimated, x = x }
end

-- Confusion matrices
do
   local matrix = optim.ConfusionMatrix{ 'cat', 'dog', 'bird' }
   matrix:add(1, 1)
   matrix:add(2, 0)
   matrix:add(torch.Tensor{ 0.1, 0.7, 0.2 }, 1)
   matrix:add(torch.Tensor{ 0.1, 0.7, 0.2 }, torch.Tensor{ 0, 0, 1 })
   matrix:batchAdd(torch.Tensor{ 1, 2, 3, 1 }, torch.Tensor{ 1, 2, 2, 0 })
   matrix:batchAdd(torch.Tensor{ { 1, 2, 3 }, { 3, 2, 1 } }, torch.LongTensor{ 3, 2 })
   matrix:batchAdd(torch.Tensor{ { 1 }, { 2 } }, torch.Tensor{ { 1, 0, 0 }, { 0, 1, 0 } })
   local entry = { name = 'ConfusionMatrix', text = tostring(matrix) }
   entry.rates = { matrix:farFrr() }
   entry.matrix = matrix
   results[#results + 1] = entry
   local empty = optim.ConfusionMatrix(2)
   empty:add(1, 2)
   results[#results + 1] = { name = 'ConfusionMatrix', text = tostring(empty) }
end

torch.save(arg[1], results)
