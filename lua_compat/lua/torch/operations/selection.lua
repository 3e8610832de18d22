-- Selection of elements by indices or by a mask.
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local apart = require 'torch.core.overlap'
local few = require 'torch.luajit.elementwise'
local errors = require 'torch.core.errors'
local tensors = require 'torch.tensor.tensor'
local overloads = require 'torch.tensor.overloads'
local overlapping = require 'torch.tensor.overlapping'
local along = require 'torch.luajit.along_a_dimension'
local places = require 'torch.luajit.indexed_writes'
local masks = require 'torch.luajit.masks'
local nonzero = require 'torch.luajit.nonzero'
local pointwise = require 'torch.operations.pointwise'
local offsets = require('torch.operations.elements').offsets
local way = require('torch.core.ways').of
local signed = require('torch.core.arguments').signed
local python = require('th.python').functions

local shaped_like, into, copy_of, operand = pointwise.shaped_like, pointwise.into, pointwise.copy_of, pointwise.operand
local is_apart, lies_apart, beside = apart.is_apart, apart.lies_apart, pointwise.beside
local records = memory.records
local handle, resize, count = memory.handle, memory.resize, memory.count
local define = overloads.define
local check, integer = tensors.check, tensors.integer

local function check_index(index, source, d, where)
   if index.nd ~= 1 then errors.argument(3, 'Index is supposed to be a vector', where) end
   if d < 1 or d > source.nd then
      errors.argument(4, ('Indexing dim %d is out of bounds of tensor'):format(d), where)
   end
   if source.nd == 0 then errors.argument(2, 'Source tensor is empty', where) end
end

local count_outside = way('out_of_range', along.outside)
-- Whether any index is outside 1..size.
local function out_of_range(index, size)
   if index.nd == 0 then return false end
   local outside = count_outside(index, size)
   if outside then return outside > 0 end
   return python.out_of_range(handle(index), size)
end

-- For a matrix with contiguous rows Torch7 checks all indices first; otherwise it checks each when it is used.
local function check_range(index, s, d)
   if not out_of_range(index, s[2 * d - 1]) then return end
   if d == 1 and memory.is_contiguous(s) then errors.raise('index out of range', 'THTensorMath.c:277') end
   errors.argument(s.nd > 1 and 3 or 2, 'out of range', 'THTensor.c:458')
end

-- When writing, Torch7 checks an index when it selects a slice, or sets an element of a vector.
local function check_places(index, r, d)
   if r.nd == 0 then errors.argument(1, 'tensor must have one dimension', 'THTensor.c:860') end
   if d > r.nd then errors.argument(2, 'out of range', 'THTensor.c:457') end
   if out_of_range(index, r[2 * d - 1]) then
      errors.argument(r.nd > 1 and 3 or 2, 'out of range', 'THTensor.c:458')
   end
end

-- The indices as a tensor of the type that kernels expect.
local function as_long(index, Long)
   if index.T == Long then return index end
   local copy = memory.temporary(Long)
   memory.resize_as(copy, index)
   if index.nd > 0 then pointwise.copy(copy, index) end
   return copy
end

-- The slices of r and other tensors at one index of dimension d.
local function slice(r, d, index)
   local view = memory.temporary_view(r)
   if r.nd > 1 then
      tensors.select_dimension(view, d, index - 1)
   else
      view.off, view[1] = r.off + (index - 1) * r[2], 1
   end
   return view
end

-- Whether s has the sizes of r except in dimension d.
local function fits(s, r, d)
   if s.nd ~= r.nd then return false end
   for k = 1, r.nd do
      if k ~= d and s[2 * k - 1] ~= r[2 * k - 1] then return false end
   end
   return true
end

