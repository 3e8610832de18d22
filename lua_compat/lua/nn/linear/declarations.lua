-- Declarations of the classes in nn/linear/init.lua; nn/declarations.lua explains the format.
return {
   Linear = {
      help = 'A fully connected layer: a matrix times the input, plus a bias.',
      arguments = 'inputSize:whole! outputSize:whole! bias:flag!=true',
      thnn = {
         updateOutput = 'input output weight bias addBuffer',
         updateGradInput = 'input gradOutput gradInput weight',
         accGradParameters = 'input gradOutput _ weight bias gradWeight gradBias addBuffer scale',
      },
      torch_nn = 'Linear',
   },
   LookupTable = {
      help = 'A learnt vector for each whole number of the input.',
      arguments = 'nIndex:whole! nOutput:whole! paddingValue:index=0 maxNorm:number? normType:number?',
      optional = 'shouldScaleGradByFreq:flag=false',
      absent = 'normType=2',
      kernels = {
         lookup_grad_weight = 'ttt paddingValue scale:number shouldScaleGradByFreq',
         lookup_renorm = 'tt maxNorm:number normType:number',
      },
      thnn = {
         accGradParameters = 'input gradOutput gradWeight _ _ _ shouldScaleGradByFreq paddingValue scale',
         renorm = 'input weight maxNorm normType',
      },
   },
   PartialLinear = {
      help = 'A linear layer of which only some outputs are computed.',
      arguments = 'inputsize:whole outputsize:whole bias:flag!=true',
   },
   LinearWeightNorm = {
      help = 'A linear layer whose weight vectors are kept as direction and length.',
      base = 'Linear',
      arguments = 'inputSize:whole outputSize:whole bias:flag!=true eps:number=1e-16',
   },
   Maxout = {
      help = "The largest of several linear layers' outputs.",
      base = 'Sequential',
      arguments = 'inputSize:whole! outputSize:whole! maxoutNumber:whole! preprocess:module!?',
   },
}
