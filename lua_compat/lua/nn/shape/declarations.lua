-- Declarations of the classes in nn/shape/init.lua; nn/declarations.lua explains the format.
return {
   View = {
      help = 'The input in other sizes, without copying.',
      fields = 'size:LongStorage',
      optional = 'numElements:whole? numInputDims:whole?',
      usage = '(sizes)',
   },
   Reshape = {
      help = 'The input in other sizes.',
      usage = '(sizes, [batchMode])',
   },
   Narrow = {
      help = 'A part of a tensor along a dimension.',
      arguments = 'dimension:whole index:whole length:whole=1',
   },
   Select = {
      help = 'One slice along a dimension.',
      arguments = 'dimension:whole index:whole',
   },
   Replicate = {
      help = 'Repeats the input along a new dimension without copying.',
      arguments = 'nfeatures:whole dim:whole=1 ndim:whole?',
   },
   Contiguous = {
      help = 'Copies the input where its elements do not follow one another in memory.',
   },
   Transpose = {
      help = 'Swaps pairs of dimensions.',
      usage = '({dimension1, dimension2}, [more pairs])',
   },
   Unsqueeze = {
      help = 'Adds a dimension of size 1.',
      arguments = 'pos:whole numInputDims:whole?',
   },
   Squeeze = {
      help = 'Removes dimensions of size 1.',
      arguments = 'dim:whole? numInputDims:whole?',
   },
   Collapse = {
      help = 'Folds the dimensions before the last few into one.',
      arguments = 'nInputDim:whole',
   },
   Index = {
      help = 'Picks slices of a tensor along a dimension, by a tensor of indices.',
      arguments = 'dimension:whole',
   },
   MaskedSelect = {
      help = 'Picks the elements where a mask is nonzero.',
      fields = '_maskIndices:LongTensor _maskIndexBuffer:LongTensor _maskIndexBufferCPU:FloatTensor '
         .. '_gradBuffer:Tensor _gradMask:ByteTensor',
   },
   OneHot = {
      help = 'A one at the index that each whole number of the input gives, zeros elsewhere.',
      arguments = 'outputSize:whole',
   },
   Convert = {
      help = "Turns the input's layout or type into that of another one.",
      base = 'Container',
      arguments = "inputShape:text='b*' outputShape:text=inputShape",
   },
}