-- Calls write(slice of r, position of the index) for each index in turn, for an r whose elements share memory, with
-- each other or with what is read.
local function each_slice(r, d, index, write)
   local get, place = index.T.get, 0
   index = copy_of(index) -- the checked indices: the written elements may share their memory
   for at in offsets(index) do
      place = place + 1
      write(slice(r, d, tonumber(get(index.S.p, at))), place)
   end
end

-- Writes the slices of s to these, or a number. (Functions of their own: LuaJIT compiles no return from one in which
-- closures are made.)
local function write_slices(r, d, index, s, write)
   each_slice(r, d, index, function(q, place) write(q, slice(s, d, place)) end)
end
local function fill_slices(r, d, index, number)
   each_slice(r, d, index, function(q) pointwise.fill(q, number) end)
end

local select_here = way('index_select', along.select)
local function select_indices(r, s, d, index)
   if not select_here(r, s, d, index) then python.index_select(handle(r), handle(s), d, handle(index)) end
end
local function select_masked(r, s, mask) python.masked_select(handle(r), handle(s), handle(mask)) end
local function fill_masked_in_python(r, mask, _, number) python.masked_fill(handle(r), handle(mask), signed(number)) end
local count_wrong = way('out_of_mask', few.reduction('if $x > 1 then result = result + 1 end', true))
local count_ones = way('sum_all', few.reduction('result = result + $x', true))
local places_of_ones = way('ones_of_mask', masks.places)
-- The number of ones in a mask, and their positions if LuaJIT can use them.
local function ones(mask)
   local listed, n = places_of_ones(mask)
   return n or tonumber(count_ones(mask, mask, 0) or python.sum_all(handle(mask))), listed
end
local select_ones, copy_to_ones = way('masked_select', masks.select), way('masked_copy', masks.copy)
local fill_ones = way('masked_fill', masks.fill)
local fill_places, gather_here = way('index_fill', places.fill), way('gather', along.gather)
local scatter_here = way('scatter', along.scatter)
local find_nonzero = way('nonzero', nonzero.find)
local function gather_in_python(r, t, d, index) python.gather(handle(r), handle(t), d, handle(index)) end
local function is_repeated(r) return overlapping.kind(r) ~= nil end

