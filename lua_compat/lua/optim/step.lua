-- Functions shared by the optimisers that take one step per call.
local step = {}

function step.tables(config, state)
   config = config or {}
   return config, state or config
end

-- f(x) and df/dx, with weight_decay * x added to the latter.
function step.evaluate(opfunc, x, weight_decay)
   local fx, dfdx = opfunc(x)
   if weight_decay and weight_decay ~= 0 then dfdx:add(weight_decay, x) end
   return fx, dfdx
end

-- A tensor of x's type and the gradient's size, filled with a value if one is given.
function step.like(x, dfdx, value)
   local tensor = x.new():resizeAs(dfdx)
   if value then tensor:fill(value) end
   return tensor
end

-- The learning rate after `evaluations` calls; also counts the call in state.evalCounter.
function step.annealed(rate, decay, state)
   local evaluations = state.evalCounter
   state.evalCounter = evaluations + 1
   return rate / (1 + evaluations * decay)
end

return step
