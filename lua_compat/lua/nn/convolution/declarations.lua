-- Declarations of the classes in nn/convolution/init.lua; nn/declarations.lua explains the format.
return {
   SpatialConvolution = {
      help = 'A convolution of images.',
      arguments = 'nInputPlane:whole nOutputPlane:whole kW:whole kH:whole dW:whole=1 dH:whole=1 padW:whole=0 '
         .. 'padH:whole=padW',
      absent = 'padW=0 padH=0',
      ranges = { { 9, 'kernel size', 'kH kW' }, { 11, 'stride', 'dH dW' } },
      takes = 'kW kH dW dH padW padH',
      kernels = {
         spatial_convolution = 'ottt takes',
         spatial_convolution_grad_input = 'ottt takes',
         spatial_convolution_grad_weight = 'tttt takes scale:number',
      },
      torch_nn = 'Conv2d',
   },
   SpatialConvolutionMM = {
      help = 'A convolution of images by a matrix product.',
      arguments = 'nInputPlane:whole nOutputPlane:whole kW:whole kH:whole dW:whole=1 dH:whole=1 padW:whole=0 '
         .. 'padH:whole=padW',
      absent = 'padW=0 padH=0',
      ranges = { { 9, 'kernel size', 'kH kW' }, { 11, 'stride', 'dH dW' } },
      takes = 'kW kH dW dH padW padH',
      thnn = {
         updateOutput = 'input output weight bias _ _ kW kH dW dH padW padH',
         updateGradInput = 'input gradOutput gradInput weight _ _ kW kH dW dH padW padH',
         accGradParameters = 'input gradOutput gradWeight gradBias _ _ kW kH dW dH padW padH scale',
      },
      torch_nn = 'Conv2d',
   },
   SpatialDilatedConvolution = {
      help = 'A convolution whose kernel has gaps.',
      base = 'SpatialConvolution',
      arguments = '... dilationW:whole=1 dilationH:whole=1',
      ranges = { { 9, 'kernel size', 'kH kW' },
         { 11, 'stride', 'dH dW' },
         { 15, 'dilation', 'dilationH, dilationW' } },
      kind = 'weighted',
      kernel = 'convolution',
      takes = "'plain' ... dW dH padW padH dilationW dilationH",
      thnn = {
         updateOutput = 'input output weight bias _ _ kW kH dW dH padW padH dilationW dilationH',
         updateGradInput = 'input gradOutput gradInput weight _ kW kH dW dH padW padH dilationW dilationH',
         accGradParameters = 'input gradOutput gradWeight gradBias _ _ kW kH dW dH padW padH dilationW dilationH '
            .. 'scale',
      },
      torch_nn = 'Conv2d',
   },
   SpatialDepthWiseConvolution = {
      help = 'A separate convolution of each plane.',
      arguments = 'nInputPlane:whole nOutputPlane:whole kW:whole kH:whole dW:whole=1 dH:whole=1 padW:whole=0 '
         .. 'padH:whole=padW',
      absent = 'padW=0 padH=0',
      ranges = { { 9, 'kernel size', 'kH kW' }, { 11, 'stride', 'dH dW' } },
      kind = 'weighted',
      kernel = 'depthwise_convolution',
      takes = 'kW kH dW dH padW padH',
      thnn = {
         updateOutput = 'input output weight bias _ _ kW kH dW dH padW padH',
         updateGradInput = 'input gradOutput gradInput weight _ _ kW kH dW dH padW padH',
         accGradParameters = 'input gradOutput gradWeight gradBias _ _ kW kH dW dH padW padH scale',
      },
      torch_nn = 'Conv2d',
   },
   SpatialFullConvolution = {
      help = 'A transposed convolution, which enlarges images.',
      arguments = 'nInputPlane:whole nOutputPlane:whole kW:whole kH:whole dW:whole=1 dH:whole=1 padW:whole=0 '
         .. 'padH:whole=0 adjW:whole=0 adjH:whole=0',
      fields = 'ones:Tensor',
      ranges = { { 9, 'kernel size', 'kH kW' }, { 11, 'stride', 'dH dW' } },
      kind = 'weighted',
      kernel = 'convolution',
      thnn = {
         updateOutput = 'input output weight bias _ _ kW kH dW dH padW padH adjW adjH',
         updateGradInput = 'input gradOutput gradInput weight _ kW kH dW dH padW padH adjW adjH',
         accGradParameters = 'input gradOutput gradWeight gradBias _ _ kW kH dW dH padW padH adjW adjH scale',
      },
   },
   SpatialConvolutionLocal = {
      help = 'A convolution with separate weights at each pixel.',
      arguments = 'nInputPlane:whole nOutputPlane:whole iW:whole iH:whole kW:whole kH:whole dW:whole=1 dH:whole=1 '
         .. 'padW:whole=0 padH:whole=padW',
      absent = 'padW=0 padH=0',
      ranges = { { 9, 'kernel size', 'kH kW' }, { 11, 'stride', 'dH dW' } },
      kind = 'weighted',
      kernel = 'local_convolution',
      takes = 'kW kH dW dH padW padH',
      thnn = {
         updateOutput = 'input output weight bias _ _ kW kH dW dH padW padH iW iH oW oH',
         updateGradInput = 'input gradOutput gradInput weight _ _ kW kH dW dH padW padH iW iH oW oH',
         accGradParameters = 'input gradOutput gradWeight gradBias _ _ kW kH dW dH padW padH iW iH oW oH scale',
      },
   },
   SpatialSubSampling = {
      help = 'Sums over windows, times a learnt weight for each plane, plus a bias.',
      arguments = 'nInputPlane:whole kW:whole kH:whole dW:whole=1 dH:whole=1',
      kind = 'weighted',
      kernel = 'spatial_subsampling',
      takes = 'kW kH dW dH',
      thnn = {
         updateOutput = 'input output weight bias kW kH dW dH',
         updateGradInput = 'input gradOutput gradInput weight kW kH dW dH',
         accGradParameters = 'input gradOutput gradWeight gradBias kW kH dW dH scale',
      },
   },
   TemporalConvolution = {
      help = 'A convolution of sequences.',
      arguments = 'inputFrameSize:whole outputFrameSize:whole kW:whole dW:whole=1',
      ranges = { { 9, 'kernel size', 'kW' }, { 11, 'stride', 'dW' } },
      kind = 'weighted',
      kernel = 'temporal_convolution',
      takes = 'kW dW',
      thnn = {
         updateOutput = 'input output weight bias kW dW inputFrameSize outputFrameSize',
         updateGradInput = 'input gradOutput gradInput weight kW dW',
         accGradParameters = 'input gradOutput gradWeight gradBias kW dW scale',
      },
   },
   TemporalSubSampling = {
      help = 'Sums over windows of a sequence, times a learnt weight for each feature, plus a bias.',
      arguments = 'inputFrameSize:whole kW:whole dW:whole=1',
      ranges = { { 6, 'kernel size', 'kW' }, { 7, 'stride', 'dW' } },
      kind = 'weighted',
      kernel = 'temporal_subsampling',
      takes = 'kW dW',
      thnn = {
         updateOutput = 'input output weight bias kW dW inputFrameSize',
         updateGradInput = 'input gradOutput gradInput weight kW dW',
         accGradParameters = 'input gradOutput gradWeight gradBias kW dW scale',
      },
   },
   TemporalRowConvolution = {
      help = 'A separate convolution of each feature of a sequence.',
      arguments = 'inputFrameSize:whole kW:whole dW:whole=1 featFirst:flag=false',
      ranges = { { 5, 'kernel size', 'kW' }, { 6, 'stride', 'dW' } },
      kind = 'weighted',
      kernel = 'temporal_row_convolution',
      takes = 'dW featFirst',
      thnn = {
         updateOutput = 'input output weight bias _ _ kW dW _ featFirst',
         updateGradInput = 'input gradOutput gradInput weight _ _ kW dW _ featFirst',
         accGradParameters = 'input gradOutput gradWeight gradBias _ _ kW dW _ featFirst scale',
      },
   },
   VolumetricConvolution = {
      help = 'A convolution of volumes.',
      arguments = 'nInputPlane:whole nOutputPlane:whole kT:whole kW:whole kH:whole dT:whole=1 dW:whole=1 '
         .. 'dH:whole=1 padT:whole=0 padW:whole=padT padH:whole=padW',
      absent = 'padT=0 padW=0 padH=0',
      ranges = { { 8, 'kernel size', 'kT kH kW' }, { 11, 'stride', 'dT dH dW' } },
      kind = 'weighted',
      kernel = 'convolution',
      takes = "'plain' ... dT dW dH padT padW padH",
      thnn_name = 'VolumetricConvolutionMM',
      thnn = {
         updateOutput = 'input output weight bias _ kT kW kH dT dW dH padT padW padH',
         updateGradInput = 'input gradOutput gradInput weight _ _ kT kW kH dT dW dH padT padW padH',
         accGradParameters = 'input gradOutput gradWeight gradBias _ kT kW kH dT dW dH padT padW padH scale',
      },
      torch_nn = 'Conv3d',
   },
   VolumetricDilatedConvolution = {
      help = 'A convolution of volumes whose kernel has gaps.',
      base = 'VolumetricConvolution',
      arguments = '... dilationT:whole=1 dilationW:whole=1 dilationH:whole=1',
      ranges = { { 8, 'kernel size', 'kT kH kW' },
         { 11, 'stride', 'dT dH dW' },
         { 15, 'dilation', 'dilationT, dilationH, dilationW' } },
      kind = 'weighted',
      kernel = 'convolution',
      takes = "'plain' ... dT dW dH padT padW padH dilationT dilationW dilationH",
      thnn = {
         updateOutput = 'input output weight bias _ _ kT kW kH dT dW dH padT padW padH dilationT dilationW dilationH',
         updateGradInput = 'input gradOutput gradInput weight _ kT kW kH dT dW dH padT padW padH dilationT '
            .. 'dilationW dilationH',
         accGradParameters = 'input gradOutput gradWeight gradBias _ _ kT kW kH dT dW dH padT padW padH dilationT '
            .. 'dilationW dilationH scale',
      },
      torch_nn = 'Conv3d',
   },
   VolumetricFullConvolution = {
      help = 'A transposed convolution of volumes.',
      arguments = 'nInputPlane:whole nOutputPlane:whole kT:whole kW:whole kH:whole dT:whole=1 dW:whole=1 '
         .. 'dH:whole=1 padT:whole=0 padW:whole=0 padH:whole=0 adjT:whole=0 adjW:whole=0 adjH:whole=0',
      fields = 'ones:Tensor finput:Tensor fgradInput:Tensor',
      ranges = { { 11, 'stride', 'dT dH dW' } },
      kind = 'weighted',
      kernel = 'convolution',
      thnn = {
         updateOutput = 'input output weight bias _ _ dT dW dH padT padW padH adjT adjW adjH',
         updateGradInput = 'input gradOutput gradInput weight _ _ dT dW dH padT padW padH adjT adjW adjH',
         accGradParameters = 'input gradOutput gradWeight gradBias _ _ dT dW dH padT padW padH adjT adjW adjH scale',
      },
   },
   SpatialConvolutionMap = {
      help = 'A convolution with a table of which planes feed which.',
      arguments = 'connTable:tensor kW:whole kH:whole dW:whole=1 dH:whole=1',
      optional = 'nInputPlane:whole? nOutputPlane:whole?',
      takes = 'dW dH',
      kernels = {
         mapped_convolution = 'otttt takes full:flag',
         mapped_convolution_grad_input = 'ottttt takes full:flag',
         mapped_convolution_grad_parameters = 'ttttttt takes full:flag scale:number',
      },
      thnn = {
         updateOutput = 'input output weight bias connTable nInputPlane nOutputPlane dW dH',
         updateGradInput = 'input gradOutput gradInput weight bias connTable nInputPlane nOutputPlane dW dH',
         accGradParameters = 'input gradOutput gradWeight gradBias connTable nInputPlane nOutputPlane dW dH scale',
      },
   },
   SpatialFullConvolutionMap = {
      help = 'A transposed convolution with a table of which planes feed which.',
      arguments = 'connTable:tensor kW:whole kH:whole dW:whole=1 dH:whole=1',
      optional = 'nInputPlane:whole? nOutputPlane:whole?',
      takes = 'dW dH',
      thnn = {
         updateOutput = 'input output weight bias connTable nInputPlane nOutputPlane dW dH',
         updateGradInput = 'input gradOutput gradInput weight bias connTable nInputPlane nOutputPlane dW dH',
         accGradParameters = 'input gradOutput gradWeight gradBias connTable nInputPlane nOutputPlane dW dH scale',
      },
   },
}
