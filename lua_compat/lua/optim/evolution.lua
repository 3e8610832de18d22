-- Minimisation without gradients: CMA-ES and differential evolution.

-- The constants of CMA-ES (N. Hansen, "The CMA evolution strategy: a tutorial") for n variables and a population.
local function strategy(n, population)
   local mu = population / 2
   local weights = torch.range(0, mu - 1):apply(function(i) return math.log(mu + 0.5) - math.log(i + 1) end)
   weights:div(weights:sum())
   local effective = weights:sum() ^ 2 / torch.pow(weights, 2):sum()
   local c1 = 2 / ((n + 1.3) ^ 2 + effective)
   local cs = (effective + 2) / (n + effective + 5)
   return {
      parents = math.floor(mu), weights = weights, effective = effective,
      cc = (4 + effective / n) / (n + 4 + 2 * effective / n),
      cs = cs, c1 = c1,
      cmu = math.min(1 - c1, 2 * (effective - 2 + 1 / effective) / ((n + 2) ^ 2 + effective)),
      damping = 2 * effective / population + 0.3 + cs,
   }
end

-- The state of a search: the mean, the covariance matrix C = axes scales^2 axes^T with its paths, the best point.
local Search = {}
Search.__index = Search

function Search.new(x, settings)
   local n = x:nElement()
   local population = settings.popsize or 4 + math.floor(3 * math.log(n))
   local s = strategy(n, population)
   s.weights = s.weights:typeAs(x)
   return setmetatable({
      n = n, settings = settings, population = population, constants = s,
      mean = x:clone():view(-1), sigma = settings.sigma,
      path_c = x.new(n):zero(), path_s = x.new(n):zero(),
      C = torch.eye(n):typeAs(x), axes = torch.eye(n):typeAs(x), scales = x.new(n):fill(1),
      inverse_root = torch.eye(n):typeAs(x),
      candidates = x.new(population, n), fitness = torch.Tensor(population),
      decomposed = 0, evaluations = 0, best = {},
   }, Search)
end

-- Draws the candidates. The matrix is decomposed only occasionally, because that is expensive.
function Search:ask()
   local s = self.constants
   if self.evaluations - self.decomposed > self.population / (s.c1 + s.cmu) / self.n / 10 then
      self.decomposed = self.evaluations
      local C = torch.triu(self.C) + torch.triu(self.C, 1):t()
      local variances
      variances, self.axes = torch.symeig(C, 'V')
      self.C, self.scales = C, torch.sqrt(variances)
      self.inverse_root = self.axes * torch.diag(torch.pow(self.scales, -1)) * self.axes:t()
   end
   for k = 1, self.population do
      local z = self.scales:clone():normal(0, 1):cmul(self.scales)
      self.candidates[k] = torch.add(self.mean, (self.axes * z) * self.sigma)
   end
end

-- Moves the mean towards the better half of the candidates, and adapts to the step.
function Search:tell()
   local s = self.constants
   self.evaluations = self.evaluations + self.population
   local order
   self.fitness, order = torch.sort(self.fitness)
   local chosen = self.candidates:index(1, order:narrow(1, 1, s.parents))
   if not self.best.f or self.fitness[1] < self.best.f then
      self.best = { x = chosen[1]:clone(), f = self.fitness[1], evaluations = self.evaluations }
   end
   local old = self.mean:clone()
   self.mean:zero()
   self.mean:addmv(chosen:t(), s.weights)
   self:learn(chosen, old)
end

-- Updates the paths, the covariance matrix and the step size from a step of the mean.
function Search:learn(chosen, old)
   local s, n = self.constants, self.n
   local moved = self.mean - old
   self.path_s = self.path_s - self.path_s * s.cs
      + (self.inverse_root * moved) * ((s.cs * (2 - s.cs) * s.effective) ^ 0.5 / self.sigma)
   local length = torch.sum(torch.pow(self.path_s, 2))
   local expected = 1 - (1 - s.cs) ^ (2 * self.evaluations / self.population)
   local hsig = length / expected / n < 2 + 4 / (n + 1) and 1 or 0
   self.path_c = self.path_c - self.path_c * s.cc
      + moved * ((s.cc * (2 - s.cc) * s.effective) ^ 0.5 / self.sigma) * hsig

   local c1a = s.c1 - (1 - hsig ^ 2) * s.c1 * s.cc * (2 - s.cc)
   local steps = chosen - old:view(1, n):expandAs(chosen)
   local weighted = torch.cmul(steps, s.weights:view(-1, 1):expandAs(steps))
   self.C = self.C * (1 - c1a - s.cmu) + torch.ger(self.path_c, self.path_c) * s.c1
      + (steps:t() * weighted) * (s.cmu / self.sigma ^ 2)
   self.sigma = self.sigma * math.exp(math.min(0.6, (s.cs / s.damping) * (length / n - 1) / 2))
end

