-- The package npy4th: reads NumPy files as tensors, and writes tensors as NumPy files.
require 'torch'
local python = require('th.python').functions
local kernel = require('torch.core.kernels').of_tensors

local npy4th = {}

local function read(path, name)
   local tensor = torch.factory(('torch.%sTensor'):format(python.npy_kind(path, name)))():resize(0)
   kernel.npy_read(tensor, path, name)
   return tensor
end

local function check_path(path, what)
   if type(path) ~= 'string' then error(what .. ': file path must be supplied', 3) end
end

function npy4th.loadnpy(path)
   check_path(path, 'npy4th.loadnpy')
   return read(path, '')
end

-- The arrays in a .npz file, by name.
function npy4th.loadnpz(path)
   check_path(path, 'npy4th.loadnpz')
   local arrays = {}
   for name in python.npy_names(path):gmatch('([^%z]+)%z') do arrays[name] = read(path, name) end
   return arrays
end

local SAVED = { Double = true, Float = true, Int = true, Byte = true, Long = true, Short = true, Cuda = true }

-- mode 'a' appends rows to an existing file.
function npy4th.savenpy(path, tensor, mode)
   check_path(path, 'npy4th.savenpy')
   local kind = torch.isTensor(tensor) and tensor:type():match('^torch%.(%a+)Tensor$')
   if not SAVED[kind] then error('npy4th.savenpy: Must pass a torch.*Tensor or unsupported tensor type', 2) end
   if kind == 'Cuda' then tensor = tensor:float() end
   kernel.npy_write(path, tensor:contiguous(), mode == 'a')
end

return npy4th
