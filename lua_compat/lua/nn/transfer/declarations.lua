-- Declarations of the classes in nn/transfer/init.lua; nn/declarations.lua explains the format.
return {
   kernels = {
      transfer = 'ot function:text ... number:number',
      transfer_gradient = 'ott function:text ... number:number',
      class_softmax = 'ot function:text',
      class_softmax_gradient = 'ott function:text',
   },
   Abs = {
      help = 'The absolute value of each element.',
      thnn = {
         updateOutput = 'input output',
         updateGradInput = 'input gradOutput gradInput',
      },
   },
   Exp = {
      help = 'The exponential function of each element.',
   },
   Log = {
      help = 'The natural logarithm of each element.',
   },
   Sigmoid = {
      help = '1 / (1 + exp(-x)) of each element.',
      thnn = {
         updateOutput = 'input output',
         updateGradInput = 'input gradOutput gradInput output',
      },
      torch_nn = 'Sigmoid',
   },
   Square = {
      help = 'The square of each element.',
      thnn = {
         updateOutput = 'input output',
         updateGradInput = 'input gradOutput gradInput',
      },
   },
   Sqrt = {
      help = 'The square root of each element.',
      arguments = 'eps:number=0',
      takes = 'eps',
      thnn = {
         updateOutput = 'input output eps',
         updateGradInput = 'input gradOutput gradInput output',
      },
   },
   Tanh = {
      help = 'The hyperbolic tangent of each element.',
      thnn = {
         updateOutput = 'input output',
         updateGradInput = 'input gradOutput gradInput output',
      },
      torch_nn = 'Tanh',
   },
   SoftSign = {
      help = 'x / (1 + |x|) of each element.',
      torch_nn = 'Softsign',
   },
   LogSigmoid = {
      help = 'The logarithm of the sigmoid of each element.',
      thnn = {
         updateOutput = 'input output _',
         updateGradInput = 'input gradOutput gradInput _',
      },
      torch_nn = 'LogSigmoid',
   },
   SoftPlus = {
      help = 'A smooth ReLU: log(1 + exp(beta * x)) / beta.',
      arguments = 'beta:number=1',
      fields = 'threshold:number=20',
      takes = 'beta threshold',
      thnn = {
         updateOutput = 'input output beta threshold',
         updateGradInput = 'input gradOutput gradInput output beta threshold',
      },
      torch_nn = 'Softplus',
   },
   HardShrink = {
      help = 'Sets elements between -lambda and lambda to zero.',
      arguments = 'lambda:number=0.5',
      takes = 'lambda',
      thnn = {
         updateOutput = 'input output lambda',
         updateGradInput = 'input gradOutput gradInput lambda',
      },
      torch_nn = 'Hardshrink',
   },
   SoftShrink = {
      help = 'Moves elements towards zero by lambda, and stops there.',
      arguments = 'lambda:number=0.5',
      takes = 'lambda',
      thnn = {
         updateOutput = 'input output lambda',
         updateGradInput = 'input gradOutput gradInput lambda',
      },
      torch_nn = 'Softshrink',
   },
   ELU = {
      help = 'The exponential linear unit: x above zero, alpha * (exp(x) - 1) below.',
      arguments = 'alpha:number=1 inplace:flag=false',
      takes = 'alpha',
      thnn = {
         updateOutput = 'input output alpha inplace',
         updateGradInput = 'input gradOutput gradInput output alpha inplace',
      },
      torch_nn = 'ELU',
   },
   LeakyReLU = {
      help = 'x above zero, a small multiple of x below.',
      arguments = 'negval:number=1/100 inplace:flag=false',
      usage = '([slope, inplace])',
      takes = 'negval',
      thnn = {
         updateOutput = 'input output negval inplace',
         updateGradInput = 'input gradOutput gradInput negval inplace',
      },
      torch_nn = 'LeakyReLU',
   },
   HardTanh = {
      help = 'Limits each element to the range between two bounds, -1 and 1 by default.',
      arguments = 'min_val:number=-1 max_val:number=1 inplace:flag=false',
      usage = '([minimum, maximum, inplace])',
      takes = 'min_val max_val',
      thnn = {
         updateOutput = 'input output min_val max_val inplace',
         updateGradInput = 'input gradOutput gradInput min_val max_val inplace',
      },
      torch_nn = 'Hardtanh',
   },
   ReLU6 = {
      help = 'The positive part of each element, at most 6.',
      arguments = 'inplace:flag=false',
      torch_nn = 'ReLU6',
   },
   Threshold = {
      help = 'Replaces elements that are not above a threshold.',
      arguments = 'threshold:number=1e-6 val:number=0 inplace:flag=false',
      usage = '([threshold, value, inplace])',
      takes = 'threshold val',
      thnn = {
         updateOutput = 'input output threshold val inplace',
         updateGradInput = 'input gradOutput gradInput threshold val inplace',
      },
      torch_nn = 'Threshold',
   },
   Power = {
      help = 'Raises each element to a power.',
      arguments = 'pow:scalar',
      usage = '(exponent)',
      takes = 'pow',
   },
   ReLU = {
      help = 'The positive part of each element.',
      base = 'Threshold',
      arguments = 'inplace:flag=false',
      fields = 'threshold:number=0 val:number=0',
      torch_nn = 'ReLU',
   },
   TanhShrink = {
      help = 'x - tanh(x) of each element.',
   },
   Clamp = {
      help = 'Limits each element to the range between two bounds.',
      base = 'HardTanh',
      arguments = 'min_val:number max_val:number',
      torch_nn = 'Hardtanh',
   },
   SpatialLogSoftMax = {
      help = 'LogSoftMax over the planes, at each pixel.',
   },
   SoftMax = {
      help = 'Exponentials over their sum: positive numbers that add up to 1.',
      thnn = {
         updateOutput = 'input output',
         updateGradInput = 'input gradOutput gradInput output',
      },
   },
   LogSoftMax = {
      help = 'The logarithm of the softmax over the features.',
      thnn = {
         updateOutput = 'input output',
         updateGradInput = 'input gradOutput gradInput output',
      },
   },
   SoftMin = {
      help = 'The softmax of the negative input.',
   },
   SpatialSoftMax = {
      help = 'SoftMax over the planes, at each pixel.',
   },
   GatedLinearUnit = {
      help = 'One half of the input times the sigmoid of the other.',
      arguments = 'dim:whole?',
      usage = '([dimension])',
      kind = 'plain',
      kernel = 'gated_linear_unit',
      kernels = { gated_linear_unit = 'ot dim:whole', gated_linear_unit_gradient = 'ott dim:whole' },
      thnn_name = 'GatedLinear',
      thnn = {
         updateOutput = 'input output dim',
         updateGradInput = 'input gradOutput gradInput dim',
      },
   },
   PReLU = {
      help = 'x above zero, a learnt multiple of x below.',
      arguments = 'nOutputPlane:whole=0',
      kind = 'weighted',
      kernel = 'prelu',
      takes = '',
      thnn = {
         updateOutput = 'input output weight nOutputPlane',
         updateGradInput = 'input gradOutput gradInput weight nOutputPlane',
         accGradParameters = 'input gradOutput _ weight gradWeight _ _ nOutputPlane scale',
      },
   },
   RReLU = {
      help = 'A leaky ReLU whose slope below zero is drawn at random in training.',
      arguments = 'lower:number=1/8 upper:number=1/3 inplace:flag=false',
      fields = 'noise:Tensor train:flag=true',
      takes = 'lower upper train inplace',
      thnn = {
         updateOutput = 'input output noise lower upper train inplace _',
         updateGradInput = 'input gradOutput gradInput noise lower upper train inplace',
      },
      torch_nn = 'RReLU',
   },
   CReLU = {
      help = 'The positive parts of the input and of its negative, one after the other.',
      base = 'Sequential',
      arguments = 'nInputDims:whole inplace:flag=false',
   },
}
