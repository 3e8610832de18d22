-- The package stn: spatial transformers. Images and grids have their channels last (batch x height x width x channels).
require 'nn'
local kernel = require('torch.core.kernels').of_tensors

local function as_batch(t, dimensions)
   if t:dim() == dimensions then return t end
   local size = torch.LongStorage(t:dim() + 1)
   size[1] = 1
   for d = 1, t:dim() do size[d + 1] = t:size(d) end
   return t:contiguous():view(size)
end

-- Input: { images, grids }. Samples the images at the grids' positions, (y, x) from -1 to 1; zero outside.
local Sampler, Module = torch.class('nn.BilinearSamplerBHWD', 'nn.Module')

function Sampler:__init()
   Module.__init(self)
   self.gradInput = {}
end

local function checked(images, grids)
   assert(images:dim() == 4 and grids:dim() == 4, 'images and grids should have 3 or 4 dimensions')
   assert(images:size(1) == grids:size(1), 'as many images as grids are expected')
   assert(grids:size(4) == 2, 'a grid should have two coordinates')
   return images, grids
end

function Sampler:updateOutput(input)
   local images, grids = checked(as_batch(input[1], 4), as_batch(input[2], 4))
   local output = self.output
   if output:storageOffset() ~= 1 or output:dim() == 3 then output = output.new() end
   kernel.bilinear_sampler(output, images, grids)
   self.output = input[1]:dim() == 3 and output[1] or output
   return self.output
end

function Sampler:updateGradInput(input, gradOutput)
   for i = 1, 2 do self.gradInput[i] = self.gradInput[i] or input[i].new() end
   kernel.bilinear_sampler_gradients(self.gradInput[1], self.gradInput[2], as_batch(input[1], 4),
      as_batch(input[2], 4), as_batch(gradOutput, 4))
   for i = 1, 2 do self.gradInput[i]:resizeAs(input[i]) end
   return self.gradInput
end

-- From 2 x 3 matrices, the grids of the positions to which they map the pixels of a height x width image.
local Grid = torch.class('nn.AffineGridGeneratorBHWD', 'nn.Module')

function Grid:__init(height, width)
   Module.__init(self)
   assert(height > 1 and width > 1, 'a grid needs more than one row and column')
   self.height, self.width = height, width
   self.baseGrid = torch.ones(height, width, 3)
   self.baseGrid:select(3, 1):copy(torch.linspace(-1, 1, height):view(height, 1):expand(height, width))
   self.baseGrid:select(3, 2):copy(torch.linspace(-1, 1, width):view(1, width):expand(height, width))
   self.batchGrid = self.baseGrid:view(1, height, width, 3):clone()
end

-- The positions (y, x, 1) of all pixels, repeated for each matrix.
local function places(self, batch)
   if self.batchGrid:size(1) ~= batch then
      self.batchGrid:resize(batch, self.height, self.width, 3)
      self.batchGrid:copy(self.baseGrid:view(1, self.height, self.width, 3):expandAs(self.batchGrid))
   end
   return self.batchGrid:view(batch, self.height * self.width, 3)
end

function Grid:updateOutput(matrices)
   local batch = as_batch(matrices, 3)
   assert(batch:dim() == 3 and batch:size(2) == 2 and batch:size(3) == 3,
      'please input affine transform matrices (bx2x3)')
   local grid = torch.bmm(places(self, batch:size(1)), batch:transpose(2, 3))
   self.output = grid:view(batch:size(1), self.height, self.width, 2)
   if matrices:dim() == 2 then self.output = self.output[1] end
   return self.output
end

function Grid:updateGradInput(matrices, gradGrid)
   local batch = as_batch(matrices, 3):size(1)
   local gradients = gradGrid:contiguous():view(batch, self.height * self.width, 2)
   self.gradInput = torch.bmm(gradients:transpose(2, 3), places(self, batch))
   if matrices:dim() == 2 then self.gradInput = self.gradInput[1] end
   return self.gradInput
end

