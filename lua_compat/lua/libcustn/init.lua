-- The GPU part of the package stn's compiled library. Our sampler runs on tensors of any device.
require 'stn'

return true
