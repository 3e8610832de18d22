-- What brings the images of a module of several scales to a scale of 1/ratio: averages, or bilinear samples.
return function(module, ratio)
   if module.bilinear then return nn.SpatialReSampling(1 / ratio, 1 / ratio) end
   local averages = nn.SpatialSubSampling(module.nInputPlane, ratio, ratio, ratio, ratio)
   averages.weight:fill(1 / ratio ^ 2)
   averages.bias:zero()
   return averages
end
