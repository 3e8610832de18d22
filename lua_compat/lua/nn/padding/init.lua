-- Padding around images and volumes, and of one dimension.
local layer = require 'nn.shared.layer'
local declared = require 'nn.shared.declared'
declared.ways('padding', { 'padding' })

local function sides_text(self)
   return ('(l=%d, r=%d, t=%d, b=%d)'):format(self.pad_l, self.pad_r, self.pad_t, self.pad_b)
end

local function check_dimensions(input, least)
   local dims = input:dim()
   if dims ~= least and dims ~= least + 1 then
      error(('input must be %d or %d-dimensional'):format(least, least + 1), 3)
   end
end

-- The input has `least` dimensions or one more. The gradient is computed only for a gradOutput of the padded sizes. As
-- in Torch7, these are the sums of the fields as they are, so a fraction fits no size. fits(self, input, gradOutput,
-- d): whether the dimensions up to the last, d, fit
local function check_sizes(class, least, fits)
   local pad, compute = class.updateOutput, class.updateGradInput
   function class:updateOutput(input)
      check_dimensions(input, least)
      return pad(self, input)
   end
   function class:updateGradInput(input, gradOutput)
      local dims = input:dim()
      if dims ~= gradOutput:dim() then error('input and gradOutput must have an equal number of dimensions', 2) end
      if not fits(self, input, gradOutput, dims) then error('input and gradOutput must be compatible in size', 2) end
      return compute(self, input, gradOutput)
   end
end
local function fits(input, gradOutput, d, before, after)
   return input:size(d) + before + after == gradOutput:size(d)
end
local function image_fits(self, input, gradOutput, d)
   return fits(input, gradOutput, d, self.pad_l, self.pad_r) and fits(input, gradOutput, d - 1, self.pad_t, self.pad_b)
end
local function volume_fits(self, input, gradOutput, d)
   return fits(input, gradOutput, d, self.pleft, self.pright)
      and fits(input, gradOutput, d - 1, self.ptop, self.pbottom)
      and fits(input, gradOutput, d - 2, self.pfront, self.pback)
end
check_sizes(layer.plain{ name = 'SpatialReflectionPadding', text = sides_text }, 3, image_fits)
check_sizes(layer.plain{ name = 'SpatialReplicationPadding', text = sides_text }, 3, image_fits)
check_sizes(layer.plain{ name = 'VolumetricReplicationPadding',
   text = function(self)
      return ('(left=%d, right=%d, top=%d, bottom=%d, front=%d, back=%d)'):format(self.pleft, self.pright, self.ptop,
         self.pbottom, self.pfront, self.pback)
   end }, 4, volume_fits)

-- The fields of a dimension, from the last dimension on
local SIDES = { { 'pad_l', 'pad_r' }, { 'pad_t', 'pad_b' } }

local ZeroPadding = layer.plain{ name = 'SpatialZeroPadding', text = sides_text, any_type = true }

local function positive(pad) return pad > 0 and pad or 0 end
local function negative(pad) return pad < 0 and -pad or 0 end

-- The part of t that is left without the rows and columns that `count` finds in each field.
local function part_of(self, t, count)
   for k, pair in ipairs(SIDES) do
      local d, before, after = t:dim() + 1 - k, count(self[pair[1]]), count(self[pair[2]])
      if before ~= 0 then t = t:narrow(d, 1 + before, t:size(d) - before) end
      if after ~= 0 then t = t:narrow(d, 1, t:size(d) - after) end
   end
   return t
end
-- Fractions and what is no number take Torch7's steps, in which each size is rounded by itself.
local function is_whole(pad) return type(pad) == 'number' and pad % 1 == 0 end
local function are_whole(self)
   return is_whole(self.pad_l) and is_whole(self.pad_r) and is_whole(self.pad_t) and is_whole(self.pad_b)
end
local pad, crop = ZeroPadding.updateOutput, ZeroPadding.updateGradInput
function ZeroPadding:updateOutput(input)
   check_dimensions(input, 3)
   if are_whole(self) then return pad(self, input) end
   local sizes = input:size():totable()
   for k, pair in ipairs(SIDES) do
      local d = #sizes + 1 - k
      sizes[d] = sizes[d] + self[pair[1]] + self[pair[2]]
      if sizes[d] < 1 then error('input is too small') end
   end
   self.output:resize(unpack(sizes)):zero()
   part_of(self, self.output, positive):copy(part_of(self, input, negative))
   return self.output
end
function ZeroPadding:updateGradInput(input, gradOutput)
   if are_whole(self) then return crop(self, input, gradOutput) end
   self.gradInput:resizeAs(input):zero()
   part_of(self, self.gradInput, negative):copy(part_of(self, gradOutput, positive))
   return self.gradInput
end

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
   if index ~= 1 then list[1] = { input:narrow(d, 1, index - 1), padded and padded:narrow(d, 1, index - 1) } end
   if index ~= n + 1 then
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
