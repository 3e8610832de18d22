-- torch.conv2, xcorr2, conv3, xcorr3.
local errors = require 'torch.core.errors'
local overloads = require 'torch.tensor.overloads'
local kernel = require('torch.core.kernels').of_records

local SHAPES = { [0] = 'mul', 'cmul', 'mv' } -- Torch7's names, by the number of plane dimensions of the kernel

-- x is one plane, a set of planes, or a set of planes with a kernel for each pair of output and input plane.
for name, spec in pairs{ conv2 = { 2, true }, xcorr2 = { 2, false }, conv3 = { 3, true }, xcorr3 = { 3, false } } do
   local dims, flipped = unpack(spec)
   local run = kernel.correlate
   local function compute(r, x, k, mode)
      local full, shape = mode == 'F', k.nd - dims
      if shape > 0 and k[2 * shape - 1] ~= x[1] then
         errors.argument(2, shape == 1 and 'invalid number of input/kernel planes' or 'invalid number of input planes',
            'THTensorConv.c')
      end
      for d = 0, dims - 1 do
         if not full and x[2 * (x.nd - d) - 1] < k[2 * (k.nd - d) - 1] then
            errors.argument(2, ('conv%dD%s : Input image is smaller than kernel'):format(dims, SHAPES[shape]),
               'THTensorConv.c')
         end
      end
      run(r, x, k, dims, full, flipped)
   end
   overloads.define(name, {
      ('r T%d T%d c:VF="V"'):format(dims, dims), compute,
      ('r T%d T%d c:VF="V"'):format(dims + 1, dims + 1), compute,
      ('r T%d T%d c:VF="V"'):format(dims + 1, dims + 2), compute,
   })
end
