-- Torch7's package torch. Loads its parts in the order of their dependencies.
torch = torch or {}

local class = require 'torch.core.class'
for _, name in ipairs{ 'typename', 'newmetatable', 'getmetatable', 'setmetatable', 'factory', 'getconstructortable',
   'metatype', 'version', 'class', 'isTypeOf', 'pointer', 'isequal' } do
   torch[name] = class[name]
end

local types = require 'torch.core.types'
collectgarbage = require('torch.core.collection').collectgarbage
_G.collectgarbage = collectgarbage
require 'torch.tensor.storage'
local tensors = require 'torch.tensor.tensor'
require 'torch.operations.indexing'
require 'torch.operations.elements'
local overloads = require 'torch.tensor.overloads'
require 'torch.operations.pointwise'
require 'torch.operations.reductions'
require 'torch.operations.construction'
require 'torch.operations.selection'
require 'torch.operations.linear_algebra'
require 'torch.luajit.lapack'
require 'torch.operations.convolution'
require 'torch.luajit.correlations'
require('torch.operations.random').install(torch)
require 'torch.operations.conversion'
require 'torch.io.print'
require 'torch.io.utilities'
require 'torch.tensor.cdata'

-- Functions that choose the implementation by the type of their tensors.
for name, f in pairs(overloads.dispatchers) do torch[name] = f end
for _, name in ipairs{ 'expand', 'expandAs', 'view', 'viewAs', 'split', 'chunk', 'permute' } do
   torch[name] = tensors.methods[name]
end
torch.squeeze = tensors.squeeze
torch.repeatTensor = require('torch.operations.construction').repeat_tensor

-- torch.Tensor and torch.Storage belong to the default type.
local type_of_metatable = {}
for code = 1, types.count do type_of_metatable[types[code].tensor_metatable] = types[code] end

function overloads.default_type()
   return type_of_metatable[getmetatable(torch.Tensor)]
      or error('internal error: the default tensor type does not seem to be an actual tensor', 0)
end

function torch.getdefaulttensortype()
   local mt = type(torch.Tensor) == 'table' and getmetatable(torch.Tensor)
   return mt and mt.__typename
end

function torch.setdefaulttensortype(name)
   assert(type(name) == 'string', 'string expected')
   local constructor = class.getconstructortable(name)
   if not constructor then error(('<%s> is not a string describing a torch object'):format(name), 2) end
   torch.Tensor = constructor
   torch.Storage = class.getconstructortable((name:gsub('Tensor$', 'Storage')))
end
torch.setdefaulttensortype('torch.DoubleTensor')

require 'torch.io.serialization'
require 'torch.io.files'
require 'torch.io.cmdline'
require 'torch.core.timer'
require 'torch.io.tester'

-- CUDA's types become visible with the package cutorch.
for code = 1, types.count do
   local T = types[code]
   if T.device then torch[T.name .. 'Tensor'], torch[T.name .. 'Storage'] = nil, nil end
end

return torch
