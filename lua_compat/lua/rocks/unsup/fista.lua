-- Sparse codes of an input: code = argmin cost(D code, input) + lambda |code|, which optim.FistaLS finds. updateOutput
-- finds the code and returns its cost; accGradParameters learns D.
-- References: A. Beck, M. Teboulle: A fast iterative shrinkage-thresholding algorithm (2009).
local modules = require 'unsup.modules'

local DEFAULTS = { L = 0.1, Lstep = 1.5, maxiter = 50, maxline = 20, errthres = 1e-4 }
local LEAST_L = 0.1

-- Adds the functions that FISTA calls to a module: the smooth cost `f`, the cost `g` of the code, and `pl`, which
-- solves g near a point. `weight`: that of the smooth cost.
local function prepare(self, weight)
   local function derivative(mode) return mode and mode:match('dx') end

   function self.f(code, mode)
      local reconstruction = self.D:updateOutput(code)
      local cost = self.Fcost:updateOutput(reconstruction, self.input) * weight
      if not derivative(mode) then return cost end
      return cost, self.D:updateGradInput(code, self.Fcost:updateGradInput(reconstruction, self.input):mul(weight))
   end

   function self.g(code, mode)
      local cost = self.lambda * self.Gcost:updateOutput(code)
      if not derivative(mode) then return cost end
      return cost, self.Gcost:updateGradInput(code):mul(self.lambda)
   end

   function self.pl(code, L) code:shrinkage(self.lambda / L) end
end

local function with_defaults(params)
   for name, value in pairs(DEFAULTS) do params[name] = params[name] or value end
   params.doFistaUpdate = true
   return params
end

-- Finds the code, starting from self.code, and returns its cost and the history of the search. L is halved for the next
-- search, which doubles the steps, if this search did not raise it.
local function search(self, input, least)
   self.input = input
   local params = self.params
   local L = params.L
   local _, history = optim.FistaLS(self.f, self.g, self.pl, self.code, params)
   if params.L == L then params.L = math.max(least, L / 2) end
   return history[#history].F, history
end

-- The derivative by the code, if the module has a gradInput to hold it.
local function code_gradient(self)
   if self.gradInput then
      local _, smooth = self.f(self.code, 'dx')
      local _, sparse = self.g(self.code, 'dx')
      self.gradInput:resizeAs(smooth):add(smooth, sparse)
   end
   return self.gradInput
end

local function dictionary_methods(Class)
   function Class:parameters() return self.D:parameters() end

   function Class:initDiagHessianParameters()
      if not self.D.initDiagHessianParameters then
         error('reconstruction module does not support hessian approximation')
      end
      self.D:initDiagHessianParameters()
   end

   function Class:zeroGradParameters() self.D:zeroGradParameters() end

   function Class:updateGradInput() return code_gradient(self) end

   function Class:normalize() modules.normalize(self.D.weight) end
end

local FistaL1, parent = torch.class('unsup.FistaL1', 'unsup.UnsupModule')
dictionary_methods(FistaL1)

-- D: a linear module from codes to inputs; cost: a convex smooth criterion, which is halved.
function FistaL1:__init(D, cost, lambda, params)
   parent.__init(self)
   self.D, self.Fcost, self.Gcost, self.lambda = D, cost, nn.L1Cost(), lambda
   self.code = torch.Tensor()
   prepare(self, 0.5)
   self.params = with_defaults(params or {})
   self:reset()
   self.gradInput = nil
end

function FistaL1:reset(stdv) self.D:reset(stdv) end

-- code: the start of the search.
function FistaL1:updateOutput(input, code)
   self.code:copy(code)
   return search(self, input, LEAST_L)
end

function FistaL1:accGradParameters(input)
   self.D:accGradParameters(self.code, self.Fcost:updateGradInput(self.D.output, input):mul(0.5))
end

function FistaL1:updateDiagHessianInput() end

function FistaL1:accDiagHessianParameters(input)
   self.Fcost:updateDiagHessianInput(self.D.output, input)
   self.D:accDiagHessianParameters(self.code, self.Fcost.diagHessianInput:mul(0.5))
end

function FistaL1:updateParameters(learningRate) self.D:updateParameters(learningRate) end

local LinearFistaL1 = torch.class('unsup.LinearFistaL1', 'unsup.UnsupModule')
dictionary_methods(LinearFistaL1)

-- A matrix without bias, and the sum of squares; codes begin at zero.
function LinearFistaL1:__init(inputSize, outputSize, lambda, params)
   parent.__init(self)
   self.D, self.Fcost, self.Gcost = nn.Linear(outputSize, inputSize), modules.summed_squares(), nn.L1Cost()
   self.lambda, self.code = lambda, torch.zeros(outputSize)
   prepare(self, 1)
   self.params = with_defaults(params or {})
   self.gradInput = nil
   self:reset()
end

function LinearFistaL1:reset(stdv)
   self.D:reset(stdv)
   self.D.bias:zero()
end

function LinearFistaL1:updateOutput(input)
   self.code:zero()
   return search(self, input, 0)
end

function LinearFistaL1:accGradParameters(input)
   self.D:accGradParameters(self.code, self.Fcost:updateGradInput(self.D.output, input))
   self.D.gradBias:zero()
end

function LinearFistaL1:updateParameters(learningRate)
   self.D:updateParameters(learningRate)
   self.D.bias:zero()
end

local SpatialConvFistaL1, linear = torch.class('unsup.SpatialConvFistaL1', 'unsup.FistaL1')

-- conntable: see nn.SpatialConvolutionMap; patches of iw x ih. A pixel is weighted by the number of filters that reach
-- it.
function SpatialConvFistaL1:__init(conntable, kw, kh, iw, ih, lambda, params)
   local codes, planes = conntable:select(2, 1):max(), conntable:select(2, 2):max()
   local reached = torch.zeros(planes, ih, iw)
   local patches = reached:unfold(2, kh, 1):unfold(3, kw, 1)
   patches:add(1)
   local cost = nn.WeightedMSECriterion(reached:div(reached:max()))
   cost.sizeAverage = false
   linear.__init(self, nn.SpatialFullConvolutionMap(conntable, kw, kh, 1, 1), cost, lambda, params)
   self.code:resize(codes, patches:size(2), patches:size(3)):zero()
end
