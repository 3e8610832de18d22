-- t[i], t[{...}], t[mask], and assignment to each of them.
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local errors = require 'torch.core.errors'
local tensors = require 'torch.tensor.tensor'
local pointwise = require 'torch.operations.pointwise'

local records = memory.records
local push_tensor, copy_view = memory.push_tensor, memory.copy_view
local select_dimension, selected = tensors.select_dimension, tensors.selected
local number_in = errors.number_in
local type, tonumber = type, tonumber

local is_storage, Long = memory.is_storage, types.Long

-- Converts index i in a table (from 1; negative: from the end) into a position from 0 in a dimension of `size`. As in
-- Torch7, what is cut off is the fraction of i - 1: 0.5 is the first element.
local function position(i, size, what, where)
   i = i - 1
   if i >= 0 then i = i - i % 1
   else
      i = i + -i % 1
      if i < 0 then i = size + i + 1 end
   end
   if not (i >= 0 and i < size) then errors.argument(2, what, where) end
   return i
end

-- The same, unchecked, for an index below 1 that stands alone: its own fraction is cut off.
local function from_end(i, size) return size + (i < 0 and i + -i % 1 or 0) end

-- The view that a table of indices and ranges selects; for a single element: nil, its offset and its storage. A table
-- with metamethods may change the tensor while it is read, so nothing read from r before that is used afterwards.
local function resolve(r, spec)
   if r.nd == 2 then
      local i, j = spec[1], spec[2]
      if type(i) == 'number' and type(j) == 'number' and spec[3] == nil and r.nd == 2 then
         i = position(i, r[1], 'index out of bound', 'Tensor.c:965')
         j = position(j, r[3], 'index out of bound', 'Tensor.c:965')
         return nil, r.off + i * r[2] + j * r[4], r.S
      end
   end
   local v = copy_view(r)
   local nd = v.nd
   if #spec > nd then errors.argument(2, 'too many indices provided', 'Tensor.c:954') end
   local d = 1 -- the dimension of v that the next entry applies to
   for k = 1, nd do
      local entry = spec[k]
      local size = v[2 * d - 1]
      if type(entry) == 'table' then
         local first, last = number_in(entry[1]), number_in(entry[2])
         local start = first and position(first, size, 'start index out of bound', 'Tensor.c:985') or 0
         local stop = first and start or size - 1
         if last then stop = position(last, size, 'end index out of bound', 'Tensor.c:994') end
         if stop < start then
            errors.argument(2, 'end index must be greater or equal to start index', 'Tensor.c:996')
         end
         v.off = v.off + start * v[2 * d]
         v[2 * d - 1] = stop - start + 1
         d = d + 1
      else
         local index = number_in(entry)
         if not index then break end
         index = position(index, size, 'index out of bound', 'Tensor.c:965')
         if v.nd == 1 then return nil, v.off + index * v[2], v.S end
         select_dimension(v, d, index)
      end
   end
   return v
end

local function storage_offset(r, S)
   if S.n ~= r.nd then errors.argument(2, 'invalid size', 'Tensor.c:931') end
   local off = r.off
   for d = 1, r.nd do
      off = off + position(tonumber(S.p[d - 1]), r[2 * d - 1], 'index out of bound', 'Tensor.c:938') * r[2 * d]
   end
   return off
end

local function install(T)
   local mt = T.tensor_metatable
   local get, set, element_of = T.get, T.set, T.element_of
   local Byte = types.beside(T, 'Byte')

   function mt.__index(self, key)
      local kind = type(key)
      if kind == 'string' then
         local member = mt[key]
         if member ~= nil then return member end
         key = tonumber(key)
         if not key then return nil end
         kind = 'number'
      end
      local r = records[self]
      if kind == 'number' then
         local nd = r.nd
         if nd == 0 then errors.argument(1, 'empty tensor', 'Tensor.c:911') end
         local i, size = key - key % 1 - 1, r[1]
         if i < 0 then i = from_end(key, size) end
         if not (i >= 0 and i < size) then errors.argument(2, 'out of range', 'Tensor.c:913') end
         if nd == 1 then return get(r.S.p, r.off + i * r[2]) end
         return push_tensor(T, selected(r, 1, i))
      elseif kind == 'table' then
         local v, off, S = resolve(r, key)
         if v then return push_tensor(T, v) end
         return get(S.p, off)
      elseif kind == 'userdata' then
         local other = records[key]
         if other then
            if is_storage(other, Long) then return get(r.S.p, storage_offset(r, other)) end
            if other.nd and other.T == Byte then
               if T == types.Half then errors.raise('ByteTensor based indexing not yetsupported with half type') end
               return self:maskedSelect(key)
            end
         end
      end
      return mt[key]
   end

   -- Assigns a number, or a tensor of any type, to the elements of v.
   local function assign(v, value, number)
      memory.make_temporary(v)
      if number then
         if T == types.Half then errors.raise('fill on torch.HalfTensor not yet supported') end
         pointwise.fill(v, T.cast(tonumber(number)))
      else
         local source = records[value]
         if not (source and source.nd) then
            errors.wrong_type(3, 'torch.*Tensor', value)
         end
         pointwise.copy(v, source)
      end
   end

   local function number_value(value)
      return element_of(value) or errors.wrong_type(3, 'number', value)
   end

   function mt.__newindex(self, key, value)
      local kind = type(key)
      if kind == 'string' then
         key = tonumber(key)
         if not key then error(('the class %s cannot be indexed'):format(T.tensor), 2) end
         kind = 'number'
      end
      local r = records[self]
      if kind == 'number' then
         local nd = r.nd
         if nd == 0 then errors.argument(1, 'empty tensor', 'Tensor.c:665') end
         local i, size = key - key % 1 - 1, r[1]
         if i < 0 then i = from_end(key, size) end
         local inside = i >= 0 and i < size
         local number = type(value) == 'number' and value or number_in(value) and element_of(value)
         if nd == 1 and number then
            if not inside then errors.argument(2, 'out of range', 'Tensor.c:671') end
            set(r.S.p, r.off + i * r[2], number)
            return
         end
         if not inside then errors.argument(3, 'out of range', 'THTensor.c:438') end
         local v = copy_view(r)
         v.off = r.off + i * r[2]
         v[1] = 1
         return assign(v, value, number)
      elseif kind == 'table' then
         local v, off, S = resolve(r, key)
         if v then return assign(v, value, number_in(value)) end
         set(S.p, off, number_value(value))
         return
      elseif kind == 'userdata' then
         local other = records[key]
         if other then
            if is_storage(other, Long) then
               set(r.S.p, storage_offset(r, other), number_value(value))
               return
            elseif other.nd and other.T == Byte then
               if T == types.Half then errors.raise('ByteTensor indexing not yet supported with half types') end
               if number_in(value) then
                  self:maskedFill(key, value)
               elseif records[value] and records[value].T == T then
                  self:maskedCopy(key, value)
               else
                  errors.raise(('number or %s expected'):format(T.tensor))
               end
               return
            end
         end
      end
      error(('the class %s cannot be indexed'):format(T.tensor), 2)
   end

   -- As methods, for scripts that call them by name.
   function mt.__index__(self, key)
      if type(key) == 'string' and not tonumber(key) then return nil, false end
      return mt.__index(self, key), true
   end
   function mt.__newindex__(self, key, value)
      mt.__newindex(self, key, value)
      return true
   end
end

for code = 1, types.count do install(types[code]) end
