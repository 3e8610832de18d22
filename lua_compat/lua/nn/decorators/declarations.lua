-- Declarations of the classes in nn/decorators/init.lua; nn/declarations.lua explains the format.
return {
   Decorator = {
      help = 'The class of modules that pass everything on to one module in them.',
      base = 'Container',
      arguments = 'module:module!',
   },
   Bottle = {
      help = 'Folds several dimensions into one for a module that takes fewer.',
      base = 'Decorator',
      arguments = 'module:module! nInputDim:whole=2 nOutputDim:whole=nInputDim',
   },
   NaN = {
      help = 'Checks the module in it for NaN, and stops with an error where there is one.',
      base = 'Decorator',
      arguments = 'module:module! id:whole?',
   },
   Profile = {
      help = 'Times the module in it and prints the time.',
      base = 'Decorator',
      arguments = 'module:module print_interval:whole=100 name:text?',
   },
   DontCast = {
      help = 'Keeps the type of the module in it, and converts inputs and outputs.',
      base = 'Decorator',
      arguments = 'module:module! castin:flag? castout:flag=castin moduleType:text?',
   },
   WeightNorm = {
      help = 'Keeps the weights of the module in it as directions and lengths.',
      base = 'Decorator',
      arguments = 'module:module! outputDim:whole=1',
   },
   GPU = {
      help = 'Runs the module in it on one GPU, wherever its input is.',
      base = 'Container',
      arguments = 'module:module! device:whole outdevice:whole=device',
   },
}
