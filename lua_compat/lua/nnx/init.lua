-- The package nnx: those of its modules that applications use. The others (foveas, graphs, LabelMe's data...) are not
-- here.
require 'nn'
require 'xlua'

nnx = nnx or {}

require 'nnx.images'
require 'nnx.tables'
require 'nnx.tree'
require 'nnx.criterions'
require 'nnx.simple'

return nnx
