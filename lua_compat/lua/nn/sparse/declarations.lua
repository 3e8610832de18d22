-- Declarations of the classes in nn/sparse/init.lua; nn/declarations.lua explains the format.
return {
   SparseLinear = {
      help = 'A linear layer for inputs given as pairs of index and value.',
      arguments = 'inputSize:whole! outputSize:whole! doGradInput:flag=false',
   },
   IndexLinear = {
      help = 'A linear layer for sparse inputs given as indices and values.',
      arguments = 'inputSize:whole outputSize:whole doGradInput:flag=false keysOffset:any!? weight:tensor? '
         .. 'bias:tensor? normalize:flag!?',
   },
}
