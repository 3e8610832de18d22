-- The GPU half of the package stn's compiled part: our sampler runs on tensors of any device.
require 'stn'

return true