function Search:reasons_to_stop()
   local reasons = {}
   if self.evaluations == 0 then return reasons end
   local most = tonumber(self.settings.maxEval) or 1e3 * self.n ^ 2
   local target, fitness, scales = self.settings.ftarget, self.fitness, self.scales
   if self.evaluations >= most then reasons.evals = most end
   if target and fitness[1] <= target then reasons.ftarget = target end
   if scales:max() > 1e7 * scales:min() then reasons.condition = 1e7 end
   if self.population > 1 and fitness[self.population] - fitness[1] < 1e-12 then reasons.tolfun = 1e-12 end
   if self.sigma * scales:max() < 1e-11 then reasons.tolx = 1e-11 end
   return reasons
end

-- Prints a line every `every` iterations.
function Search:show(every)
   if every == 0 then return end
   local done = self.evaluations / self.population
   if done == 1 or done % (10 * every) == 0 then print('evals:\t ax-ratio max(std)   f-value') end
   if done <= 2 or done % every == 0 then
      print(('%d:  %6.1f %8.1e %s'):format(self.evaluations, self.scales:max() / self.scales:min(),
         self.sigma * math.sqrt(torch.diag(self.C):max()), tostring(self.fitness[1])))
   end
end

function Search:show_result(iterations)
   for reason, value in pairs(self:reasons_to_stop()) do print('termination by', reason, '=', value) end
   print('best f-value =', self.best.f)
   print('solution = ')
   print(self.best.x)
   print('best found at iteration: ', self.best.evaluations / self.population, ' , total iterations: ', iterations)
end

-- opfunc(x) returns f(x); no gradient is used. Settings in the state (or else config): sigma (initial step size,
-- required), maxEval 1000 n^2, ftarget, popsize 4 + 3 log n, min_iterations 1, verb_disp (print every so many
-- iterations; 0: never). Returns the best point, the best value of each iteration, and the number of evaluations.
function optim.cmaes(opfunc, x, config, state)
   if x.triu == nil or x.diag == nil then
      error(('Unsupported Tensor %s please use Float- or DoubleTensor for x'):format(x:type()), 2)
   end
   state = state or config or {}
   assert(state.sigma, 'optim.cmaes: sigma, the initial step size, is required')
   local search = Search.new(x, state)
   local shown = state.verb_disp or 0
   local values = { (opfunc(x)) }
   local iterations = 0
   while next(search:reasons_to_stop()) == nil or iterations < (state.min_iterations or 1) do
      iterations = iterations + 1
      search:ask()
      for i = 1, search.population do search.fitness[i] = opfunc(search.candidates[i]:viewAs(x)) end
      search:tell()
      values[#values + 1] = search.fitness[1]
      search:show(shown)
   end
   if shown > 0 then search:show_result(iterations) end
   values[#values + 1] = search.best.f
   return search.best.x, values, search.evaluations
end

-- config: maxFEs (evaluations, required), scaleFactor and crossoverRate (required), popsize 10 n, minRegion -30 and
-- maxRegion 30. Returns the best point and a tensor with the values of all evaluations. It draws from a generator of
-- its own, with seed 1.
function optim.de(opfunc, x, config)
   config = config or {}
   local max_eval = assert(tonumber(config.maxFEs), 'optim.de: maxFEs, the number of evaluations, is required')
   local scale = assert(config.scaleFactor, 'optim.de: scaleFactor is required')
   local crossover = assert(config.crossoverRate, 'optim.de: crossoverRate is required')
   local n = x:nElement()
   local size = config.popsize or 10 * n
   assert(size >= 4, 'optim.de: popsize must be at least 4')
   local random = torch.Generator()
   torch.manualSeed(random, 1)

   local values, evaluations = x.new(max_eval):zero(), 0
   local function evaluate(point)
      local f = opfunc(point)
      evaluations = evaluations + 1
      if evaluations <= max_eval then values[evaluations] = f end
      return f
   end

   local population, children = x.new(size, n), x.new(size, n)
   local fitness, child_fitness = x.new(size), x.new(size)
   population:uniform(random, config.minRegion or -30, config.maxRegion or 30)
   for i = 1, size do fitness[i] = evaluate(population[i]) end
   local least, index = fitness:max(1) -- like Torch7, starts from the worst point
   local best, solution = least[1], population[index[1]]:clone()

   local function another(...)
      local taken = { ... }
      while true do
         local r = torch.random(random, 1, size)
         local free = true
         for _, other in ipairs(taken) do free = free and r ~= other end
         if free then return r end
      end
   end

   while evaluations + 1 < max_eval do
      for i = 1, size do
         local r1 = another(i)
         local r2 = another(r1, i)
         local always = torch.random(random, 1, n)
         local child, parent, one, two = children[i], population[i], population[r1], population[r2]
         for j = 1, n do
            if torch.uniform(random, 0, 1) < crossover or i == always then
               child[j] = solution[j] + scale * (one[j] - two[j])
            else
               child[j] = parent[j]
            end
         end
         child_fitness[i] = evaluate(child)
      end
      for i = 1, size do
         if child_fitness[i] <= fitness[i] then
            population[i]:copy(children[i])
            fitness[i] = child_fitness[i]
            if fitness[i] < best then
               best = fitness[i]
               solution:copy(children[i])
            end
         end
      end
   end
   return solution, values
end
