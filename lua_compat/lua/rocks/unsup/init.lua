-- The package unsup: learning without labels. Sparse codes by FISTA, predictive sparse decomposition, autoencoders,
-- k-means, principal components and whitening.
require 'nn'
require 'optim'
require 'libunsup' -- makes the table unsup, and tensor:shrinkage

require 'unsup.Diag'
require 'unsup.modules'
require 'unsup.autoencoders'
require 'unsup.fista'
require 'unsup.psd'
require 'unsup.UnsupTrainer'
require 'unsup.statistics'
require 'unsup.whitening'

return unsup
