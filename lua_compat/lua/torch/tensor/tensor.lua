-- Tensors: construction, shape, and views that share memory. All of this is pure Lua.
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local class = require 'torch.core.class'
local errors = require 'torch.core.errors'
local storage = require 'torch.tensor.storage'
local overloads = require 'torch.tensor.overloads'

local records = memory.records
local push_tensor, copy_view = memory.push_tensor, memory.copy_view
local resize, resize_as, set_storage = memory.resize, memory.resize_as, memory.set_storage
local kept_strides = memory.kept_strides
local count, is_contiguous, same_size, is_storage = memory.count, memory.is_contiguous, memory.same_size,
   memory.is_storage
local tonumber, type, select = tonumber, type, select

local Long = types.Long
local Tensor = {}

-- The record of a tensor argument; it must have type T if one is given.
local function check(object, position, T)
   local r = records[object]
   if r and r.nd and (not T or r.T == T) then return r end
   if T then errors.wrong_class(position, T.tensor, object) end
   errors.wrong_type(position, 'torch.*Tensor', object)
end

local integer, number_in = errors.whole, errors.number_in

local function is_long_storage(object)
   return is_storage(records[object], Long)
end

-- The numbers in a LongStorage.
local function long_list(object)
   local S = records[object]
   local list = {}
   for i = 1, S.n do list[i] = tonumber(S.p[i - 1]) end
   return list, S.n
end

local function long_storage(list, n)
   local owner, S = memory.new_storage(Long, n)
   for i = 1, n do S.p[i - 1] = list[i] end
   return owner
end

local MOST_SIZES = 8

-- Reads sizes given as numbers or as a LongStorage (strides: a second one). Returns lists and the number of dimensions.
local function read_sizes(position, ...)
   local n, first, second = select('#', ...), ...
   if n <= 2 and type(first) == 'number' then -- one or two, without a loop, so that LuaJIT can inline it
      if n == 1 then return { integer(first, position) }, 1 end
      return { integer(first, position), integer(second, position + 1) }, 2
   end
   if is_long_storage(first) then
      local sizes, count = long_list(first)
      if second == nil then return sizes, count end
      if not is_long_storage(second) then errors.argument(position + 1, 'torch.LongStorage expected') end
      local strides, m = long_list(second)
      if m ~= count then errors.argument(position + 1, 'provided stride and size are inconsistent') end
      return sizes, count, strides
   end
   local values = { ... }
   n = math.min(n, MOST_SIZES)
   for i = 1, n do values[i] = integer(values[i], position + i - 1) end
   return values, n
end

-- The same for functions that accept any number of sizes; a tensor's constructor and resize read only the first 8.
local function read_all_sizes(position, ...)
   local n = select('#', ...)
   if n <= MOST_SIZES then return read_sizes(position, ...) end
   local sizes = { ... }
   for i = 1, n do sizes[i] = integer(sizes[i], position + i - 1) end
   return sizes, n
end

-- Reads size, stride, size, stride...
local function read_sizes_and_strides(position, ...)
   if is_long_storage((...)) then return read_sizes(position, ...) end
   local values, n = { ... }, select('#', ...)
   local sizes, strides = {}, {}
   for i = 1, n, 2 do
      local d = (i + 1) / 2
      sizes[d] = integer(values[i], position + i - 1)
      strides[d] = i < n and integer(values[i + 1], position + i) or -1
   end
   return sizes, #sizes, strides
end

local function sizes_of(r)
   local list = {}
   for d = 1, r.nd do list[d] = r[2 * d - 1] end
   return list
end

local function strides_of(r)
   local list = {}
   for d = 1, r.nd do list[d] = r[2 * d] end
   return list
end

-- A new tensor from nested tables of numbers.
local function from_table(T, values)
   local sizes, nd = {}, 0
   local level = values
   while type(level) == 'table' and #level > 0 do
      nd = nd + 1
      sizes[nd] = #level
      level = level[1]
   end
   local ud, r = memory.new_tensor(T)
   resize(r, nd, sizes)
   if nd == 0 then return ud end
   local p, set, element_of, position = r.S.p, T.set, T.element_of, 0
   local function fill(list, d)
      if type(list) ~= 'table' then errors.raise('invalid tensor definition', 'Tensor.c:124') end
      if #list ~= sizes[d] then errors.raise('invalid tensor sizes', 'Tensor.c:132') end
      for i = 1, sizes[d] do
         if d < nd then
            fill(list[i], d + 1)
         else
            if not number_in(list[i]) then errors.raise('invalid element (not a number)', 'Tensor.c:143') end
            set(p, position, element_of(list[i]))
            position = position + 1
         end
      end
   end
   fill(values, 1)
   return ud
