-- Declarations of the classes in nn/upsampling/init.lua; nn/declarations.lua explains the format.
return {
   kernels = {
      upsample_linear = 'ot ... size:whole',
      upsample_linear_gradient = 'ott ... size:whole',
      upsample_nearest = 'ot ... size:whole',
      upsample_nearest_gradient = 'ott ... size:whole',
   },
   SpatialUpSamplingNearest = {
      help = 'Enlarges images by repeating pixels.',
      arguments = 'scale_factor:whole',
      ranges = { { 4, 'scale_factor > 1', 'scale_factor must be greater than 1, but got: %d', 'scale_factor' } },
      usage = '(scale)',
      thnn = {
         updateOutput = 'input output scale_factor',
         updateGradInput = 'input gradOutput gradInput scale_factor',
      },
   },
   SpatialUpSamplingBilinear = {
      help = 'Enlarges images by bilinear interpolation.',
      arguments = 'scale_factor:scalar?',
      optional = 'oheight:scalar? owidth:scalar?',
      usage = '(scale)',
      thnn = {
         updateOutput = 'input output oheight owidth',
         updateGradInput = 'gradOutput gradInput batch planes iheight iwidth oheight owidth',
      },
   },
   UpSampling = {
      help = 'Enlarges images or volumes, by repeating elements or by interpolation.',
      arguments = "scale_factor:number? mode:text='nearest'",
      optional = 'odepth:scalar? oheight:scalar? owidth:scalar?',
      usage = '(scale, [mode])',
   },
   PixelShuffle = {
      help = 'Turns groups of planes into larger images.',
      arguments = 'upscaleFactor:scalar',
      kind = 'plain',
      kernel = 'pixel_shuffle',
      takes = 'upscaleFactor',
      torch_nn = 'PixelShuffle',
   },
}
