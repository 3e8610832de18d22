-- Declarations of the classes in nn/dropout/init.lua; nn/declarations.lua explains the format.
return {
   Dropout = {
      help = 'Sets elements to zero at random in training, and scales the others.',
      arguments = 'p:number=0.5 v1:flag!? inplace:flag? stochastic_inference:flag=false',
      fields = 'train:flag=true noise:Tensor',
      torch_nn = 'Dropout',
   },
   SpatialDropout = {
      help = 'Dropout of whole planes.',
      arguments = 'p:number=0.5 stochastic_inference:flag=false',
      fields = 'train:flag=true noise:Tensor',
   },
   VolumetricDropout = {
      help = 'Dropout of whole volumes.',
      arguments = 'p:number=0.5 stochastic_inference:flag=false',
      fields = 'train:flag=true noise:Tensor',
   },
   WhiteNoise = {
      help = 'Adds normally distributed noise in training.',
      arguments = 'mean:number=0 std:number=0.1',
      fields = 'noise:Tensor',
   },
}
