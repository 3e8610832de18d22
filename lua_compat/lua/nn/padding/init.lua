-- Padding around images and volumes, and of one dimension.
require 'nn.padding.luajit.padding'
local layer = require 'nn.shared.layer'
local declared = require 'nn.shared.declared'

local function sides_text(self)
   return ('(l=%d, r=%d, t=%d, b=%d)'):format(self.pad_l, self.pad_r, self.pad_t, self.pad_b)
end
layer.plain{ name = 'SpatialZeroPadding', text = sides_text, any_type = true }
layer.plain{ name = 'SpatialReflectionPadding', text = sides_text }
layer.plain{ name = 'SpatialReplicationPadding', text = sides_text }
layer.plain{ name = 'VolumetricReplicationPadding',
   text = function(self)
      return ('(left=%d, right=%d, top=%d, bottom=%d, front=%d, back=%d)'):format(self.pleft, self.pright, self.ptop,
         self.pbottom, self.pfront, self.pback)
   end }

-- Adds pad values (negative: in front) along a dimension
local Padding = torch.class('nn.Padding', 'nn.Module')
declared.construct(Padding, 'Padding')
-- The part of a padded tensor that holds the input.
local function parts(self, input, padded)
   local d = self.dim
   if self.nInputDim and input:dim() ~= self.nInputDim then d = d + 1 end
   local n, pad = input:size(d), math.abs(self.pad)
   local index = self.pad > 0 and n - self.index + 2 or self.index -- the padding is inserted before this index
   local list = {}
   if index > 1 then list[1] = { input:narrow(d, 1, index - 1), padded and padded:narrow(d, 1, index - 1) } end
   if index <= n then
      list[#list + 1] = { input:narrow(d, index, n - index + 1), padded
         and padded:narrow(d, index + pad, n - index + 1) }
   end
   return list, d, pad
end
function Padding:updateOutput(input)
   local _, d, pad = parts(self, input)
   self.outputSize = input:size()
   self.outputSize[d] = self.outputSize[d] + pad
   self.output:resize(self.outputSize):fill(self.value)
   for _, pair in ipairs(parts(self, input, self.output)) do pair[2]:copy(pair[1]) end
   return self.output
end
function Padding:updateGradInput(input, gradOutput)
   self.gradInput:resizeAs(input)
   for _, pair in ipairs(parts(self, self.gradInput, gradOutput)) do pair[1]:copy(pair[2]) end
   return self.gradInput
end
