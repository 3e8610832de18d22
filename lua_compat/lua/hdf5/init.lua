-- The package hdf5 (torch-hdf5): tables of tensors in HDF5 files.
require 'torch'
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local python = require('th.python').functions
local blocks = require 'torch.core.blocks'

hdf5 = hdf5 or {}

-- How a dataset is stored.
local DataSetOptions = torch.class('hdf5.DataSetOptions')

function DataSetOptions:__init() end

-- Chunk sizes, one for each dimension; larger ones are reduced to the data's. Required for setDeflate and append.
function DataSetOptions:setChunked(...)
   self._chunking = { ... }
   return self
end

function DataSetOptions:setDeflate(level)
   self._deflate = level or 6
   return self
end

function DataSetOptions:close() end

function DataSetOptions:__tostring__()
   return ('[DataSetOptions: chunking=%s]'):format(self._chunking and table.concat(self._chunking, 'x') or 'none')
end

local DataSet = torch.class('hdf5.HDF5DataSet')

function DataSet:__init(file, path) self._file, self._path = file, path end

-- The address of a contiguous tensor's elements; 0 if there are none.
local function address_of(t)
   return memory.count(t) == 0 and 0 or blocks.address_of(memory.first_element(t))
end

-- The name of the dataset's element type, and its sizes.
local function shape(self) return python.hdf5_shape(self._file, self._path) end

-- The constructor for tensors of the dataset's type.
function DataSet:getTensorFactory() return torch.factory(types[(shape(self))].tensor) end

-- The sizes, as a table.
function DataSet:dataspaceSize() return { select(2, shape(self)) } end

local function tensor_for(name, ...)
   local tensor = types[name].tensor_metatable.new()
   return select('#', ...) > 0 and tensor:resize(torch.LongStorage{ ... }) or tensor
end

local function read(self, ...)
   local tensor = tensor_for(python.hdf5_read(self._file, self._path, ...))
   python.hdf5_take(address_of(memory.records[tensor]))
   return tensor
end

function DataSet:all() return read(self) end

local function is_whole(n) return type(n) == 'number' and n % 1 == 0 end

-- Reads a block, given for each dimension by {first, last} (inclusive) or one index.
function DataSet:partial(...)
   local bounds, n = {}, select('#', ...)
   if n ~= #self:dataspaceSize() then
      error(('HDF5DataSet:partial() - dimension mismatch. Expected %d but %d were given.'):format(
         #self:dataspaceSize(), n), 2)
   end
   for i = 1, n do
      local range = (select(i, ...))
      if type(range) == 'number' then range = { range, range } end
      if type(range) ~= 'table' then range = {} end
      local first, last = range[1], range[2]
      if not (is_whole(first) and is_whole(last)) then
         local text = 'HDF5DataSet:partial() - range %d: a whole number, or two in a table, { first, last }, expected'
         error(text:format(i), 2)
      end
      bounds[2 * i - 1], bounds[2 * i] = first, last
   end
   return read(self, unpack(bounds))
end

function DataSet:close() end
function DataSet:__tostring__() return ('[HDF5DataSet: %s]'):format(self._path) end

local Group = torch.class('hdf5.HDF5Group')

function Group:__init(file, path) self._file, self._path = file, path end

local function beneath(path, name) return (path == '/' and '' or path) .. '/' .. name end

-- A group or dataset below this group; the path is text or a list of names.
function Group:read(path)
   if type(path) == 'table' then path = table.concat(path, '/') end
   local full = self._path
   for name in (path or ''):gmatch('[^/]+') do full = beneath(full, name) end
   local class = python.hdf5_is_group(self._file, full) and hdf5.HDF5Group or hdf5.HDF5DataSet
   return class(self._file, full)
end

-- The group as a table of tensors and tables. What cannot become a tensor is skipped, with a note.
function Group:all()
   local tables = { [''] = {} }
   for path, kind in python.hdf5_parts(self._file, self._path):gmatch('([^%z]+)%z([^%z]+)%z') do
      local above, name = path:match('^(.-)/?([^/]+)$')
      local full = beneath(self._path, path)
      if kind == 'group' then
         tables[path] = {}
         tables[above][name] = tables[path]
      elseif kind == 'dataset' then
         tables[above][name] = hdf5.HDF5DataSet(self._file, full):all()
      else
         io.stderr:write(('hdf5: %s is left out: %s\n'):format(full, kind))
      end
   end
   return tables['']
end

function Group:close() end
function Group:__tostring__() return ('[HDF5Group: %s]'):format(self._path) end

local function write(file, path, data, options, append)
   if torch.isTensor(data) then
      options = options or {}
      local T = memory.records[data].T.host
      local whole = data:type(T.tensor):contiguous()
      local numbers = whole:nDimension() > 0 and whole:size():totable() or { 0 }
      local dimensions = #numbers
      for _, size in ipairs(options._chunking or {}) do numbers[#numbers + 1] = size end
      python.hdf5_write(file, path, append, options._deflate or -1, T.name, address_of(memory.records[whole]),
         dimensions, unpack(numbers))
   elseif type(data) == 'table' and not torch.typename(data) then
      if path ~= '/' then python.hdf5_make_group(file, path) end
      for key, value in pairs(data) do
         if type(key) ~= 'string' and type(key) ~= 'number' then
            error(('hdf5: a %s cannot be the name of a dataset in %s'):format(type(key), path), 0)
         end
         write(file, beneath(path, tostring(key)), value, options, append)
      end
   else
      error(('hdf5: %s: a %s is neither a tensor nor a table of tensors'):format(path, torch.type(data)), 0)
   end
end

local File = torch.class('hdf5.HDF5File', 'hdf5.HDF5Group')

function File:__init(filename, number)
   self._filename, self._file, self._path = filename, number, '/'
end

function File:filename() return self._filename end

-- Writes a tensor, or a table of tensors and tables, at a new path; at the root, a table.
function File:write(path, data, options)
   write(self._file, '/' .. path:gsub('^/+', ''), data, options, false)
end

-- Adds tensors along the first dimension of datasets that were written with setChunked.
function File:append(path, data, options)
   write(self._file, '/' .. path:gsub('^/+', ''), data, options, true)
end

function File:close() python.hdf5_close(self._file) end

function File:__tostring__() return ('[HDF5File: %s]'):format(self._filename) end

-- Modes: 'a' (default) reads and writes, and creates a missing file; 'r' reads; 'r+' reads and writes; 'w' creates a
-- new file; 'w-' does so but never overwrites one.
function hdf5.open(filename, mode)
   local path = filename:gsub('^~/', (os.getenv('HOME') or '.'):gsub('%%', '%%%%') .. '/')
   return hdf5.HDF5File(path, python.hdf5_open(path, mode or 'a'))
end
hdf5.HDF5File.open = hdf5.open

return hdf5
