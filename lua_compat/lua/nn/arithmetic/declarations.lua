-- Declarations of the classes in nn/arithmetic/init.lua; nn/declarations.lua explains the format.
return {
   Add = {
      help = 'Adds a learnt bias, one for each input or one for all.',
      arguments = 'inputSize:whole! scalar:flag?',
   },
   Mul = {
      help = 'Multiplies by one learnt number.',
   },
   CAdd = {
      help = 'Adds a learnt tensor of any size that fits the input.',
      usage = '(sizes)',
   },
   CMul = {
      help = 'Multiplies by a learnt tensor of any size that fits the input.',
      usage = '(sizes)',
   },
   AddConstant = {
      help = 'Adds a fixed number.',
      arguments = 'constant_scalar:any inplace:flag=false',
   },
   MulConstant = {
      help = 'Multiplies by a fixed number.',
      arguments = 'constant_scalar:any inplace:flag=false',
   },
   MM = {
      help = 'The matrix product of the two tensors of a table.',
      arguments = 'transA:flag=false transB:flag=false',
   },
   MV = {
      help = 'The product of the matrix and the vector of a table.',
      arguments = 'trans:flag=false',
   },
}
