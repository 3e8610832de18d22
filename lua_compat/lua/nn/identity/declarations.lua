-- Declarations of the classes in nn/identity/init.lua; nn/declarations.lua explains the format.
return {
   Identity = {
      help = 'Passes its input on.',
      torch_nn = 'Identity',
   },
   Copy = {
      help = 'Copies the input, into another type if one is given.',
      arguments = 'intype:text!? outtype:text!? forceCopy:flag!? dontCast:flag?',
   },
   ZeroGrad = {
      help = 'Passes its input on, and a gradient of zeros back.',
   },
   PrintSize = {
      help = 'Prints the sizes of what passes through it.',
      arguments = "prefix:text='PrintSize'",
   },
   Constant = {
      help = 'Always gives the same tensor, whatever the input.',
      arguments = 'value:any nInputDim:whole?',
   },
   L1Penalty = {
      help = 'Passes its input on and adds a penalty on its absolute values to the gradient.',
      arguments = 'l1weight:number sizeAverage:flag=false provideOutput:flag=true',
   },
   GradientReversal = {
      help = 'Passes the input on, and the gradient with the other sign.',
      arguments = 'lambda:number=1',
   },
}
