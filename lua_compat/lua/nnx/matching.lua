-- Distances between the planes of neighbouring pixels, within an image or between two.
local Module = torch.getmetatable('nn.Module')

local EPSILON = 1e-12

-- For both directions, right and down: the pixels that have a neighbour there, and these neighbours.
local function neighbours(planes)
   local pairs_of = {}
   for plane, dimension in ipairs{ 3, 2 } do
      local length = planes:size(dimension) - 1
      if length > 0 then
         pairs_of[plane] = { planes:narrow(dimension, 1, length), planes:narrow(dimension, 2, length) }
      end
   end
   return pairs_of
end

-- The part of a plane of edges for pixels that have a neighbour.
local function edges(t, plane)
   local dimension = 3 - plane
   return t[plane]:narrow(dimension, 1, t[plane]:size(dimension) - 1)
end

local Graph = torch.class('nn.SpatialGraph', 'nn.Module')

function Graph:__init(...)
   Module.__init(self)
   xlua.unpack_class(self, { ... }, 'nn.SpatialGraph',
      'Weights of the edges between neighbouring pixels: plane 1 to the right, plane 2 downwards. Planes from 0 to 1 '
      .. 'give weights from 0 to 1.',
      { arg = 'dist', type = 'string', help = 'distance: euclid | cosine', default = 'euclid' },
      { arg = 'normalize', type = 'boolean', help = 'divide by the square root of the number of planes',
         default = true },
      { arg = 'connex', type = 'number', help = 'neighbours of a pixel', default = 4 })
   if self.connex ~= 4 then
      xlua.error('4 is the only connexity supported, for now', 'nn.SpatialGraph', self.usage)
   end
   local kinds = { euclid = 0, cosine = 1 }
   self.dist = kinds[self.dist]
      or xerror('euclid is the only distance supported, for now', 'nn.SpatialGraph', self.usage)
   self.normalize = self.normalize and 1 or 0
end

local function sums(a, b) return torch.cmul(a, b):sum(1)[1] end

function Graph:updateOutput(input)
   self.output:resize(self.connex / 2, input:size(2), input:size(3)):zero()
   local planes = input:size(1)
   local shifted = self.dist == 1 and input + EPSILON or input
   for plane, pair in pairs(neighbours(shifted)) do
      local a, b = pair[1], pair[2]
      local weights
      if self.dist == 0 then
         weights = torch.add(a, -1, b):pow(2):sum(1)[1]:sqrt()
         if self.normalize == 1 then weights:mul(1 / math.sqrt(planes)) end
      elseif self.normalize == 1 then
         weights = sums(a, b):cdiv(sums(a, a):sqrt()):cdiv(sums(b, b):sqrt()):mul(-1):add(1)
      else
         weights = sums(a, b):mul(-1):add(planes)
      end
      edges(self.output, plane):copy(weights)
   end
   return self.output
end

-- One plane expanded to as many as `like` has.
local function spread(t, like) return t:view(1, t:size(1), t:size(2)):expandAs(like) end

function Graph:updateGradInput(input, gradOutput)
   self.gradInput:resizeAs(input):zero()
   local planes = input:size(1)
   local gradients = neighbours(self.gradInput)
   for plane, pair in pairs(neighbours(input)) do
      local a, b = pair[1], pair[2]
      local given = spread(edges(gradOutput, plane):contiguous(), a)
      local by_a, by_b
      if self.dist == 0 then
         local difference = torch.add(a, -1, b)
         -- equal pixels have no gradient; their distance, zero, must not be divided by
         local distance = spread(edges(self.output, plane):contiguous(), a):clone()
         distance[torch.eq(difference, 0)] = 1
         by_a = difference:cdiv(distance)
         if self.normalize == 1 then by_a:mul(1 / planes) end
         by_b = -by_a
      elseif self.normalize == 1 then
         -- sic: Torch7 divides by squared lengths where lengths are meant (1/2 is 0 in C)
         local both = sums(a, b)
         local one = 1 / (1 + EPSILON)
         by_a = spread(torch.cdiv(both, sums(a, a):add(EPSILON)), a):clone():cmul(a):add(-one, b)
         by_b = spread(torch.cdiv(both, sums(b, b):add(EPSILON)), a):clone():cmul(b):add(-one, a)
      else
         by_a, by_b = -b, -a
      end
      gradients[plane][1]:add(by_a:cmul(given))
      gradients[plane][2]:add(by_b:cmul(given))
   end
   return self.gradInput
end

