-- The module that scales the images of a multi-scale module by 1/ratio: by averaging, or bilinearly.
return function(module, ratio)
   if module.bilinear then return nn.SpatialReSampling(1 / ratio, 1 / ratio) end
   local averages = nn.SpatialSubSampling(module.nInputPlane, ratio, ratio, ratio, ratio)
   averages.weight:fill(1 / ratio ^ 2)
   averages.bias:zero()
   return averages
end