local function install(T)
   local mt = T.tensor_metatable
   local Long, Byte = types.beside(T, 'Long'), types.beside(T, 'Byte')

   local function wrong_arguments(text)
      text = text:gsub('TENSOR', T.tensor):gsub('torch.LongTensor', Long.tensor):gsub('torch.ByteTensor', Byte.tensor)
      errors.raise(text .. ' expected')
   end

   -- For tensors on a device, indices in main memory or of the tensor's own type are accepted, too, because older
   -- scripts pass them.
   local function check_long(index, position)
      local i = records[index]
      if not (T.device and i and i.nd and (i.T == types.Long or i.T == T)) then
         return check(index, position, Long)
      end
      if i.T.size == 1 then errors.raise('indices in a ByteTensor or CharTensor are not allowed') end
      return as_long(i, Long)
   end

   -- [result,] source, dimension, index
   function mt.index(...)
      local n = select('#', ...)
      local result, source, d, index = ...
      if n == 3 then
         source, d, index = result, source, d
         result = memory.new_tensor(T)
      elseif n ~= 4 then
         wrong_arguments('TENSOR, number, torch.LongTensor | TENSOR, TENSOR, number, torch.LongTensor')
      end
      local r, s = check(result, 1, T), check(source, n - 2, T)
      d = integer(d, n - 1)
      local i = check_long(index, n)
      check_index(i, s, d, 'THTensorMath.c:252')
      check_range(i, s, d)
      local sizes = tensors.sizes_of(s)
      sizes[d] = count(i)
      if not is_apart(r, s) then s = copy_of(s) end
      resize(r, s.nd, sizes)
      if count(r) > 0 then into(r, select_indices, s, d, i) end
      if n == 4 then return index end -- as in Torch7
      return result
   end

   local function write_by_index(name, kernel, in_lua, write)
      in_lua = way(kernel, in_lua)
      mt[name] = function(self, ...)
         if select('#', ...) ~= 3 then wrong_arguments('TENSOR, number, torch.LongTensor, TENSOR') end
         local d, index, source = ...
         local r = check(self, 1, T)
         d = integer(d, 2)
         local i, s = check_long(index, 3), check(source, 4, T)
         check_index(i, s, d, 'THTensorMath.c:316')
         if count(i) ~= s[2 * d - 1] then
            errors.argument(4, 'Number of indices should be equal to source:size(dim)', 'THTensorMath.c:318')
         end
         check_places(i, r, d)
         if r.nd == 1 and s.nd ~= 1 then errors.argument(1, 'tensor must have one dimension', 'THTensor.c:867') end
         if r.nd > 1 and s.nd == 1 then errors.argument(1, 'cannot select on a vector', 'THTensor.c:456') end
         if overlapping.kind(r) or not fits(s, r, d) or not lies_apart(r, i, s) then
            write_slices(r, d, i, s, write)
         elseif not in_lua(r, d, i, s) then
            python[kernel](handle(r), d, handle(i), handle(s))
         end
         return source -- as in Torch7, not self
      end
   end
   write_by_index('indexCopy', 'index_copy', places.copy, pointwise.copy)
   write_by_index('indexAdd', 'index_add', places.add, function(q, s) pointwise.add_scaled(q, q, 1, s) end)

   function mt:indexFill(...)
      if select('#', ...) ~= 3 then wrong_arguments('TENSOR, number, torch.LongTensor, number') end
      local d, index, value = ...
      local r = check(self, 1, T)
      d = integer(d, 2)
      local i, number = check_long(index, 3), operand(T, value, 4)
      check_index(i, r, d, 'THTensorMath.c:389')
      check_places(i, r, d)
      if overlapping.kind(r) or not lies_apart(r, i) then
         fill_slices(r, d, i, number)
      elseif not fill_places(r, d, i, number) then
         python.index_fill(handle(r), d, handle(i), signed(number))
      end
      return value -- as in Torch7, not self
   end

   local function check_mask(mask)
      if mask.nd == 0 or masks.are_valid(mask) then return end
      local wrong = count_wrong(mask, mask, 0)
      if wrong and wrong > 0 or not wrong and python.out_of_mask(handle(mask)) then
         errors.raise('Mask tensor can take 0 and 1 values only', 'THTensorMath.c')
      end
   end

   -- The mask, viewed with the sizes of r.
   local function mask_for(r, mask, what)
      pointwise.check_pair(r, mask, what, 'mask')
      check_mask(mask)
      return shaped_like(r, mask)
   end

   -- [result,] source, mask
   function mt.maskedSelect(...)
      local n = select('#', ...)
      local result, source, mask = ...
      if n == 2 then
         source, mask = result, source
         result = memory.new_tensor(T)
      elseif n ~= 3 then
         wrong_arguments('TENSOR, torch.ByteTensor | TENSOR, TENSOR, torch.ByteTensor')
      end
      local r, s, m = check(result, 1, T), check(source, n - 1, T), check(mask, n, Byte)
      m = mask_for(s, m, 'src')
      if s.nd == 0 then return result end
      local total, listed = ones(m)
      resize(r, 1, { total })
      if total > 0 and not (listed and is_apart(r, m) and select_ones(r, s, listed, total)) then
         into(r, select_masked, s, m)
      end
      if n == 3 then return mask end -- as in Torch7
      return result
   end

   function mt:maskedFill(...)
      if select('#', ...) ~= 2 then wrong_arguments('TENSOR, torch.ByteTensor, number') end
      local mask, value = ...
      local r, m, number = check(self, 1, T), check(mask, 2, Byte), operand(T, value, 3)
      m = mask_for(r, m, 'tensor')
      if r.nd > 0 and not fill_ones(r, m, number) then
         overlapping.write(fill_masked_in_python, r, m, nil, number)
      end
      return value -- as in Torch7, not self
   end

   function mt:maskedCopy(...)
      if select('#', ...) ~= 2 then wrong_arguments('TENSOR, torch.ByteTensor, TENSOR') end
      local mask, source = ...
      local r, m, s = check(self, 1, T), check(mask, 2, Byte), check(source, 3, T)
      if count(r) ~= count(m) then
         errors.raise('Number of elements of destination tensor != Number of elements in mask', 'THTensorMath.c:143')
      end
      if r.nd == 0 then return self end
      m = mask_for(r, m, 'tensor')
      local total, listed = ones(m)
      if total > count(s) then
         errors.raise('Number of elements of src < number of ones in mask', 'THTensorMath.c:159')
      end
      if total == 0 or listed and is_apart(r, m) and copy_to_ones(r, s, listed, total) then return self end
      if overlapping.kind(r) then
         local next_place, next_source = offsets(m), offsets(s)
         for at in offsets(r) do
            if Byte.get(m.S.p, next_place()) ~= 0 then r.S.p[at] = s.S.p[next_source()] end
         end
      else
         python.masked_copy(handle(r), handle(m), handle(s))
      end
      return self
   end
