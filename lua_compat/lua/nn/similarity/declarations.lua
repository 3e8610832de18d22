-- Declarations of the classes in nn/similarity/init.lua; nn/declarations.lua explains the format.
return {
   Bilinear = {
      help = 'A bilinear form of two inputs, with learnt weights.',
      arguments = 'inputSize1:whole! inputSize2:whole! outputSize:whole! bias:flag!=true',
      kernels = {
         bilinear = 'otttt',
         bilinear_grad_inputs = 'ootttt',
         bilinear_grad_parameters = 'ttttt scale:scalar',
      },
   },
   Cosine = {
      help = 'The cosine of the angle between the input and each of the learnt weight vectors.',
      arguments = 'inputSize:whole! outputSize:whole!',
      kernels = { cosine = 'ott', cosine_grad_input = 'ottt', cosine_grad_weight = 'tttt scale:scalar' },
   },
   Euclidean = {
      help = 'The distance of the input to each of the learnt centres.',
      fields = 'fastBackward:flag=true',
      arguments = 'inputSize:whole! outputSize:whole!',
      kernels = {
         euclidean = 'ottt',
         euclidean_grad_input = 'otttt',
         euclidean_grad_parameters = 'tttttt scale:scalar',
      },
   },
   WeightedEuclidean = {
      help = 'The distance to each learnt centre, with a learnt weight for each feature.',
      arguments = 'inputSize:whole! outputSize:whole!',
   },
   Kmeans = {
      help = 'Clusters its input around learnt centres.',
      arguments = 'k:whole dim:whole scale:number?',
      fields = 'loss:number=0', -- the sum of the squared distances to the nearest centres
   },
   DotProduct = {
      help = 'The dot product of the two tensors of a table.',
      kind = 'pair',
      kernel = 'dot_product',
      takes = '',
   },
   CosineDistance = {
      help = 'The cosine of the angle between the two tensors of a table.',
      kind = 'pair',
      kernel = 'cosine_distance',
      takes = '',
   },
   PairwiseDistance = {
      help = 'The p-norm distance of the two tensors of a table.',
      arguments = 'norm:scalar=2',
      fields = 'diff:Tensor gradInput:table',
      usage = '(p)',
      kind = 'pair',
      kernel = 'pairwise_distance',
      takes = 'norm',
   },
}