-- From parameters (those in use of angle, factor, y and x of a translation), 2 x 3 matrices: R(angle) (factor p +
-- translation). If none are in use, the six parameters are the matrix.
local Matrix = torch.class('nn.AffineTransformMatrixGenerator', 'nn.Module')

function Matrix:__init(useRotation, useScale, useTranslation)
   Module.__init(self)
   self.fullMode = not (useRotation or useScale or useTranslation)
   if not self.fullMode then
      self.useRotation, self.useScale, self.useTranslation = useRotation, useScale, useTranslation
   end
end

-- angle, factor and translation of every row, as columns; 0, 1 and 0 if they are not parameters
local function parts(self, parameters)
   local wanted = (self.useRotation and 1 or 0) + (self.useScale and 1 or 0) + (self.useTranslation and 2 or 0)
   if self.fullMode then wanted = 6 end
   assert(parameters:size(2) == wanted, ('Expected %d parameters, got %d'):format(wanted, parameters:size(2)))
   if self.fullMode then return end
   local next_column = 0
   local function column(used, default)
      if not used then return parameters.new(parameters:size(1)):fill(default) end
      next_column = next_column + 1
      return parameters:select(2, next_column)
   end
   return column(self.useRotation, 0), column(self.useScale, 1), column(self.useTranslation, 0),
      column(self.useTranslation, 0)
end

function Matrix:updateOutput(input)
   local parameters = as_batch(input, 2)
   local angle, factor, first, second = parts(self, parameters)
   if self.fullMode then
      self.output = parameters:contiguous():view(-1, 2, 3)
   else
      local sine, cosine = torch.sin(angle), torch.cos(angle)
      local m = parameters.new(parameters:size(1), 2, 3)
      local scaled_sine, scaled_cosine = torch.cmul(sine, factor), torch.cmul(cosine, factor)
      m:select(2, 1):select(2, 1):copy(scaled_cosine)
      m:select(2, 1):select(2, 2):copy(scaled_sine):neg()
      m:select(2, 2):select(2, 1):copy(scaled_sine)
      m:select(2, 2):select(2, 2):copy(scaled_cosine)
      m:select(2, 1):select(2, 3):copy(torch.cmul(scaled_cosine, first) - torch.cmul(scaled_sine, second))
      m:select(2, 2):select(2, 3):copy(torch.cmul(scaled_sine, first) + torch.cmul(scaled_cosine, second))
      self.output = m
   end
   if input:dim() == 1 then self.output = self.output[1] end
   return self.output
end

function Matrix:updateGradInput(input, gradOutput)
   local parameters, gradient = as_batch(input, 2), as_batch(gradOutput, 3)
   if self.fullMode then
      self.gradInput = gradient:contiguous():view(-1, 6)
   else
      local angle, factor, first, second = parts(self, parameters)
      local sine, cosine = torch.sin(angle), torch.cos(angle)
      local function g(row, column) return gradient:select(2, row):select(2, column) end
      -- the gradients of factor * cosine and factor * sine, from which all entries are computed
      local of_cosine = g(1, 1) + g(2, 2) + torch.cmul(g(1, 3), first) + torch.cmul(g(2, 3), second)
      local of_sine = g(2, 1) - g(1, 2) + torch.cmul(g(2, 3), first) - torch.cmul(g(1, 3), second)
      local columns = {}
      if self.useRotation then
         columns[#columns + 1] = torch.cmul(torch.cmul(of_sine, cosine) - torch.cmul(of_cosine, sine), factor)
      end
      if self.useScale then columns[#columns + 1] = torch.cmul(of_cosine, cosine) + torch.cmul(of_sine, sine) end
      if self.useTranslation then
         columns[#columns + 1] = torch.cmul(torch.cmul(g(1, 3), cosine) + torch.cmul(g(2, 3), sine), factor)
         columns[#columns + 1] = torch.cmul(torch.cmul(g(2, 3), cosine) - torch.cmul(g(1, 3), sine), factor)
      end
      self.gradInput:resizeAs(parameters)
      for i, column in ipairs(columns) do self.gradInput:select(2, i):copy(column) end
   end
   if input:dim() == 1 then self.gradInput = self.gradInput[1] end
   return self.gradInput
end

return nn
