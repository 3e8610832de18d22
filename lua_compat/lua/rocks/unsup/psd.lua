-- Predictive sparse decomposition: an encoder learns to predict the codes that a decoder finds.
-- References: K. Kavukcuoglu, M. Ranzato, Y. LeCun: Fast inference in sparse coding algorithms (2008).
local modules = require 'unsup.modules'

local PSD, parent = torch.class('unsup.PSD', 'unsup.UnsupModule')
modules.pair(PSD)

-- beta: the weight of the prediction error.
function PSD:__init(encoder, decoder, beta, params)
   parent.__init(self)
   self.encoder, self.decoder, self.beta = encoder, decoder, beta
   self.predcost = modules.summed_squares()
   self.params = params or {}
   self:reset()
end

function PSD:updateOutput(input)
   local prediction = self.encoder:updateOutput(input)
   local cost, history = self.decoder:updateOutput(input, prediction)
   return cost + self.beta * self.predcost:updateOutput(prediction, self.decoder.code), history
end

function PSD:updateGradInput(input)
   local gradient = self.predcost:updateGradInput(self.encoder.output, self.decoder.code):mul(self.beta)
   self.encoder:updateGradInput(input, gradient)
end

function PSD:accGradParameters(input)
   self.decoder:accGradParameters(input)
   self.encoder:accGradParameters(input, self.predcost.gradInput)
end

function PSD:updateDiagHessianInput(input)
   local curvature = self.predcost:updateDiagHessianInput(self.encoder.output, self.decoder.code):mul(self.beta)
   self.encoder:updateDiagHessianInput(input, curvature)
   self.diagHessianInput = self.encoder.diagHessianInput
   return self.diagHessianInput
end

function PSD:accDiagHessianParameters(input)
   self.decoder:accDiagHessianParameters(input)
   self.encoder:accDiagHessianParameters(input, self.predcost.diagHessianInput)
end

function PSD:normalize() self.decoder:normalize() end

local SQUASHED = { tanh = 'Tanh', tanh_shrink = 'TanhShrink' }

-- The encoder named by params.encoderType: a linear layer, with or without a nonlinearity and a gain per code.
local function encoder_of(params, layer, codes)
   params.encoderType = params.encoderType or 'linear'
   if params.encoderType == 'linear' then return layer end
   local nonlinearity = SQUASHED[params.encoderType]
   if not nonlinearity then error('params.encoderType unknown " ' .. tostring(params.encoderType)) end
   return nn.Sequential():add(layer):add(nn[nonlinearity]()):add(nn.Diag(codes))
end

local LinearPSD = torch.class('unsup.LinearPSD', 'unsup.PSD')

function LinearPSD:__init(inputSize, outputSize, lambda, beta, params)
   params = params or {}
   local decoder = unsup.LinearFistaL1(inputSize, outputSize, lambda, params)
   PSD.__init(self, encoder_of(params, nn.Linear(inputSize, outputSize), outputSize), decoder, beta, params)
end

local ConvPSD = torch.class('unsup.ConvPSD', 'unsup.PSD')

-- conntable: from input planes to codes; the decoder uses it in reverse.
function ConvPSD:__init(conntable, kw, kh, iw, ih, lambda, beta, params)
   params = params or {}
   local back = conntable:index(2, torch.LongTensor{ 2, 1 })
   local decoder = unsup.SpatialConvFistaL1(back, kw, kh, iw, ih, lambda, params)
   local layer = nn.SpatialConvolutionMap(conntable, kw, kh, 1, 1)
   PSD.__init(self, encoder_of(params, layer, conntable:select(2, 2):max()), decoder, beta, params)
end