end

-- Sets r to the view that the arguments of a constructor or of set() describe.
local function set_from(r, position, ...)
   local T = r.T
   local first, second = ...
   if select('#', ...) == 0 then return set_storage(r, nil, 0, 0) end
   local source = records[first]
   if source and source.nd and source.T == T then
      return set_storage(r, source.S, source.off, source.nd, sizes_of(source), strides_of(source))
   elseif is_storage(source, T) then
      if select('#', ...) == 1 then return set_storage(r, source, 0, 1, { source.n }, { 1 }) end
      local sizes, nd, strides = read_sizes_and_strides(position + 2, select(3, ...))
      return set_storage(r, source, integer(second, position + 1) - 1, nd, sizes, kept_strides(r, nd, sizes, strides))
   elseif type(first) == 'number' or is_long_storage(first) then
      local sizes, nd, strides = read_sizes(position, ...)
      return set_storage(r, nil, 0, nd, sizes, kept_strides(r, nd, sizes, strides))
   end
   errors.argument(position, ('expecting number or %s or %s'):format(T.tensor, T.storage), 'Tensor.c:1153')
end

local function new(T, ...)
   local first = ...
   if type(first) == 'table' then return from_table(T, first) end
   if type(first) == 'number' and select('#', ...) <= 2 then
      local sizes, nd = read_sizes(1, ...)
      local ud, r = memory.new_tensor(T)
      resize(r, nd, sizes)
      return ud
   end
   local ud, r = memory.new_tensor(T)
   set_from(r, 1, ...)
   return ud
end

-- Queries

local function dimension(r, d, position, where)
   d = integer(d, position)
   if d < 1 or d > r.nd then
      errors.argument(position, ('dimension %d out of range of %dD tensor'):format(d, r.nd), where)
   end
   return d
end

function Tensor:size(d)
   local r = records[self]
   if not r then check(self, 1) end
   if not tonumber(d) then return long_storage(sizes_of(r), r.nd) end
   return r[2 * dimension(r, d, 2, 'Tensor.c:18') - 1]
end

function Tensor:stride(d)
   local r = check(self, 1)
   if not tonumber(d) then return long_storage(strides_of(r), r.nd) end
   return r[2 * dimension(r, d, 2, 'Tensor.c:42')]
end

function Tensor:dim() return check(self, 1).nd end
Tensor.nDimension = Tensor.dim

function Tensor:nElement() return count(check(self, 1)) end

function Tensor:storage() return memory.storage_of(check(self, 1)) end

function Tensor:storageOffset() return check(self, 1).off + 1 end

function Tensor:isContiguous() return is_contiguous(check(self, 1)) end

function Tensor:isSameSizeAs(other)
   local r = check(self, 1)
   return same_size(r, check(other, 2, r.T))
end

function Tensor:isSize(size)
   local r = check(self, 1)
   local S = storage.check(size, 2, Long)
   if S.n ~= r.nd then return false end
   for d = 1, r.nd do
      if tonumber(S.p[d - 1]) ~= r[2 * d - 1] then return false end
   end
   return true
end

function Tensor:isSetTo(other)
   local a = check(self, 1)
   local b = check(other, 2, a.T)
   if not a.S or a.S ~= b.S or a.off ~= b.off or not same_size(a, b) then return false end
   for d = 2, 2 * a.nd, 2 do
      if a[d] ~= b[d] then return false end
   end
   return true
end

-- A pointer to the first element, for LuaJIT's FFI; nil without a storage.
function Tensor:data()
   local r = check(self, 1)
   local S = r.S
   if S and S.p then return memory.pointer(S, r.off) end
end

-- Changing a tensor's view

function Tensor:set(...)
   local r = check(self, 1)
   set_from(r, 2, ...)
   return self
end

function Tensor:resize(...)
   local r = check(self, 1)
   local sizes, nd, strides = read_sizes(2, ...)
   resize(r, nd, sizes, strides)
   return self
end

function Tensor:resizeAs(source)
   local r = check(self, 1)
   resize_as(r, check(source, 2, r.T))
   return self
