-- Modules for images: resampling, repeated pixels, padding.
local kernel = require('torch.core.kernels').of_tensors
local Module = torch.getmetatable('nn.Module')

-- Bilinear resampling with aligned corners: by factors rwidth, rheight, or to owidth x oheight.
local ReSampling = torch.class('nn.SpatialReSampling', 'nn.Module')

function ReSampling:__init(...)
   Module.__init(self)
   xlua.unpack_class(self, { ... }, 'nn.SpatialReSampling', 'Resamples images of any number of planes, bilinearly',
      { arg = 'rwidth', type = 'number', help = 'ratio: owidth/iwidth' },
      { arg = 'rheight', type = 'number', help = 'ratio: oheight/iheight' },
      { arg = 'owidth', type = 'number', help = 'output width' },
      { arg = 'oheight', type = 'number', help = 'output height' })
end

function ReSampling:updateOutput(input)
   local dims = input:dim()
   assert(dims == 3 or dims == 4, 'input to SpatialReSampling must be 3D or 4D, received: ['
      .. table.concat(input:size():totable(), ', ') .. ']')
   self.oheight = self.oheight or self.rheight * input:size(dims - 1)
   self.owidth = self.owidth or self.rwidth * input:size(dims)
   kernel.sample_anew(self.output, input, self.oheight, self.owidth)
   return self.output
end

function ReSampling:updateGradInput(input, gradOutput)
   local dims = gradOutput:dim()
   kernel.sample_anew_gradient(self.gradInput, input, gradOutput, gradOutput:size(dims - 1), gradOutput:size(dims))
   return self.gradInput
end

-- Repeats every pixel dH x dW times; yDim and xDim = yDim + 1 are the dimensions of rows and columns.
local UpSampling = torch.class('nn.SpatialUpSampling', 'nn.Module')

function UpSampling:__init(...)
   Module.__init(self)
   xlua.unpack_class(self, { ... }, 'nn.SpatialUpSampling', 'Repeats the pixels of images',
      { arg = 'dW', type = 'number', help = 'stride width', req = true },
      { arg = 'dH', type = 'number', help = 'stride height', req = true },
      { arg = 'yDim', type = 'number', help = 'image y dimension', default = 2 },
      { arg = 'xDim', type = 'number', help = 'image x dimension', default = 3 })
   if self.yDim + 1 ~= self.xDim then error('nn.SpatialUpSampling: yDim must be equals to xDim-1', 2) end
end

-- The sizes in which each row and column is followed by a dimension for its repetitions; n is their number.
local function repeated_sizes(self, input, rows, columns)
   local sizes = {}
   for d = 1, input:dim() do
      sizes[#sizes + 1] = input:size(d)
      if d == self.yDim then sizes[#sizes + 1] = rows end
      if d == self.xDim then sizes[#sizes + 1] = columns end
   end
   return torch.LongStorage(sizes)
end

function UpSampling:updateOutput(input)
   local single = input:contiguous():view(repeated_sizes(self, input, 1, 1))
   local size = input:size()
   size[self.yDim], size[self.xDim] = size[self.yDim] * self.dH, size[self.xDim] * self.dW
   self.output:resize(repeated_sizes(self, input, self.dH, self.dW))
   self.output:copy(single:expandAs(self.output))
   self.output = self.output:view(size)
   return self.output
end

function UpSampling:updateGradInput(input, gradOutput)
   local pieces = gradOutput:contiguous():view(repeated_sizes(self, input, self.dH, self.dW))
   self.gradInput = pieces:sum(self.yDim + 1):sum(self.xDim + 2):view(input:size())
   return self.gradInput
end

-- Adds pad_l, pad_r, pad_t, pad_b columns and rows of val; negative numbers crop.
local Padding = torch.class('nn.SpatialPadding', 'nn.Module')

function Padding:__init(pad_l, pad_r, pad_t, pad_b, y_dim, x_dim, val)
   Module.__init(self)
   if not pad_l then error('nn.SpatialPadding(left, right, top, bottom, y dimension, x dimension, value)', 2) end
   self.pad_l, self.pad_r, self.pad_t, self.pad_b = pad_l, pad_r or pad_l, pad_t or pad_l, pad_b or pad_l
   self.y_dim, self.x_dim, self.val = y_dim or 2, x_dim or 3, val or 0
   if self.x_dim % 1 ~= 0 then error('x_dim must be integer', 2) end
   if self.y_dim % 1 ~= 0 then error('y_dim must be integer', 2) end
end

-- Removes `first` and `last` indices at the ends of a dimension, where these are positive.
local function without(t, dimension, first, last)
   first, last = math.max(first, 0), math.max(last, 0)
   return t:narrow(dimension, 1 + first, t:size(dimension) - first - last)
end

-- The part that input and padded image share, as views of both.
local function shared(self, input, padded)
   return without(without(input, self.y_dim, -self.pad_t, -self.pad_b), self.x_dim, -self.pad_l, -self.pad_r),
      without(without(padded, self.y_dim, self.pad_t, self.pad_b), self.x_dim, self.pad_l, self.pad_r)
end

function Padding:updateOutput(input)
   local size = input:size()
   size[self.y_dim] = size[self.y_dim] + self.pad_t + self.pad_b
   size[self.x_dim] = size[self.x_dim] + self.pad_l + self.pad_r
   if size[self.y_dim] < 1 or size[self.x_dim] < 1 then error('input is too small', 2) end
   self.output = (self.output:type() == input:type() and self.output or input.new()):resize(size):fill(self.val)
   local from, to = shared(self, input, self.output)
   to:copy(from)
   return self.output
end

function Padding:updateGradInput(input, gradOutput)
   self.gradInput:resizeAs(input):zero()
   local to, from = shared(self, self.gradInput, gradOutput)
   to:copy(from)
   return self.gradInput
end