end

for _, T in ipairs(overloads.all_but_half) do install(T) end

local function check_not_above(t, d, position)
   if d > t.nd then errors.argument(position, 'Index dimension is out of bounds', 'THTensorMath.c') end
end
local function check_not_below(t, d)
   if d < 1 then errors.argument(2, ('dimension %d out of range of %dD tensor'):format(d, t.nd), 'THTensor.c:23') end
end

-- The index must have the sizes of its tensor in all dimensions but d; on a device it may be smaller. first, second:
-- the tensors that the message names; second is nil if the source is a number.
local function check_size(k, index, whole, d, first, second)
   local size, other = index[2 * k - 1], whole[2 * k - 1]
   if size > other or size < other and not whole.T.device then
      local source = second and (', src %s'):format(pointwise.size_text(second)) or ''
      errors.raise(('Expected tensor %s%s and index %s to have the same size in dimension %d'):format(
         pointwise.size_text(first), source, pointwise.size_text(index), d - 1), 'THTensorMath.c')
   end
end
local function check_sizes(index, whole, d, first, second)
   local nd = index.nd
   if nd >= 1 and d ~= 1 then check_size(1, index, whole, d, first, second) end
   if nd >= 2 and d ~= 2 then check_size(2, index, whole, d, first, second) end
   for k = 3, nd do -- up to here without a loop, which would end a trace
      if k ~= d then check_size(k, index, whole, d, first, second) end
   end
end

-- Like Torch7's, it resizes only a new result; a longer one keeps what lies behind.
local function gather(r, t, d, index)
   local is_new = r.nd == 0 or r.T.device
   if is_new then memory.resize_as(r, index) end
   if r.nd ~= t.nd then
      errors.argument(2, 'Input tensor must have same dimensions as output tensor', 'THTensorMath.c:427')
   elseif index.nd ~= r.nd then
      errors.argument(4, 'Index tensor must have same dimensions as input tensor', 'THTensorMath.c')
   end
   check_not_above(t, d, 3)
   check_not_below(t, d)
   check_sizes(index, t, d, r, t)
   if not is_new then
      check_sizes(index, r, d, r, t)
      if r[2 * d - 1] < index[2 * d - 1] then check_size(d, index, r, d, r, t) end
      if r[2 * d - 1] > index[2 * d - 1] then
         r = memory.copy_view(r)
         r[2 * d - 1] = index[2 * d - 1]
      end
   end
   if not is_repeated(r) and gather_here(r, t, d, index) then return end
   if out_of_range(index, t[2 * d - 1]) then errors.raise('Invalid index in gather', 'THTensorMath.c:456') end
   into(r, gather_in_python, beside(r, t), d, beside(r, index))
