-- The package cifar: CIFAR-10 and CIFAR-100 from the user's files in binary form, as bytes: N x 3 x 32 x 32, with
-- labels from 0. The files are looked for in the folder CIFAR_FOLDER and in the usual ones.
local datasets = require 'th.datasets'
require 'torch'

local cifar = {}

local PLACES = { os.getenv('CIFAR_FOLDER') or 'data', 'data', 'cifar-10-batches-bin', 'cifar-100-binary',
   'data/cifar-10-batches-bin', 'data/cifar-100-binary', '.' }
local PIXELS = 3 * 32 * 32

-- The records in files: `labels` bytes and an image each.
local function read(names, labels)
   local parts = {}
   for place, name in ipairs(names) do
      local path = datasets.find('cifar', name, PLACES, 'the binary version (unpacked)')
      local file = torch.DiskFile(path):binary()
      file:seekEnd()
      local bytes = file:position() - 1
      if bytes == 0 or bytes % (labels + PIXELS) ~= 0 then
         error(('cifar: %s has %d bytes, not a multiple of %d (a record)'):format(path, bytes, labels + PIXELS), 0)
      end
      file:seek(1)
      parts[place] = torch.ByteTensor(file:readByte(bytes)):view(-1, labels + PIXELS)
      file:close()
   end
   local records = torch.cat(parts, 1)
   local data = records:narrow(2, labels + 1, PIXELS):contiguous():view(-1, 3, 32, 32)
   local set = { data = data, label = records:select(2, labels):clone(), size = data:size(1) }
   if labels == 2 then set.coarse = records:select(2, 1):clone() end
   return setmetatable(set, { __index = function(self, i)
      assert(i > 0 and i <= self.size)
      return { x = data[i], y = set.label[i] }
   end })
end

function cifar.traindataset()
   return read({ 'data_batch_1.bin', 'data_batch_2.bin', 'data_batch_3.bin', 'data_batch_4.bin', 'data_batch_5.bin' },
      1)
end
function cifar.testdataset() return read({ 'test_batch.bin' }, 1) end
-- CIFAR-100: `label` is the fine label, `coarse` the label of its group.
function cifar.traindataset100() return read({ 'train.bin' }, 2) end
function cifar.testdataset100() return read({ 'test.bin' }, 2) end

return cifar
