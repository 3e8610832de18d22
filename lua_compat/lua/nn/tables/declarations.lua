-- Declarations of the classes in nn/tables/init.lua; nn/declarations.lua explains the format.
return {
   SplitTable = {
      help = 'Cuts a tensor along a dimension into a table of slices.',
      arguments = 'dimension:whole nInputDims:whole?',
   },
   JoinTable = {
      help = 'Joins the tensors of a table along a dimension.',
      arguments = 'dimension:whole nInputDims:whole?',
      fields = 'size:LongStorage gradInput:table',
   },
   SelectTable = {
      help = 'One element of a table.',
      arguments = 'index:any',
      fields = 'gradInput:table',
   },
   NarrowTable = {
      help = 'A part of a table.',
      arguments = 'offset:whole length:whole=1',
      fields = 'output:table gradInput:table',
   },
   FlattenTable = {
      help = 'A table in tables as one table without any.',
      fields = 'output:table gradInput:table input_map:table',
   },
   ZipTable = {
      help = 'Transposes a table of tables.',
      fields = 'output:table gradInput:table',
   },
   ZipTableOneToMany = {
      help = 'Pairs one tensor with each element of a table.',
      fields = 'output:table gradInput:table gradInputEl:Tensor',
   },
   CriterionTable = {
      help = 'Lets a criterion take input and target from a table.',
      arguments = 'criterion:module',
   },
   CAddTable = {
      help = 'Adds the tensors of a table.',
      arguments = 'inplace:flag?',
      fields = 'gradInput:table',
   },
   CSubTable = {
      help = 'Subtracts the second tensor of a table from the first.',
      fields = 'gradInput:table',
   },
   CMulTable = {
      help = 'Multiplies the tensors of a table.',
      fields = 'gradInput:table',
   },
   CDivTable = {
      help = 'Divides the first tensor of a table by the second.',
      fields = 'gradInput:table',
   },
   CMaxTable = {
      help = "The largest element at each position of a table's tensors.",
      fields = 'gradInput:table maxIdx:Tensor mask:Tensor maxVals:Tensor gradMaxVals:Tensor',
   },
   CMinTable = {
      help = "The smallest element at each position of a table's tensors.",
      fields = 'gradInput:table minIdx:Tensor mask:Tensor minVals:Tensor gradMaxVals:Tensor',
   },
   CAddTensorTable = {
      help = 'Adds one tensor to each tensor of a table.',
      fields = 'gradInput:table',
   },
   MixtureTable = {
      help = 'Adds the outputs of several experts, weighted by a gate.',
      arguments = 'dim:whole?',
      fields = 'size:LongStorage size2:LongStorage batchSize:number=0 backwardSetup:flag=false gradInput:table',
   },
}