end

-- Views

function Tensor:narrow(d, first, size)
   local r = check(self, 1)
   d, first, size = integer(d, 2), integer(first, 3), integer(size, 4)
   if d < 1 or d > r.nd then errors.argument(2, 'out of range', 'THTensor.c:437') end
   local available = r[2 * d - 1]
   if first < 1 or first > available then errors.argument(3, 'out of range', 'THTensor.c:438') end
   if size < 1 or first - 1 + size > available then errors.argument(4, 'out of range', 'THTensor.c:439') end
   local v = copy_view(r)
   v.off = r.off + (first - 1) * r[2 * d]
   v[2 * d - 1] = size
   return push_tensor(r.T, v)
end

-- Selects index i (from 0) of dimension d of a record, and removes that dimension.
local function select_dimension(v, d, i)
   v.off = v.off + i * v[2 * d]
   for k = 2 * d - 1, 2 * v.nd - 2 do v[k] = v[k + 2] end
   v.nd = v.nd - 1
end

-- The same in a copy; of a matrix without a loop, which LuaJIT would not inline.
local function selected(r, d, i)
   if r.nd == 2 then
      local k = 5 - 2 * d
      return { [0] = false, r[k], r[k + 1], 0, 0, T = r.T, S = r.S, off = r.off + i * r[2 * d], nd = 1 }
   end
   local v = copy_view(r)
   select_dimension(v, d, i)
   return v
end

function Tensor:select(d, i)
   local r = check(self, 1)
   d, i = integer(d, 2), integer(i, 3)
   if r.nd > 1 then
      if d < 1 or d > r.nd then errors.argument(2, 'out of range', 'THTensor.c:457') end
      if i < 1 or i > r[2 * d - 1] then errors.argument(3, 'out of range', 'THTensor.c:458') end
      return push_tensor(r.T, selected(r, d, i - 1))
   end
   if r.nd == 0 then errors.argument(1, 'empty Tensor', 'Tensor.c:372') end
   if i < 1 or i > r[1] then errors.argument(2, 'out of range', 'THTensor.c:841') end
   return r.T.get(r.S.p, r.off + (i - 1) * r[2])
end

-- Restricts dimension d of v to the indices from `first` to `last`.
local function restrict(r, v, d, first, last)
   local position = 2 * d
   first, last = integer(first, position), integer(last, position + 1)
   if r.nd < d then errors.argument(position, 'invalid dimension', 'Tensor.c') end
   local size = r[2 * d - 1]
   if first <= 0 then first = first + size + 1 end
   if last <= 0 then last = last + size + 1 end
   if first < 1 or first > size then errors.argument(position, 'out of range', 'Tensor.c') end
   if last < 1 or last > size then errors.argument(position + 1, 'out of range', 'Tensor.c') end
   if last < first then errors.argument(position + 1, 'end smaller than beginning', 'Tensor.c') end
   v.off = v.off + (first - 1) * v[2 * d]
   v[2 * d - 1] = last - first + 1
end

function Tensor:sub(a, b, c, d, e, f, g, h)
   local r = check(self, 1)
   local v = copy_view(r)
   restrict(r, v, 1, a, b)
   if c ~= nil then
      restrict(r, v, 2, c, d)
      if e ~= nil then
         restrict(r, v, 3, e, f)
         if g ~= nil then restrict(r, v, 4, g, h) end
      end
   end
   return push_tensor(r.T, v)
end

function Tensor:transpose(d1, d2)
   local r = check(self, 1)
   d1, d2 = integer(d1, 2), integer(d2, 3)
   if d1 < 1 or d1 > r.nd then errors.argument(1, 'out of range', 'THTensor.c:478') end
   if d2 < 1 or d2 > r.nd then errors.argument(2, 'out of range', 'THTensor.c:479') end
   local v = copy_view(r)
   local a, b = 2 * d1 - 1, 2 * d2 - 1
   v[a], v[b] = v[b], v[a]
   v[a + 1], v[b + 1] = v[b + 1], v[a + 1]
   return push_tensor(r.T, v)
end

function Tensor:t()
   local r = check(self, 1)
   if r.nd ~= 2 then errors.argument(1, 'Tensor must have 2 dimensions', 'Tensor.c:595') end
   local v = copy_view(r)
   v[1], v[2], v[3], v[4] = r[3], r[4], r[1], r[2]
   return push_tensor(r.T, v)
