-- Autoencoders: beta * loss(decoder(encoder(input)), target) + lambda * cost(code).
local modules = require 'unsup.modules'

-- Gives a class the passes of an autoencoder; `cost` is the field that holds the code's cost, if the net has one.
local function autoencoder(Class, cost)
   modules.pair(Class)

   function Class:updateOutput(input, target)
      local code = self.encoder:updateOutput(input)
      self.output = self.beta * self.loss:updateOutput(self.decoder:updateOutput(code), target)
      if self[cost] then self.output = self.output + self.lambda * self[cost]:updateOutput(code) end
      return self.output
   end

   -- Both derivatives are passed back in the same way: `method` computes them, and `result` is the field with its
   -- result.
   local function backward(self, input, target, method, result)
      local code, loss, code_cost = self.encoder.output, self.loss, self[cost]
      loss[method](loss, self.decoder.output, target)
      loss[result]:mul(self.beta)
      self.decoder[method](self.decoder, code, loss[result])
      if code_cost then
         code_cost[method](code_cost, code)
         self.decoder[result]:add(code_cost[result]:mul(self.lambda))
      end
      self.encoder[method](self.encoder, input, self.decoder[result])
      self[result] = self.encoder[result]
      return self[result]
   end

   function Class:updateGradInput(input, target)
      return backward(self, input, target, 'updateGradInput', 'gradInput')
   end

   function Class:updateDiagHessianInput(input, target)
      return backward(self, input, target, 'updateDiagHessianInput', 'diagHessianInput')
   end

   function Class:accGradParameters(input)
      self.decoder:accGradParameters(self.encoder.output, self.loss.gradInput)
      self.encoder:accGradParameters(input, self.decoder.gradInput)
   end

   function Class:accDiagHessianParameters(input)
      self.decoder:accDiagHessianParameters(self.encoder.output, self.loss.diagHessianInput)
      self.encoder:accDiagHessianParameters(input, self.decoder.diagHessianInput)
   end
end

local AutoEncoder, parent = torch.class('unsup.AutoEncoder', 'unsup.UnsupModule')
autoencoder(AutoEncoder, 'codecost')

function AutoEncoder:__init(encoder, decoder, beta, loss, lambda, codeloss)
   parent.__init(self)
   self.encoder, self.decoder, self.beta = encoder, decoder, beta
   self.loss = loss or modules.summed_squares()
   if lambda and codeloss then self.codecost, self.lambda = codeloss, lambda end
end

function AutoEncoder:normalize()
   if self.normalized then modules.normalize(self.decoder.weight) end
end

local SparseAutoEncoder = torch.class('unsup.SparseAutoEncoder', 'unsup.UnsupModule')
autoencoder(SparseAutoEncoder, 'sparseCost')

function SparseAutoEncoder:__init(encoder, decoder, beta, lambda, loss)
   parent.__init(self)
   self.encoder, self.decoder, self.beta, self.lambda = encoder, decoder, beta, lambda
   self.sparseCost, self.loss = nn.L1Cost(), loss or modules.summed_squares()
end
