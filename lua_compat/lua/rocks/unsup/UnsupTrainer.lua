-- unsup.UnsupTrainer: stochastic gradient descent on data[1], data[2], ..., each { input, target }. With params.hessian
-- each parameter has its own step size, from the diagonal of the Hessian.
local UnsupTrainer = torch.class('unsup.UnsupTrainer')

function UnsupTrainer:__init(module, data)
   -- the parameters, their gradients and, where nn.hessian is enabled, their second derivatives
   self.parameters = { module:getParameters() }
   if #self.parameters == 0 then error(' I could not get parameters from module...') end
   self.module, self.data = module, data
end

function UnsupTrainer:train(params)
   local every = params.statinterval or math.ceil(params.maxiter / 100)
   local hessian_every, decay_every = params.hessianinterval or every, params.etadecayinterval or every
   if not params.hessian then self.parameters[3] = nil end

   local eta, total = params.eta, 0
   for age = 1, params.maxiter do
      if params.hessian and (age - 1) % hessian_every == 0 then
         print('Computing Hessian')
         params.di = age
         self:computeDiagHessian(params)
         print('done')
      end

      local example = self.data[age]
      local result = self:trainSample(example, eta)
      total = total + result[1]
      if self.hookSample then self.hookSample(self, age, example, result) end

      if age % every == 0 then
         if self.hookEpoch then self.hookEpoch(self, age / every) end
         print('# iter= ' .. age .. ' eta= ' .. eta .. ' current error= ' .. total)
         eta = params.eta / (1 + (age / decay_every) * (params.etadecay or 0))
         total = 0
      end
   end
end

local function gradient(self, input, target)
   local result = { self.module:updateOutput(input, target) }
   self.parameters[2]:zero()
   self.module:updateGradInput(input, target)
   self.module:accGradParameters(input, target)
   return result
end

-- The mean of the Hessian's diagonal over the samples after params.di, within bounds.
function UnsupTrainer:computeDiagHessian(params)
   local samples, least = params.hessiansamples or 500, params.minhessian or 0.02
   local most = params.maxhessian or 1 / least
   print('Min Hessian=' .. least .. ' Max Hessian=' .. most)

   local second = self.parameters[3]
   self.ddeltax = (self.ddeltax or second.new()):resizeAs(second):zero()
   for i = 1, samples do
      local input, target = unpack(self.data[params.di + i], 1, 2)
      gradient(self, input, target)
      second:zero()
      self.module:updateDiagHessianInput(input, target)
      self.module:accDiagHessianParameters(input, target)
      if second:min() < 0 then error('Negative ddx') end
      self.ddeltax:add(1 / samples, second)
   end

   local function print_range() print('ddeltax : min/max = ' .. self.ddeltax:min() .. '/' .. self.ddeltax:max()) end
   print_range()
   self.ddeltax:clamp(least, most)
   print_range()
   second:copy(self.ddeltax)
end

local function check(t, name)
   if torch.ne(t, t):sum() > 0 then
      print('oops nan ' .. name)
      error('oops nan ' .. name)
   end
end

-- Returns the results of the module's updateOutput as a table.
function UnsupTrainer:trainSample(example, eta)
   local x, dx, ddx = unpack(self.parameters, 1, 3)
   local result = gradient(self, example[1], example[2])
   if dx:max() > 100 or dx:min() < -100 then print('oops large dx ' .. dx:max() .. ' ' .. dx:min()) end
   check(dx, 'dx')
   if ddx then
      x:addcdiv(-eta, dx, ddx)
   else
      x:add(-eta, dx)
   end
   check(x, 'x')
   self.module:normalize()
   check(x, 'x norm')
   return result
end
