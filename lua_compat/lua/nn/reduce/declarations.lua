-- Declarations of the classes in nn/reduce/init.lua; nn/declarations.lua explains the format.
return {
   Sum = {
      help = 'The sum along a dimension.',
      arguments = 'dimension:whole=1 nInputDims:whole? sizeAverage:flag=false squeeze:flag=true',
      absent = 'squeeze=true',
   },
   Mean = {
      help = 'The mean along a dimension.',
      base = 'Sum',
      arguments = 'dimension:whole=1 nInputDims:whole?',
      fields = 'sizeAverage:flag=true squeeze:flag=true',
   },
   Min = {
      help = 'The smallest elements along a dimension.',
      arguments = 'dimension:whole=1 nInputDims:whole?',
   },
   Max = {
      help = 'The largest elements along a dimension.',
      arguments = 'dimension:whole=1 nInputDims:whole?',
   },
}
