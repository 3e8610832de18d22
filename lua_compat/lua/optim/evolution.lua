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

-- opfunc(x) gives f(x); no gradient is used. The state (else config) says: sigma (the first step, required), maxEval
-- 1000 n^2, ftarget, popsize 4 + 3 log n, min_iterations 1, verb_disp (print every so many iterations; 0: never). Gives
-- the best point, the best values of the iterations, the number of evaluations.
function optim.cmaes(opfunc, x, config, state)
   if x.triu == nil or x.diag == nil then
      error(('Unsupported Tensor %s please use Float- or DoubleTensor for x'):format(x:type()), 2)
   end
   state = state or config or {}
   assert(state.sigma, 'optim.cmaes: sigma, the initial step size, is required')
   local mean = x:clone():view(-1)
   local n = mean:size(1)
   local sigma = state.sigma
   local population = state.popsize or 4 + math.floor(3 * math.log(n))
   local max_eval = tonumber(state.maxEval) or 1e3 * n ^ 2
   local shown = state.verb_disp or 0
   local s = strategy(n, population)
   local weights = s.weights:typeAs(x)

   local path_c, path_s = x.new(n):zero(), x.new(n):zero()
   local axes, C, inverse_root = torch.eye(n):typeAs(x), torch.eye(n):typeAs(x), torch.eye(n):typeAs(x)
   local scales = x.new(n):fill(1)
   local candidates, fitness = x.new(population, n), torch.Tensor(population)
   local decomposed, evaluations, iteration = 0, 0, 0
   local values = { (opfunc(x)) }
   local best = {}

   local function ask()
      if evaluations - decomposed > population / (s.c1 + s.cmu) / n / 10 then
         decomposed = evaluations
         C = torch.triu(C) + torch.triu(C, 1):t()
         scales, axes = torch.symeig(C, 'V')
         scales = torch.sqrt(scales)
         inverse_root = axes * torch.diag(torch.pow(scales, -1)) * axes:t()
      end
      for k = 1, population do
         local z = scales:clone():normal(0, 1):cmul(scales)
         candidates[k] = torch.add(mean, (axes * z) * sigma)
      end
   end

   local function tell()
      evaluations = evaluations + population
      local old = mean:clone()
      local order
      fitness, order = torch.sort(fitness)
      local chosen = candidates:index(1, order:narrow(1, 1, s.parents))
      values[#values + 1] = fitness[1]
      if not best.f or fitness[1] < best.f then
         best.x, best.f, best.evaluations = chosen[1]:clone(), fitness[1], evaluations
      end
      mean:zero()
      mean:addmv(chosen:t(), weights)

      local moved = mean - old
      path_s = path_s - path_s * s.cs
         + (inverse_root * moved) * ((s.cs * (2 - s.cs) * s.effective) ^ 0.5 / sigma)
      local length = torch.sum(torch.pow(path_s, 2))
      local expected = 1 - (1 - s.cs) ^ (2 * evaluations / population)
      local hsig = length / expected / n < 2 + 4 / (n + 1) and 1 or 0
      path_c = path_c - path_c * s.cc + moved * ((s.cc * (2 - s.cc) * s.effective) ^ 0.5 / sigma) * hsig

      local c1a = s.c1 - (1 - hsig ^ 2) * s.c1 * s.cc * (2 - s.cc)
      local steps = chosen - old:view(1, n):expandAs(chosen)
      local weighted = torch.cmul(steps, weights:view(-1, 1):expandAs(steps))
      C = C * (1 - c1a - s.cmu) + torch.ger(path_c, path_c) * s.c1
         + (steps:t() * weighted) * (s.cmu / sigma ^ 2)
      sigma = sigma * math.exp(math.min(0.6, (s.cs / s.damping) * (length / n - 1) / 2))
   end

   local function reasons_to_stop()
      local reasons = {}
      if evaluations == 0 then return reasons end
      if evaluations >= max_eval then reasons.evals = max_eval end
      if state.ftarget and fitness[1] <= state.ftarget then reasons.ftarget = state.ftarget end
      if scales:max() > 1e7 * scales:min() then reasons.condition = 1e7 end
      if population > 1 and fitness[population] - fitness[1] < 1e-12 then reasons.tolfun = 1e-12 end
      if sigma * scales:max() < 1e-11 then reasons.tolx = 1e-11 end
      return reasons
   end

   local function show()
      if shown == 0 then return end
      local done = evaluations / population
      if done == 1 or done % (10 * shown) == 0 then print('evals:\t ax-ratio max(std)   f-value') end
      if done <= 2 or done % shown == 0 then
         print(('%d:  %6.1f %8.1e %s'):format(evaluations, scales:max() / scales:min(),
            sigma * math.sqrt(torch.diag(C):max()), tostring(fitness[1])))
      end
   end

   while next(reasons_to_stop()) == nil or iteration < (state.min_iterations or 1) do
      iteration = iteration + 1
      ask()
      for i = 1, population do fitness[i] = opfunc(candidates[i]:viewAs(x)) end
      tell()
      show()
   end
   if shown > 0 then
      for reason, value in pairs(reasons_to_stop()) do print('termination by', reason, '=', value) end
      print('best f-value =', best.f)
      print('solution = ')
      print(best.x)
      print('best found at iteration: ', best.evaluations / population, ' , total iterations: ', iteration)
   end
   values[#values + 1] = best.f
   return best.x, values, evaluations
end

-- config: maxFEs (evaluations, required), scaleFactor and crossoverRate (required), popsize 10 n, minRegion -30 and
-- maxRegion 30. Gives the best point and a tensor of the values of all evaluations. The random numbers are those of a
-- generator of its own with seed 1.
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
   local least, index = fitness:max(1) -- Torch7 starts from the worst point, too
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
