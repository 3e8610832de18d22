-- The package mnist: the user's four MNIST files, as bytes. They are looked for in the folder MNIST_FOLDER, in data/
-- and mnist/ of the working folder, and in the working folder.
local datasets = require 'th.datasets'

local mnist = {}

local PLACES = { os.getenv('MNIST_FOLDER') or 'data', 'data', 'mnist', 'data/mnist', '.' }

-- Reads a tensor in MNIST's format: a 4-byte word whose last two bytes are 8 (for bytes) and the number of dimensions,
-- then the sizes, then the elements.
local function read(name)
   local path = datasets.find('mnist', name, PLACES, 'it (unpacked)')
   local file = torch.DiskFile(path):bigEndianEncoding():binary()
   local function bad(problem) error(('mnist: %s %s'):format(path, problem), 0) end
   local ok, dimensions = pcall(function() return file:readInt() - 0x800 end)
   if not ok or dimensions < 1 or dimensions > 4 then bad 'is not a file of MNIST' end
   local size, count = {}, 1
   for d = 1, dimensions do
      size[d] = file:readInt()
      count = count * size[d]
      if size[d] < 1 or count > 2 ^ 31 then bad(('has a size of %d'):format(size[d])) end
   end
   local first = file:position()
   file:seekEnd()
   if file:position() - first < count then bad(('has %d of its %d bytes'):format(file:position() - first, count)) end
   file:seek(first)
   local data = torch.ByteTensor(torch.LongStorage(size))
   file:readByte(data:storage())
   file:close()
   return data
end

local function dataset(images, labels)
   local data, label = read(images), read(labels)
   assert(data:size(1) == label:size(1), 'mnist: as many images as labels are expected')
   return setmetatable({ data = data, label = label, size = data:size(1) }, { __index = function(self, i)
      assert(i > 0 and i <= self.size)
      return { x = data[i], y = label[i] }
   end })
end

function mnist.traindataset() return dataset('train-images-idx3-ubyte', 'train-labels-idx1-ubyte') end
function mnist.testdataset() return dataset('t10k-images-idx3-ubyte', 't10k-labels-idx1-ubyte') end

return mnist
