-- What a module computes, as comparison.py wants it: returns a function of the module and its input.

local function snapshot(x)
   if torch.isTensor(x) then return x:clone() end
   if type(x) ~= 'table' then return x end
   local copy = {}
   for k, v in pairs(x) do copy[k] = snapshot(v) end
   return copy
end

local function towards(x, seed)
   if torch.isTensor(x) then
      local k = seed or 0
      return x:clone():apply(function() k = k + 1; return math.cos(0.9 * k) end)
   end
   local list = {}
   for i, v in ipairs(x) do list[i] = towards(v, i) end
   return list
end

local function not_random()
   local Tensor = torch.getmetatable('torch.DoubleTensor')
   function Tensor.normal(self, mean, deviation) return self:fill((mean or 0) + 0.5 * (deviation or 1)) end
   function Tensor.uniform(self, first, last)
      return self:fill((first or 0) + 0.5 * ((last or 1) - (first or 0)))
   end
   torch.randn = function(...) return torch.Tensor(...):fill(0.5) end
   torch.rand = torch.randn
end

-- Returns the module as it was, its outputs in both modes, gradients, and what it gives after a step of gradient
-- descent. `twice`: also what it gives the second time in evaluate mode.
return function(net, input, twice)
   net:double()
   net:training()
   net:apply(function(m) if torch.type(m):find('Dropout') then m.p = 0 end end)
   local parameters, gradients = net:getParameters()
   if parameters:dim() == 0 then parameters, gradients = torch.zeros(1), torch.zeros(1) end
   local record = { input = snapshot(input) }
   pcall(net.clearState, net)
   record.module = torch.serialize(net)
   not_random()
   -- A copy: modules that hand on their input when evaluating overwrite it when training. What remembers is the same
   -- all along.
   local evaluated = twice and net or torch.deserialize(record.module)
   evaluated:evaluate()
   record.evaluated = snapshot(evaluated:forward(snapshot(input)))
   if twice then record.again = snapshot(evaluated:forward(snapshot(input))) end
   net:training()
   gradients:zero()
   local given = snapshot(input)
   record.output = snapshot(net:forward(given))
   record.towards = towards(record.output)
   local gradInput = net:backward(given, snapshot(record.towards))
   record.gradInput = gradInput and snapshot(gradInput)
   record.gradients = gradients:clone()
   parameters:add(-0.01, gradients)
   net:evaluate()
   record.stepped = snapshot(net:forward(snapshot(input)))
   return record
end
