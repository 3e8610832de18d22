-- Stochastic gradient descent: plain or with momentum, averaged, Nesterov's.
local step = require 'optim.step'

-- config: learningRate 1e-3, learningRateDecay 0, weightDecay 0 or weightDecays (one per parameter), momentum 0,
-- dampening (= momentum), nesterov, learningRates (one per parameter). state: evalCounter, dfdx (the momentum),
-- deltaParameters, decayParameters.
function optim.sgd(opfunc, x, config, state)
   config, state = step.tables(config, state)
   local momentum = config.momentum or 0
   local dampening = config.dampening or momentum
   assert(not config.nesterov or (momentum > 0 and dampening == 0),
      'Nesterov momentum requires a momentum and zero dampening')
   state.evalCounter = state.evalCounter or 0

   local weight_decay = config.weightDecay or 0
   local fx, dfdx = step.evaluate(opfunc, x, weight_decay)
   if weight_decay == 0 and config.weightDecays then
      state.decayParameters = state.decayParameters or step.like(x, dfdx)
      dfdx:add(state.decayParameters:copy(config.weightDecays):cmul(x))
   end
   if momentum ~= 0 then
      if state.dfdx then
         state.dfdx:mul(momentum):add(1 - dampening, dfdx)
      else
         state.dfdx = step.like(dfdx, dfdx):copy(dfdx)
      end
      if config.nesterov then dfdx:add(momentum, state.dfdx) else dfdx = state.dfdx end
   end

   local rate = step.annealed(config.learningRate or 1e-3, config.learningRateDecay or 0, state)
   if config.learningRates then
      state.deltaParameters = state.deltaParameters or step.like(x, dfdx)
      dfdx = state.deltaParameters:copy(config.learningRates):cmul(dfdx)
   end
   x:add(-rate, dfdx)
   return x, { fx }
end

-- Averaged descent (Bottou's sgd-2.0): eta_t = eta0 / (1 + lambda eta0 t)^alpha, with x averaged from step t0 on.
-- config: eta0 1e-4, lambda 1e-4, alpha 0.75, t0 1e6. state: eta_t, mu_t, t, ax (the average), tmp. The third result is
-- the average.
function optim.asgd(opfunc, x, config, state)
   config, state = step.tables(config, state)
   config.eta0 = config.eta0 or 1e-4
   config.lambda = config.lambda or 1e-4
   config.alpha = config.alpha or 0.75
   config.t0 = config.t0 or 1e6
   state.eta_t = state.eta_t or config.eta0
   state.mu_t = state.mu_t or 1
   state.t = state.t or 0

   local fx, dfdx = opfunc(x)
   x:mul(1 - config.lambda * state.eta_t)
   x:add(-state.eta_t, dfdx)

   state.ax = state.ax or step.like(x, x, 0)
   state.tmp = state.tmp or step.like(x, x)
   if state.mu_t == 1 then
      state.ax:copy(x)
   else
      state.ax:add(state.tmp:copy(x):add(-1, state.ax):mul(state.mu_t))
   end
   state.t = state.t + 1
   state.eta_t = config.eta0 / math.pow(1 + config.lambda * config.eta0 * state.t, config.alpha)
   state.mu_t = 1 / math.max(1, state.t - config.t0)
   return x, { fx }, state.ax
end

-- Nesterov's accelerated gradient (Sutskever et al., 2013): the gradient is taken after a step along the momentum.
-- config: learningRate 1e-3, learningRateDecay, weightDecay, momentum 0.9, learningRates. state: evalCounter, dfdx
-- (the momentum), deltaParameters.
function optim.nag(opfunc, x, config, state)
   config, state = step.tables(config, state)
   local momentum = config.momentum or 0.9
   if momentum <= 0 then error('Momentum must be positive for Nesterov Accelerated Gradient', 2) end
   state.evalCounter = state.evalCounter or 0

   if state.dfdx then x:add(momentum, state.dfdx) end
   local fx, dfdx = step.evaluate(opfunc, x, config.weightDecay)
   local rate = step.annealed(config.learningRate or 1e-3, config.learningRateDecay or 0, state)
   if state.dfdx then state.dfdx:mul(momentum) else state.dfdx = step.like(dfdx, dfdx, 0) end
   if config.learningRates then
      state.deltaParameters = state.deltaParameters or step.like(x, dfdx)
      dfdx = state.deltaParameters:copy(config.learningRates):cmul(dfdx)
   end
   x:add(-rate, dfdx)
   state.dfdx:add(-rate, dfdx)
   return x, { fx }
end
