-- Declarations of the classes in nn/padding/init.lua; nn/declarations.lua explains the format.
return {
   SpatialReflectionPadding = {
      help = 'Pads an image with its mirror image.',
      arguments = 'pad_l:whole pad_r:whole=pad_l pad_t:whole=pad_l pad_b:whole=pad_l',
      usage = '(left, [right, top, bottom])',
      kind = 'plain',
      kernel = 'reflection_padding',
      takes = '... pad_l pad_r pad_t pad_b',
      thnn = {
         updateOutput = 'input output pad_l pad_r pad_t pad_b',
         updateGradInput = 'input gradOutput gradInput pad_l pad_r pad_t pad_b',
      },
      torch_nn = 'ReflectionPad2d',
   },
   SpatialZeroPadding = {
      help = 'Pads an image with zeros, or crops it.',
      arguments = 'pad_l:whole pad_r:whole=pad_l pad_t:whole=pad_l pad_b:whole=pad_l',
      usage = '(left, [right, top, bottom])',
      kind = 'plain',
      kernel = 'zero_padding',
      takes = '... pad_l pad_r pad_t pad_b',
      torch_nn = 'ZeroPad2d',
   },
   SpatialReplicationPadding = {
      help = 'Pads an image with its border pixels.',
      arguments = 'pad_l:whole pad_r:whole=pad_l pad_t:whole=pad_l pad_b:whole=pad_l',
      usage = '(left, [right, top, bottom])',
      kind = 'plain',
      kernel = 'replication_padding',
      takes = '... pad_l pad_r pad_t pad_b',
      thnn = {
         updateOutput = 'input output pad_l pad_r pad_t pad_b',
         updateGradInput = 'input gradOutput gradInput pad_l pad_r pad_t pad_b',
      },
      torch_nn = 'ReplicationPad2d',
   },
   VolumetricReplicationPadding = {
      help = 'Pads a volume with its border elements.',
      arguments = 'pleft:whole pright:whole=pleft ptop:whole=pleft pbottom:whole=pleft pfront:whole=pleft '
         .. 'pback:whole=pleft',
      usage = '(left, [right, top, bottom, front, back])',
      kind = 'plain',
      kernel = 'replication_padding',
      takes = '... pleft pright ptop pbottom pfront pback',
      thnn = {
         updateOutput = 'input output pleft pright ptop pbottom pfront pback',
         updateGradInput = 'input gradOutput gradInput pleft pright ptop pbottom pfront pback',
      },
      torch_nn = 'ReplicationPad3d',
   },
   Padding = {
      help = 'Adds elements of one value at the beginning or end of a dimension.',
      arguments = 'dim:whole pad:whole nInputDim:whole? value:number=0 index:whole=1',
      fields = 'outputSize:LongStorage',
   },
}
