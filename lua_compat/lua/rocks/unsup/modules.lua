-- Shared by the modules of unsup: their base class, pairs of an encoder and a decoder, and filters of norm 1.
local modules = {}

local UnsupModule, parent = torch.class('unsup.UnsupModule', 'nn.Module')

function UnsupModule:__init() parent.__init(self) end

function UnsupModule:normalize() -- luacheck: ignore 212
   error('Every unsupervised module has to implement normalize function')
end

local SMALLEST = 1e-12 -- added to norms, so that a filter of zeros remains zero

-- Divides each filter of a weight by its norm: the columns of a matrix, the planes of a tensor with more dimensions.
function modules.normalize(weight)
   local dimensions = weight and weight:dim() or 0
   if dimensions < 2 then return end
   if dimensions > 5 then error('I do not know what kind of weight matrix this is') end
   if dimensions == 2 then
      weight:cdiv((weight:norm(2, 1) + SMALLEST):expandAs(weight))
   else
      local planes = weight:view(-1, weight:size(dimensions - 1) * weight:size(dimensions))
      planes:cdiv((planes:norm(2, 2) + SMALLEST):expandAs(planes))
   end
end

-- Adds methods to a class that pass calls on to self.encoder and self.decoder.
function modules.pair(Class)
   function Class:parameters() return nn.Sequential():add(self.encoder):add(self.decoder):parameters() end

   function Class:reset(stdv)
      self.decoder:reset(stdv)
      self.encoder:reset(stdv)
   end

   for _, name in ipairs{ 'initDiagHessianParameters', 'zeroGradParameters' } do
      Class[name] = function(self)
         self.encoder[name](self.encoder)
         self.decoder[name](self.decoder)
      end
   end

   -- learningRate: one for both, or { the encoder's, the decoder's }.
   function Class:updateParameters(learningRate)
      local rates = type(learningRate) == 'number' and { learningRate, learningRate } or learningRate
      self.encoder:updateParameters(rates[1])
      self.decoder:updateParameters(rates[2])
   end
end

function modules.summed_squares()
   local criterion = nn.MSECriterion()
   criterion.sizeAverage = false
   return criterion
end

return modules
