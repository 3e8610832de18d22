-- Conversion between element types.
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local class = require 'torch.core.class'
local tensors = require 'torch.tensor.tensor'
local pointwise = require 'torch.operations.pointwise'

local records = memory.records

local methods = {}

-- Without a name, returns the tensor's type name; with one, the tensor as that type (itself if it already has it).
function methods:type(name)
   if not name then return (class.typename(self)) end
   local r = tensors.check(self, 1)
   if name == r.T.tensor then return self end
   local mt = class.getmetatable(name)
   local converted = mt.new()
   local c = records[converted]
   if r.nd > 0 then
      if c and c.nd then
         memory.resize_as(c, r)
         pointwise.copy(c, r)
      else
         converted:resize(self:size()):copy(self)
      end
   end
   return converted
end

function methods:typeAs(tensor) return self:type(tensor:type()) end

function methods:real() return self:type(torch.getdefaulttensortype()) end

for name, type_name in pairs{ byte = 'Byte', char = 'Char', short = 'Short', int = 'Int', long = 'Long', half = 'Half',
   float = 'Float', double = 'Double' } do
   local wanted = types[type_name].tensor
   methods[name] = function(self) return self:type(wanted) end
end

if types.Cuda then
   for name, type_name in pairs{ cuda = 'Cuda', cudaByte = 'CudaByte', cudaChar = 'CudaChar', cudaShort = 'CudaShort',
      cudaInt = 'CudaInt', cudaLong = 'CudaLong', cudaHalf = 'CudaHalf', cudaDouble = 'CudaDouble' } do
      local wanted = types[type_name].tensor
      methods[name] = function(self) return self:type(wanted) end
   end
end

-- What Torch7's own tests, which it loads with torch, add to halves: computed by the default type.
local half = types.Half.tensor_metatable
function half:abs() return self:real():abs():half() end
function half:max() return self:real():max() end
function half:mean(dimension) return self:real():mean(dimension):half() end
function half:add(factor, other) return self:real():add(factor, other:real()):half() end
function half:reshape(...) return self:real():reshape(...):half() end
function half:__sub__(other) return (self:real() - other:real()):half() end

function methods:isTensor() return true end

for code = 1, types.count do
   local mt = types[code].tensor_metatable
   for name, method in pairs(methods) do mt[name] = method end
end