end

function Tensor:permute(...)
   local r = check(self, 1)
   local order = { ... }
   assert(#order == r.nd, 'Invalid permutation')
   local v, seen, moved = copy_view(r), {}, false
   for d = 1, r.nd do
      local from = integer(order[d], d + 1)
      assert(from >= 1 and from <= r.nd and not seen[from], 'Invalid permutation')
      seen[from], moved = true, moved or from ~= d
      v[2 * d - 1], v[2 * d] = r[2 * from - 1], r[2 * from]
   end
   return moved and push_tensor(r.T, v) or self -- as in Torch7, the tensor itself if no dimension moves
end

function Tensor:unfold(d, size, step)
   local r = check(self, 1)
   d, size, step = integer(d, 2), integer(size, 3), integer(step, 4)
   if r.nd == 0 then errors.argument(1, 'cannot unfold an empty tensor', 'THTensor.c:505') end
   if d < 1 or d > r.nd then errors.argument(2, 'out of range', 'THTensor.c:506') end
   if size < 0 or size > r[2 * d - 1] then errors.argument(3, 'out of range', 'THTensor.c:507') end
   if step < 1 then errors.argument(4, 'invalid step', 'THTensor.c:508') end
   local v = copy_view(r)
   local nd = r.nd + 1
   v.nd = nd
   v[2 * nd - 1], v[2 * nd] = size, r[2 * d]
   v[2 * d - 1], v[2 * d] = math.floor((r[2 * d - 1] - size) / step) + 1, step * r[2 * d]
   return push_tensor(r.T, v)
end

local function size_argument(first, ...)
   if is_long_storage(first) then return long_list(first) end
   local list = { first, ... }
   for d = 1, #list do list[d] = integer(list[d], d + 1) end
   return list, #list
end

-- result:expand(tensor, sizes...) or tensor:expand(sizes...)
function Tensor.expand(result, tensor, ...)
   local sizes, nd
   if type(tensor) == 'number' or is_long_storage(tensor) then
      sizes, nd = size_argument(tensor, ...)
      tensor = result
      result = memory.new_tensor(check(tensor, 1).T)
   else
      sizes, nd = size_argument(...)
   end
   local r = check(tensor, 2)
   if nd ~= r.nd then error('the number of dimensions provided must equal tensor:dim()', 2) end
   local strides = strides_of(r)
   for d = 1, nd do
      if r[2 * d - 1] == 1 then
         strides[d] = 0
      elseif r[2 * d - 1] ~= sizes[d] then
         error('incorrect size: only supporting singleton expansion (size=1)', 2)
      end
   end
   set_storage(check(result, 1, r.T), r.S, r.off, nd, sizes, strides)
   return result
end

function Tensor.expandAs(result, tensor, template)
   if template then return result:expand(tensor, template:size()) end
   return result:expand(tensor:size())
end

-- The sizes with -1 replaced, for n elements.
local function complete_sizes(sizes, nd, n)
   local covered, open = 1, nil
   for d = 1, nd do
      if sizes[d] == -1 then
         if open then error('Only one of torch.view dimensions can be -1.', 3) end
         open = d
      else
         covered = covered * sizes[d]
      end
   end
   if open then
      assert(n % covered == 0, 'The number of covered elements is not a multiple of all elements.')
      sizes[open] = n / covered
   end
   return sizes
end

-- result:view(tensor, sizes...) or tensor:view(sizes...)
function Tensor.view(result, source, ...)
   local tensor, view, sizes, nd
   local r, s = records[result], records[source]
   if r and r.nd and s and s.nd and (type((...)) == 'number' or is_long_storage((...))) then
      view, tensor = result, s
      sizes, nd = size_argument(...)
   elseif r and r.nd and (type(source) == 'number' or (is_long_storage(source) and (...) == nil)) then
      view, tensor = memory.new_tensor(r.T), r
      sizes, nd = size_argument(source, ...)
   else
      error('torch.view, expected (torch.Tensor, torch.Tensor, number [, number ]*) or\n'
         .. ' (torch.Tensor, torch.Tensor, torch.LongStorage) or\n (torch.Tensor, torch.LongStorage)\n'
         .. ' or (torch.Tensor, number [, number ]*)', 2)
   end
   local n = count(tensor)
   sizes = complete_sizes(sizes, nd, n)
   if not is_contiguous(tensor) then error('expecting a contiguous tensor', 2) end
   local wanted = nd > 0 and 1 or 0
   for d = 1, nd do wanted = wanted * sizes[d] end
   if wanted ~= n then
      error(('Wrong size for view. Input size: %s. Output size: %s'):format(
         table.concat(sizes_of(tensor), 'x'), table.concat(sizes, 'x')), 2)
   end
   local v = check(view, 1, tensor.T)
   set_storage(v, tensor.S, tensor.off, nd, sizes, kept_strides(v, nd, sizes))
   return view
end

function Tensor.viewAs(result, source, template)
   if template and class.typename(template) then return result:view(source, template:size()) end
   if template == nil then return result:view(source:size()) end
   error('expecting (torch.Tensor, torch.Tensor, torch.LongStorage) or (torch.Tensor, torch.LongStorage)', 2)
end

-- A list of views with up to `size` indices of dimension d each; in `result` if a table is given first.
function Tensor.split(result, tensor, size, d)
   if type(result) == 'table' then
      for key in pairs(result) do result[key] = nil end
   else
      result, tensor, size, d = {}, result, tensor, size
   end
   d = d or 1
   local available = tensor:size(d)
   local first = 1
   while first <= available do
      local length = math.min(size, available - first + 1)
      result[#result + 1] = tensor:narrow(d, first, length)
      first = first + length
   end
   return result
end

function Tensor.chunk(result, tensor, nChunk, d)
   if type(result) ~= 'table' then result, tensor, nChunk, d = {}, result, tensor, nChunk end
   d = d or 1
   return Tensor.split(result, tensor, math.ceil(tensor:size(d) / nChunk), d)
end

-- Squeezes all dimensions of size 1, or only dimension d. A single element becomes a number.
local function squeezed(result, r, d)
   local sizes, strides, nd = {}, {}, 0
   if d ~= nil then
      d = integer(d, 2)
      if d < 1 or d > r.nd then errors.argument(2, 'dimension out of range', 'THTensor.c:577') end
   end
   for k = 1, r.nd do
      if r[2 * k - 1] ~= 1 or (d and k ~= d) then
         nd = nd + 1
         sizes[nd], strides[nd] = r[2 * k - 1], r[2 * k]
      end
   end
   if nd == 0 and r.nd > 0 then nd, sizes[1], strides[1] = 1, 1, 1 end
   local ud = result or memory.new_tensor(r.T)
   local v = records[ud]
   set_storage(v, r.S, r.off, nd, sizes, strides)
   if nd == 1 and sizes[1] == 1 and not (d and r.nd > 1) then return v.T.get(v.S.p, v.off) end
   return ud
end

local SQUEEZE_USAGE = '[*%sTensor*] %sTensor | [*%sTensor*] %sTensor index'

-- [result,] source [, dimension]
local function squeezing(method)
   return function(...)
      local first, second, third = ...
      local r, s, n = records[first], records[second], select('#', ...)
      local T = r and r.nd and r.T
      local two = s and s.nd and s.T == T
      if T and (n == 1 or n == 2 and tonumber(second)) then return squeezed(nil, r, second) end
      if T and two and (n == 2 or n == 3 and tonumber(third)) then return squeezed(first, s, third) end
      local name = (T or overloads.default_type()).name
      overloads.refuse(SQUEEZE_USAGE:format(name, name, name, name), method, ...)
   end
end
Tensor.squeeze = squeezing(true)

local function retain() end

-- Defines the class of one type.
local function install(T)
   local mt = class.newmetatable(T.tensor, nil, function(...) return new(T, ...) end, nil,
      function() return (memory.new_tensor(T)) end, nil, T.tensor_metatable)
   for name, method in pairs(Tensor) do mt[name] = method end
   function mt.elementSize() return T.size end -- also without a tensor: torch.ByteTensor.elementSize()
   mt.retain, mt.free = retain, retain
   mt.__len = function(self) return Tensor.size(self) end
end

for code = 1, types.count do install(types[code]) end

return {
   methods = Tensor,
   check = check,
   integer = integer,
   new = new,
   read_sizes = read_sizes, read_all_sizes = read_all_sizes,
   sizes_of = sizes_of,
   strides_of = strides_of,
   is_long_storage = is_long_storage,
   long_storage = long_storage,
   long_list = long_list,
   select_dimension = select_dimension, selected = selected,
   squeeze = squeezing(false),
}
