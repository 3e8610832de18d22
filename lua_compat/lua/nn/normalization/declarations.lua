-- Declarations of the classes in nn/normalization/init.lua; nn/declarations.lua explains the format.
return {
   BatchNormalization = {
      help = 'Brings each feature to mean 0 and variance 1 over the batch, then scales and shifts it.',
      arguments = 'nOutput:whole! eps:number=1e-5 momentum:number=0.1 affine:flag=true',
      fields = 'train:flag=true',
      takes = 'momentum eps',
      kernels = {
         batch_normalization = 'ottttttt train takes',
         batch_normalization_gradients = 'tttttttttt train scale:number eps',
      },
      thnn = {
         updateOutput = 'input output weight bias running_mean running_var save_mean save_std train momentum eps',
         backward = 'input gradOutput gradInput gradWeight gradBias weight running_mean running_var save_mean '
            .. 'save_std train scale eps',
      },
   },
   SpatialBatchNormalization = {
      help = 'BatchNormalization for images: over the batch and all pixels of a plane.',
      base = 'BatchNormalization',
   },
   VolumetricBatchNormalization = {
      help = 'BatchNormalization for volumes.',
      base = 'BatchNormalization',
   },
   SpatialCrossMapLRN = {
      help = 'Divides by the energy of neighbouring planes, as AlexNet did.',
      arguments = 'size:scalar alpha:scalar=0.0001 beta:scalar=0.75 k:scalar=1',
      kind = 'plain',
      kernel = 'cross_map_lrn',
      takes = 'size alpha beta k',
   },
   Normalize = {
      help = 'Brings each example to p-norm 1.',
      arguments = 'p:scalar eps:scalar=1e-10',
      usage = '(p, [epsilon])',
      kind = 'plain',
      kernel = 'normalize',
      takes = 'p eps',
   },
   LayerNormalization = {
      help = 'Brings the features of each example to mean 0 and variance 1, then scales and shifts them.',
      base = 'Sequential',
      arguments = 'nOutput:whole! bias:number!=0 eps:number!=1e-10 affine:flag!=true',
   },
   SpatialSubtractiveNormalization = {
      help = 'Subtracts the local mean of an image.',
      arguments = 'nInputPlane:whole=1 kernel:tensor?',
   },
   SpatialDivisiveNormalization = {
      help = 'Divides an image by its local deviation.',
      arguments = 'nInputPlane:whole=1 kernel:tensor? threshold:number=1e-4 thresval:number=threshold',
   },
   SpatialContrastiveNormalization = {
      help = 'Subtracts the local mean of an image and divides by its local deviation.',
      arguments = 'nInputPlane:whole=1 kernel:tensor? threshold:number=1e-4 thresval:number=threshold',
   },
}
