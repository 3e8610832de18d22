-- Declarations of the classes in nn/pooling/init.lua; nn/declarations.lua explains the format.
-- Of windows of images
local KERNEL, STRIDE = { 5, 'kernel size', 'kH kW' }, { 8, 'stride', 'dH dW' }
local PAD = { 2, 'padW <= kW / 2 and padH <= kH / 2', 'pad should be smaller than half of kernel size, but got '
   .. 'padW = %d, padH = %d, kW = %d, kH = %d', 'padW padH kW kH' }
-- Of windows of volumes
local VOLUME_KERNEL, VOLUME_STRIDE = { 5, 'kernel size', 'kT kH kW' }, { 8, 'stride', 'dT dH dW' }
local VOLUME_PAD = { 2, 'padT <= kT / 2 and padW <= kW / 2 and padH <= kH / 2', 'pad should be smaller than half of '
   .. 'kernel size, but got kT: %d kW: %d, kH: %d, padT: %d, padW: %d, padH: %d', 'kT kW kH padT padW padH' }

return {
   kernels = {
      fractional_max_pooling = 'oott ... size:whole',
      fractional_max_pooling_grad_input = 'ottt axes:whole',
      max_unpooling = 'ott ... size:whole',
      max_unpooling_grad_input = 'ottt ... size:whole',
   },
   SpatialMaxPooling = {
      help = 'Maxima over windows of an image.',
      arguments = 'kW:whole kH:whole dW:whole=kW dH:whole=kH padW:whole=0 padH:whole=0',
      fields = 'ceil_mode:flag=false indices:LongTensor',
      ranges = { KERNEL, STRIDE, PAD },
      kind = 'maxima',
      kernel = 'spatial_max_pooling',
      takes = 'kW kH dW dH padW padH ceil_mode 1 1',
      thnn = {
         updateOutput = 'input output indices kW kH dW dH padW padH ceil_mode',
         updateGradInput = 'input gradOutput gradInput indices kW kH dW dH padW padH ceil_mode',
      },
      torch_nn = 'MaxPool2d',
   },
   SpatialAveragePooling = {
      help = 'Averages over windows of an image.',
      arguments = 'kW:whole kH:whole dW:whole=1 dH:whole=1 padW:whole=0 padH:whole=0',
      fields = 'ceil_mode:flag=false count_include_pad:flag=true divide:flag=true',
      absent = 'count_include_pad=true',
      ranges = { KERNEL, STRIDE, PAD },
      kind = 'averages',
      kernel = 'spatial_average_pooling',
      takes = 'kW kH dW dH padW padH ceil_mode count_include_pad',
      thnn = {
         updateOutput = 'input output kW kH dW dH padW padH ceil_mode count_include_pad',
         updateGradInput = 'input gradOutput gradInput kW kH dW dH padW padH ceil_mode count_include_pad',
      },
      torch_nn = 'AvgPool2d',
   },
   SpatialDilatedMaxPooling = {
      help = 'Max-pooling whose windows have gaps.',
      base = 'SpatialMaxPooling',
      arguments = '... dilationW:whole=1 dilationH:whole=1',
      ranges = { KERNEL, STRIDE, { 12, 'dilation', 'dilationH dilationW' }, PAD },
      takes = 'kW kH dW dH padW padH ceil_mode dilationW dilationH',
      thnn = {
         updateOutput = 'input output indices kW kH dW dH padW padH dilationW dilationH ceil_mode',
         updateGradInput = 'input gradOutput gradInput indices kW kH dW dH padW padH dilationW dilationH ceil_mode',
      },
      torch_nn = 'MaxPool2d',
   },
   SpatialAdaptiveMaxPooling = {
      help = 'Maxima over windows that give an output of the size asked for.',
      arguments = 'W:whole H:whole',
      usage = '(outputWidth, outputHeight)',
      kind = 'maxima',
      kernel = 'adaptive_max_pooling',
      takes = 'H W',
      gradient_takes = '',
      thnn = {
         updateOutput = 'input output indices W H',
         updateGradInput = 'input gradOutput gradInput indices',
      },
      torch_nn = 'AdaptiveMaxPool2d',
   },
   SpatialAdaptiveAveragePooling = {
      help = 'Averages over windows that give an output of the size asked for.',
      arguments = 'W:whole H:whole',
      usage = '(outputWidth, outputHeight)',
      kind = 'plain',
      kernel = 'adaptive_average_pooling',
      takes = 'H W',
      thnn = {
         updateOutput = 'input output W H',
         updateGradInput = 'input gradOutput gradInput',
      },
      torch_nn = 'AdaptiveAvgPool2d',
   },
   SpatialLPPooling = {
      help = 'The p-norm over windows of an image.',
      base = 'Sequential',
      arguments = 'nInputPlane:any! pnorm:number! kW:whole kH:whole dW:whole=kW dH:whole=kH',
   },
   FeatureLPPooling = {
      help = 'The p-norm of neighbouring features.',
      arguments = 'width:whole stride:whole power:number batch_mode:flag?',
      ranges = { { 5, 'width >= 2 and width <= 16', 'width must be between 2 - 16', 'width' },
         { 6, 'stride >= 1 and stride <= 4', 'stride must be between 1 - 4', 'stride' } },
      kind = 'plain',
      kernel = 'feature_lp_pooling',
      takes = 'width stride power batch_mode',
      thnn = {
         updateOutput = 'input output power width stride batch_mode',
         updateGradInput = 'gradOutput input output gradInput power width stride batch_mode',
      },
   },
   TemporalMaxPooling = {
      help = 'Maxima over windows of a sequence.',
      arguments = 'kW:whole dW:whole=kW',
      ranges = { { 5, 'kernel size', 'kW' }, { 6, 'stride', 'dW' } },
      kind = 'maxima',
      kernel = 'temporal_max_pooling',
      takes = 'kW dW',
      thnn = {
         updateOutput = 'input output indices kW dW',
         updateGradInput = 'input gradOutput gradInput indices kW dW',
      },
   },
   TemporalDynamicKMaxPooling = {
      help = 'The k largest elements of a sequence, in their order.',
      arguments = 'minK:number factor:number=0',
   },
   VolumetricAveragePooling = {
      help = 'Averages over windows of a volume.',
      arguments = 'kT:whole kW:whole kH:whole dT:whole=kT dW:whole=kW dH:whole=kH',
      ranges = { VOLUME_KERNEL, VOLUME_STRIDE },
      kind = 'plain',
      kernel = 'volumetric_average_pooling',
      takes = '... kT kW kH dT dW dH',
      torch_nn = 'AvgPool3d',
   },
   VolumetricMaxPooling = {
      help = 'Maxima over windows of a volume.',
      arguments = 'kT:whole kW:whole kH:whole dT:whole=kT dW:whole=kW dH:whole=kH padT:whole=0 padW:whole=0 '
         .. 'padH:whole=0',
      fields = 'ceil_mode:flag=false indices:LongTensor',
      ranges = { VOLUME_KERNEL, VOLUME_STRIDE, VOLUME_PAD },
      kind = 'maxima',
      kernel = 'volumetric_max_pooling',
      takes = 'ceil_mode ... kT kW kH dT dW dH padT padW padH 1 1 1',
      thnn = {
         updateOutput = 'input output indices kT kW kH dT dW dH padT padW padH ceil_mode',
         updateGradInput = 'input gradOutput gradInput indices kT kW kH dT dW dH padT padW padH ceil_mode',
      },
      torch_nn = 'MaxPool3d',
   },
   VolumetricDilatedMaxPooling = {
      help = 'Max-pooling of volumes whose windows have gaps.',
      base = 'VolumetricMaxPooling',
      arguments = '... dilationT:whole=1 dilationW:whole=1 dilationH:whole=1',
      ranges = { VOLUME_KERNEL, VOLUME_STRIDE, { 14, 'dilation', 'dilationT dilationH dilationW' }, VOLUME_PAD },
      takes = 'ceil_mode ... kT kW kH dT dW dH padT padW padH dilationT dilationW dilationH',
      thnn = {
         updateOutput = 'input output indices kT kW kH dT dW dH padT padW padH dilationT dilationW dilationH '
            .. 'ceil_mode',
         updateGradInput = 'input gradOutput gradInput indices kT kW kH dT dW dH padT padW padH dilationT '
            .. 'dilationW dilationH ceil_mode',
      },
      torch_nn = 'MaxPool3d',
   },
   SpatialFractionalMaxPooling = {
      help = 'Max-pooling over windows of random sizes, for outputs of any size.',
      arguments = 'poolSizeW:whole poolSizeH:whole outW:whole outH:whole',
      fields = 'newRandomPool:flag=false',
      optional = 'ratioW:number ratioH:number',
      ranges = { { 7, 'window size', 'poolSizeH poolSizeW' } },
      usage = '(kW, kH, outputWidth, outputHeight)',
      thnn = {
         updateOutput = 'input output outW outH poolSizeW poolSizeH indices randomSamples',
         updateGradInput = 'input gradOutput gradInput outW outH poolSizeW poolSizeH indices',
      },
   },
   VolumetricFractionalMaxPooling = {
      help = 'Max-pooling of volumes over windows of random sizes.',
      arguments = 'poolSizeT:whole poolSizeW:whole poolSizeH:whole outT:whole outW:whole outH:whole',
      fields = 'newRandomPool:flag=false',
      optional = 'ratioT:number ratioW:number ratioH:number',
      ranges = { { 7, 'window size', 'poolSizeH poolSizeW poolSizeT' } },
      usage = '(kT, kW, kH, outputTime, outputWidth, outputHeight)',
      thnn = {
         updateOutput = 'input output outT outW outH poolSizeT poolSizeW poolSizeH indices randomSamples',
         updateGradInput = 'input gradOutput gradInput outT outW outH poolSizeT poolSizeW poolSizeH indices',
      },
   },
   SpatialMaxUnpooling = {
      help = 'Puts values back where a max-pooling took them from.',
      arguments = 'pooling:module',
      optional = 'oheight:whole owidth:whole',
      ranges = { { 4, 'output size', 'oheight owidth' } },
      thnn = {
         updateOutput = 'input output indices owidth oheight',
         updateGradInput = 'input gradOutput gradInput indices owidth oheight',
      },
   },
   VolumetricMaxUnpooling = {
      help = 'Puts values back where a max-pooling of volumes took them from.',
      arguments = 'pooling:module',
      optional = 'otime:whole oheight:whole owidth:whole dT:whole dH:whole dW:whole padT:whole padH:whole padW:whole',
      ranges = { { 5, 'output size', 'otime oheight owidth' }, { 10, 'stride', 'dT dH dW' },
         { 13, 'padT >= 0 and padH >= 0 and padW >= 0', 'padding should not be negative, but got padT: %d padH: %d '
         .. 'padW: %d', 'padT padH padW' } },
      thnn = {
         updateOutput = 'input output indices otime owidth oheight dT dW dH padT padW padH',
         updateGradInput = 'input gradOutput gradInput indices otime owidth oheight dT dW dH padT padW padH',
      },
   },
}
