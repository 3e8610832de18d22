-- The package graphicsmagick: images as files and tensors, by Pillow and our own kernels.
require 'torch'
local Image = require 'graphicsmagick.Image'

local gm = { Image = Image, convert = require 'graphicsmagick.convert', parseExif = require 'graphicsmagick.exif',
   info = require 'graphicsmagick.info' }

function gm.load(path, kind) return Image(path):toTensor(kind or 'float', 'RGB', 'DHW') end

-- A tensor of one plane is saved as a grey image.
function gm.save(path, tensor, quality)
   local dim = tensor:dim()
   if dim == 2 or (dim == 3 and tensor:size(1) == 1) then
      local rows, columns = tensor:size(dim - 1), tensor:size(dim)
      tensor = tensor:reshape(1, rows, columns):expand(3, rows, columns)
   end
   Image(tensor, 'RGB', 'DHW'):save(path, quality)
end

return gm
