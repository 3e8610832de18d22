-- Declarations of the classes in nn/containers/init.lua; nn/declarations.lua explains the format.
return {
   Module = {
      help = 'The class that all modules inherit from.',
   },
   Criterion = {
      help = 'The class that all losses inherit from.',
   },
   Container = {
      help = 'The class that all modules with modules in them inherit from.',
      fields = 'modules:table',
   },
   Sequential = {
      help = 'Runs modules one after the other.',
      base = 'Container',
      torch_nn = 'Sequential',
   },
   Concat = {
      help = 'Runs modules on one input and joins their outputs along a dimension.',
      base = 'Container',
      arguments = 'dimension:whole',
      fields = 'outputSize:LongStorage',
   },
   ConcatTable = {
      help = 'Runs modules on one input and puts their outputs in a table.',
      base = 'Container',
      fields = 'output:table',
   },
   ParallelTable = {
      help = 'Runs a module on each element of a table.',
      base = 'Container',
      fields = 'output:table gradInput:table',
   },
   Parallel = {
      help = 'Runs a module on each slice of a dimension and joins the outputs.',
      base = 'Container',
      arguments = 'inputDimension:whole outputDimension:whole',
   },
   DepthConcat = {
      help = 'Concat for outputs of different sizes: the smaller ones are padded with zeros.',
      base = 'Concat',
   },
   MapTable = {
      help = 'Runs one module on each element of a table, with shared weights.',
      base = 'Container',
      arguments = 'module:module? shared:flag=true',
      fields = 'output:table gradInput:table',
      absent = 'shared=true',
   },
   StochasticGradient = {
      help = 'Trains a module on a dataset, one example at a time.',
      arguments = 'module:module criterion:module',
      fields = 'learningRate:number=0.01 learningRateDecay:number=0 maxIteration:whole=25 '
         .. 'shuffleIndices:flag=true verbose:flag=true',
   },
}
