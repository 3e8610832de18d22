-- Descent with a step size for each parameter.
local step = require 'optim.step'

local function announce(name, config, state)
   if config == nil and state == nil then print(('no state table, %s initializing'):format(name)) end
end

-- config: learningRate 1e-3, learningRateDecay, weightDecay. state: evalCounter, paramVariance (the sum of squared
-- gradients), paramStd.
function optim.adagrad(opfunc, x, config, state)
   announce('ADAGRAD', config, state)
   config, state = step.tables(config, state)
   state.evalCounter = state.evalCounter or 0
   local fx, dfdx = step.evaluate(opfunc, x, config.weightDecay)
   local rate = step.annealed(config.learningRate or 1e-3, config.learningRateDecay or 0, state)
   if not state.paramVariance then
      state.paramVariance, state.paramStd = step.like(x, dfdx, 0), step.like(x, dfdx)
   end
   state.paramVariance:addcmul(1, dfdx, dfdx)
   state.paramStd:resizeAs(state.paramVariance):copy(state.paramVariance):sqrt()
   x:addcdiv(-rate, dfdx, state.paramStd:add(1e-10))
   return x, { fx }
end

-- Zeiler, arXiv 1212.5701. config: rho 0.9, eps 1e-6, weightDecay. state: evalCounter, paramVariance, paramStd, delta,
-- accDelta.
function optim.adadelta(opfunc, x, config, state)
   announce('ADADELTA', config, state)
   config, state = step.tables(config, state)
   local rho, eps = config.rho or 0.9, config.eps or 1e-6
   local fx, dfdx = step.evaluate(opfunc, x, config.weightDecay)
   if not state.paramVariance then
      for _, name in ipairs{ 'paramVariance', 'paramStd', 'delta', 'accDelta' } do
         state[name] = step.like(x, dfdx, 0)
      end
   end
   state.paramVariance:mul(rho):addcmul(1 - rho, dfdx, dfdx)
   state.paramStd:resizeAs(state.paramVariance):copy(state.paramVariance):add(eps):sqrt()
   state.delta:resizeAs(state.paramVariance):copy(state.accDelta):add(eps):sqrt():cdiv(state.paramStd):cmul(dfdx)
   x:add(-1, state.delta)
   state.accDelta:mul(rho):addcmul(1 - rho, state.delta, state.delta)
   state.evalCounter = (state.evalCounter or 0) + 1
   return x, { fx }
end

-- Kingma and Ba, arXiv 1412.6980. config: learningRate 0.001, learningRateDecay, beta1 0.9, beta2 0.999, epsilon 1e-8,
-- weightDecay. state: t, m, v, denom.
function optim.adam(opfunc, x, config, state)
   config, state = step.tables(config, state)
   local beta1, beta2 = config.beta1 or 0.9, config.beta2 or 0.999
   local fx, dfdx = step.evaluate(opfunc, x, config.weightDecay)
   state.t = state.t or 0
   for _, name in ipairs{ 'm', 'v', 'denom' } do state[name] = state[name] or step.like(x, dfdx, 0) end
   local rate = (config.learningRate or 0.001) / (1 + state.t * (config.learningRateDecay or 0))
   state.t = state.t + 1
   state.m:mul(beta1):add(1 - beta1, dfdx)
   state.v:mul(beta2):addcmul(1 - beta2, dfdx, dfdx)
   state.denom:copy(state.v):sqrt():add(config.epsilon or 1e-8)
   local size = rate * math.sqrt(1 - beta2 ^ state.t) / (1 - beta1 ^ state.t)
   x:addcdiv(-size, state.m, state.denom)
   return x, { fx }
end

-- The variant of Adam with the infinity norm. config: learningRate 0.002, beta1 0.9, beta2 0.999, epsilon 1e-38,
-- weightDecay. state: t, m, u, max.
function optim.adamax(opfunc, x, config, state)
   config, state = step.tables(config, state)
   local beta1, beta2 = config.beta1 or 0.9, config.beta2 or 0.999
   local fx, dfdx = step.evaluate(opfunc, x, config.weightDecay)
   state.m = state.m or step.like(x, dfdx, 0)
   state.u = state.u or step.like(x, dfdx, 0)
   state.max = state.max or x.new(2, unpack(dfdx:size():totable())):zero()
   state.t = (state.t or 0) + 1
   state.m:mul(beta1):add(1 - beta1, dfdx)
   state.max[1]:copy(state.u):mul(beta2)
   state.max[2]:copy(dfdx):abs():add(config.epsilon or 1e-38)
   state.u:max(state.max, 1)
   x:addcdiv(-(config.learningRate or 0.002) / (1 - beta1 ^ state.t), state.m, state.u)
   return x, { fx }
end

-- config: learningRate 1e-2, alpha 0.99, epsilon 1e-8, weightDecay, initialMean 0. state: m, tmp.
function optim.rmsprop(opfunc, x, config, state)
   config, state = step.tables(config, state)
   local alpha = config.alpha or 0.99
   local fx, dfdx = step.evaluate(opfunc, x, config.weightDecay)
   if not state.m then
      state.m, state.tmp = step.like(x, dfdx, config.initialMean or 0), step.like(x, dfdx)
   end
   state.m:mul(alpha)
   state.m:addcmul(1 - alpha, dfdx, dfdx)
   state.tmp:sqrt(state.m):add(config.epsilon or 1e-8)
   x:addcdiv(-(config.learningRate or 1e-2), dfdx, state.tmp)
   return x, { fx }
end

-- Riedmiller's resilient propagation: only the signs of the gradient are used. config: stepsize 0.1, etaplus 1.2,
-- etaminus 0.5, stepsizemax 50, stepsizemin 1e-6, niter 1. state: delta (the last gradient), stepsize, sign and the
-- masks psign, nsign, zsign, dminmax.
function optim.rprop(opfunc, x, config, state)
   announce('RPROP', config, state)
   config, state = step.tables(config, state)
   local initial = config.stepsize or 0.1
   local largest, smallest = config.stepsizemax or 50, config.stepsizemin or 1e-6
   local values = {}
   for i = 1, config.niter or 1 do
      local fx, dfdx = opfunc(x)
      values[i] = fx
      if not state.delta then
         state.delta, state.sign = step.like(dfdx, dfdx, 0), step.like(dfdx, dfdx)
         state.stepsize = step.like(dfdx, dfdx, initial)
         local mask = torch.gt(dfdx, 0) -- has the type of masks for dfdx
         for _, name in ipairs{ 'psign', 'nsign', 'zsign', 'dminmax' } do state[name] = mask:clone() end
      end
      local sign, stepsize = state.sign, state.stepsize
      torch.cmul(sign, dfdx, state.delta)
      torch.sign(sign, sign)
      sign.gt(state.psign, sign, 0)
      sign.lt(state.nsign, sign, 0)
      sign.eq(state.zsign, sign, 0)
      sign[state.psign] = config.etaplus or 1.2
      sign[state.nsign] = config.etaminus or 0.5
      sign[state.zsign] = 1
      stepsize:cmul(sign)
      stepsize.gt(state.dminmax, stepsize, largest)
      stepsize[state.dminmax] = largest
      stepsize.lt(state.dminmax, stepsize, smallest)
      stepsize[state.dminmax] = smallest
      -- where the sign has changed, the parameter is kept
      dfdx[state.nsign] = 0
      torch.sign(sign, dfdx)
      x:addcmul(-1, sign, stepsize)
      state.delta:copy(dfdx)
   end
   return x, values
end
