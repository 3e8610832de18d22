-- Declarations of the classes in nn/sparse/init.lua; nn/declarations.lua explains the format.
return {
   SparseLinear = {
      help = 'A linear layer for inputs given as pairs of index and value.',
      arguments = 'inputSize:whole! outputSize:whole! doGradInput:flag=false',
      fields = 'weightDecay:number=0',
      kernels = {
         sparse_linear = 'ottt batch:whole',
         sparse_linear_columns = 'ott',
         sparse_linear_grad_parameters = 'ttttt weightDecay scale:number',
      },
   },
   IndexLinear = {
      help = 'A linear layer for sparse inputs given as indices and values.',
      arguments = 'inputSize:whole outputSize:whole doGradInput:flag=false keysOffset:any!? weight:tensor? '
         .. 'bias:tensor? normalize:flag!?',
      fields = 'offset:whole=-1 weightDecay:number=0',
      optional = 'train:truth',
      kernels = {
         index_linear = 'oottttt offset train',
         index_linear_grad_parameters = 'ottttt scale:number',
         index_linear_update = 'tttttt offset weightDecay rate:number',
         index_linear_update_parameters = 'ttttt offset weightDecay rate:number',
      },
   },
}
