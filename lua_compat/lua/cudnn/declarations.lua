-- Declarations of cudnn's classes whose arguments or defaults differ from those of nn's class of the same name;
-- nn/declarations.lua explains the format.
return {
   SpatialConvolution = {
      help = 'A convolution of images, of groups of planes if there are several.',
      base = 'SpatialConvolution',
      arguments = 'nInputPlane:whole nOutputPlane:whole kW:whole kH:whole dW:whole=1 dH:whole=1 padW:whole=0 '
         .. 'padH:whole=0 groups:whole=1',
   },
   TemporalConvolution = {
      help = 'A convolution of sequences, padded with frames of zeros.',
      base = 'TemporalConvolution',
      arguments = '... padH:whole=0',
   },
   SpatialAveragePooling = {
      help = 'Averages over windows of an image, which by default do not overlap.',
      base = 'SpatialAveragePooling',
      arguments = 'kW:whole kH:whole dW:whole=kW dH:whole=kH padW:whole=0 padH:whole=0',
   },
   SpatialCrossMapLRN = {
      help = 'Divides by the energy of neighbouring planes.',
      base = 'SpatialCrossMapLRN',
      arguments = 'size:scalar=5 alpha:scalar=1e-4 beta:scalar=0.75 k:scalar=1',
   },
   Tanh = { help = 'The hyperbolic tangent of each element.', base = 'Tanh', arguments = 'inplace:flag=false' },
   Sigmoid = { help = '1 / (1 + exp(-x)) of each element.', base = 'Sigmoid', arguments = 'inplace:flag=false' },
}