-- The second image as the windows see it: unchanged if windows start at their pixel; if they are centred on it, cropped
-- to the first image's size and padded with zeros, with a mask of the part of each window inside the image.
local function surrounded(image, height, width, rows, columns, centered)
   if not centered then return image, nil, 0, 0 end
   local up, left = math.ceil(rows / 2) - 1, math.ceil(columns / 2) - 1
   local padded = image.new(image:size(1), height + rows - 1, width + columns - 1):zero()
   padded:narrow(2, up + 1, height):narrow(3, left + 1, width):copy(image:narrow(2, 1, height):narrow(3, 1, width))
   local on_image = image.new(height + rows - 1, width + columns - 1):zero()
   on_image:narrow(1, up + 1, height):narrow(2, left + 1, width):fill(1)
   return padded, on_image:unfold(1, rows, 1):unfold(2, columns, 1), up, left
end

-- For one plane: each pixel of the first image minus each pixel of its window in the second.
local function differences(a, b, rows, columns)
   local windows = b:unfold(1, rows, 1):unfold(2, columns, 1):narrow(1, 1, a:size(1)):narrow(2, 1, a:size(2))
   return torch.add(a:contiguous():view(a:size(1), a:size(2), 1, 1):expandAs(windows), -1, windows)
end

local function distances(inputs, output, rows, columns, centered)
   local height, width = inputs[1]:size(2), inputs[1]:size(3)
   local image, on_image = surrounded(inputs[2], height, width, rows, columns, centered)
   output:zero()
   for k = 1, inputs[1]:size(1) do output:add(differences(inputs[1][k], image[k], rows, columns):pow(2)) end
   if on_image then output[torch.eq(on_image, 0)] = 1e30 end
end

local function gradients(self, inputs, gradOutput, rows, columns, centered)
   local first, second = self.gradInput1:resize(inputs[1]:size()), self.gradInput2:resize(inputs[2]:size())
   self.gradInput = { first, second }
   local height, width = inputs[1]:size(2), inputs[1]:size(3)
   local image, on_image, up, left = surrounded(inputs[2], height, width, rows, columns, centered)
   if not centered then height, width = inputs[2]:size(2), inputs[2]:size(3) end
   local reached = second:zero():narrow(2, 1, height):narrow(3, 1, width)
   local given = on_image and torch.cmul(gradOutput, on_image) or gradOutput
   -- by pixels of the second image; and the same by pixels of the first and positions in their windows
   local by_second = image.new(image:size(2), image:size(3), rows, columns):zero()
   local y, x, row, column = unpack(by_second:stride():totable())
   local by_first = by_second.new(by_second:storage(), 1, given:size(),
      torch.LongStorage{ y, x, y + row, x + column })
   for k = 1, inputs[1]:size(1) do
      local part = differences(inputs[1][k], image[k], rows, columns):mul(2):cmul(given)
      first[k]:copy(part:sum(4):sum(3))
      by_first:copy(part)
      reached[k]:copy(by_second:sum(4):sum(3):narrow(1, up + 1, height):narrow(2, left + 1, width))
   end
   second:mul(-1)
   return self.gradInput
end

local Matching = torch.class('nn.SpatialMatching', 'nn.Module')

-- full_output: windows are centred on their pixel, with 1e30 outside the image; otherwise the second image is larger by
-- the window, which starts at the pixel.
function Matching:__init(maxh, maxw, full_output)
   Module.__init(self)
   self.maxw, self.maxh, self.full_output = maxw or 11, maxh or 11, full_output or false
   self.gradInput1, self.gradInput2 = torch.Tensor(), torch.Tensor()
end

function Matching:updateOutput(input)
   self.output:resize(input[1]:size(2), input[1]:size(3), self.maxh, self.maxw)
   distances(input, self.output, self.maxh, self.maxw, self.full_output)
   return self.output
end

function Matching:updateGradInput(input, gradOutput)
   return gradients(self, input, gradOutput, self.maxh, self.maxw, self.full_output)
end

local Radial = torch.class('nn.SpatialRadialMatching', 'nn.Module')

-- The window has one column, so the second image has more rows.
function Radial:__init(maxh)
   Module.__init(self)
   self.maxh = maxh
   self.gradInput1, self.gradInput2 = torch.Tensor(), torch.Tensor()
end

local function with_a_column(t) return t:view(t:size(1), t:size(2), t:size(3), 1) end

function Radial:updateOutput(input)
   self.output:resize(input[1]:size(2), input[1]:size(3), self.maxh)
   distances(input, with_a_column(self.output), self.maxh, 1, false)
   return self.output
end

function Radial:updateGradInput(input, gradOutput)
   return gradients(self, input, with_a_column(gradOutput:contiguous()), self.maxh, 1, false)
end