end

-- Scatters into an r whose elements share memory, with each other or with what is read, row by row and element by
-- element.
local function scatter_in_turn(r, d, index, source, adding)
   index = copy_of(index)
   local rows, index_rows = memory.copy_view(r), memory.copy_view(index)
   rows[2 * d - 1], index_rows[2 * d - 1] = 1, 1
   local number = type(source) ~= 'table' and source
   local next_index, next_source = offsets(index_rows), nil
   if not number then
      local source_rows = memory.copy_view(source)
      source_rows[2 * d - 1] = 1
      next_source = offsets(source_rows)
   end
   local get, set = r.T.get, r.T.set
   for at in offsets(rows) do
      local from, values = next_index(), next_source and next_source()
      for k = 0, index[2 * d - 1] - 1 do
         local place = at + (index.T.get(index.S.p, from + k * index[2 * d]) - 1) * r[2 * d]
         local value = number or get(source.S.p, values + k * source[2 * d])
         set(r.S.p, place, adding and get(r.S.p, place) + value or value)
      end
   end
end

local function scatter(kernel)
   return function(r, d, index, source)
      check_not_above(r, d, 2)
      if index.nd ~= r.nd then
         errors.argument(3, 'Index tensor must have same dimensions as output tensor', 'THTensorMath.c:453')
      end
      local tensor = type(source) == 'table'
      if tensor and source.nd ~= r.nd then
         errors.argument(4, 'Input tensor must have same dimensions as output tensor', 'THTensorMath.c:455')
      end
      check_not_below(r, d)
      check_sizes(index, r, d, r, tensor and source or nil)
      if tensor then
         check_sizes(index, source, d, r, source)
         if source[2 * d - 1] < index[2 * d - 1] then
            errors.argument(4, ('%d values in dimension %d expected, one for each index, got %d'):format(
               index[2 * d - 1], d, source[2 * d - 1]))
         end
      end
      if out_of_range(index, r[2 * d - 1]) then
         errors.raise('Invalid index in scatter', 'THTensorMath.c:482')
      end
      local read = tensor and source or nil
      if is_repeated(r) or not lies_apart(r, index, read) then
         scatter_in_turn(r, d, index, source, kernel == 'scatter_add')
      elseif kernel == 'scatter_add' or not scatter_here(r, d, index, read, source) then
         python[kernel](handle(r), d, handle(index), tensor and handle(source) or signed(source))
      end
   end
end
local scatter_tensor, scatter_number = scatter('scatter'), scatter('scatter_fill')

define('gather', { 'r T i L', gather })
define('scatter', { 'o i L T', scatter_tensor, 'o i L n', scatter_number })
define('scatterAdd', { 'o i L T', scatter('scatter_add') })

-- On a device, indices may have the tensor's own type.
local on_device = {}
for _, T in ipairs(overloads.all_but_half) do
   if T.device then on_device[#on_device + 1] = T end
end
local function long_beside(index) return as_long(index, types.beside(index.T, 'Long')) end

define('gather', { 'r T i L', gather, 'r T i T', function(r, t, d, index)
   gather(r, t, d, long_beside(index))
end }, on_device)
define('scatter', {
   'o i L T', scatter_tensor,
   'o i T T', function(r, d, index, source) scatter_tensor(r, d, long_beside(index), source) end,
   'o i L n', scatter_number,
   'o i T n', function(r, d, index, value) scatter_number(r, d, long_beside(index), value) end,
}, on_device)

define('nonzero', { 'l T', function(l, t)
   if not is_apart(l, t) then t = copy_of(t) end
   if find_nonzero(l, t) then return end
   local n = t.nd > 0 and python.count_nonzero(handle(t)) or 0
   resize(l, 2, { n, t.nd })
   if n > 0 then python.nonzero(handle(l), handle(t)) end
end })
