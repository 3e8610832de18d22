-- The package image. Images are tensors, channels x height x width or height x width, with values from 0 to 1, or
-- bytes. Most functions accept a destination before the source, which is then resized and returned.
require 'torch'
require 'xlua'
require 'dok'

image = image or {}

require 'image.geometry'
require 'image.colors'
require 'image.filters'
require 'image.drawing'
require 'image.files'
require 'image.samples'

return image
