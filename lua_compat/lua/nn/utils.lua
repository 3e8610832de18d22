-- nn.utils: operations on tensors in nested tables.
local utils = {}
nn.utils = utils

local function storage_as(storage, name)
   if torch.typename(storage) == name then return storage end
   local converted = torch.getmetatable(name).new()
   if storage:size() > 0 then converted:resize(storage:size()):copy(storage) end
   return converted
end

-- Converts all tensors in param to a type. cache keeps what was converted (tensors by themselves, storages by pointer),
-- so that shared tensors remain shared, also over several calls with the same cache.
function utils.recursiveType(param, type_name, cache)
   cache = cache or {}
   if torch.type(param) == 'table' then
      for key, value in pairs(param) do param[key] = utils.recursiveType(value, type_name, cache) end
   elseif torch.isTypeOf(param, 'nn.Module') or torch.isTypeOf(param, 'nn.Criterion') then
      param:type(type_name, cache)
   elseif torch.isTensor(param) and torch.typename(param) ~= type_name then
      local converted = cache[param]
      if not converted then
         converted = torch.getmetatable(type_name).new()
         local storage = param:storage()
         if storage then
            local key = torch.pointer(storage)
            cache[key] = cache[key] or storage_as(storage, (type_name:gsub('Tensor', 'Storage')))
            converted:set(cache[key], param:storageOffset(), param:size(), param:stride())
         end
         cache[param] = converted
      end
      return converted
   end
   return param
end

local function mismatch(a, b)
   error(('expecting nested tensors or tables. Got %s and %s instead'):format(torch.type(a), torch.type(b)), 3)
end

-- Gives a the structure and the sizes of b.
function utils.recursiveResizeAs(a, b)
   if torch.type(b) == 'table' then
      a = torch.type(a) == 'table' and a or { a }
      for key in pairs(b) do a[key], b[key] = utils.recursiveResizeAs(a[key], b[key]) end
      for key in pairs(a) do
         if b[key] == nil then a[key] = nil end
      end
   elseif torch.isTensor(b) then
      a = torch.isTensor(a) and a or b.new()
      a:resize(b:size())
   else
      mismatch(a, b)
   end
   return a, b
end

function utils.recursiveFill(t, value)
   if torch.type(t) == 'table' then
      for key in pairs(t) do t[key] = utils.recursiveFill(t[key], value) end
   elseif torch.isTensor(t) then
      t:fill(value)
   else
      error('expecting tensor or table thereof. Got ' .. torch.type(t) .. ' instead', 2)
   end
   return t
end

-- a = a + value * b; in utils.recursiveAdd(a, b) value is 1.
function utils.recursiveAdd(a, value, b)
   if not b then
      assert(value, 'expecting at least two arguments')
      value, b = 1, value
   end
   if torch.type(b) == 'table' then
      a = torch.type(a) == 'table' and a or { a }
      for key in pairs(b) do a[key], b[key] = utils.recursiveAdd(a[key], value, b[key]) end
   elseif torch.isTensor(a) and torch.isTensor(b) then
      a:add(value, b)
   else
      mismatch(a, b)
   end
   return a, b
end

function utils.recursiveCopy(a, b)
   if torch.type(b) == 'table' then
      a = torch.type(a) == 'table' and a or { a }
      for key in pairs(b) do a[key], b[key] = utils.recursiveCopy(a[key], b[key]) end
   elseif torch.isTensor(b) then
      a = torch.isTensor(a) and a or b.new()
      a:resize(b:size()):copy(b)
   else
      mismatch(a, b)
   end
   return a, b
end

-- Arguments: [view,] tensor, dimension. Returns a view with an additional dimension of size 1.
function utils.addSingletonDimension(...)
   local view, t, d = ...
   if select('#', ...) < 3 then
      view, t, d = nil, ...
   else
      assert(torch.isTensor(view), 'output tensor expected, got ' .. torch.type(view))
   end
   assert(torch.isTensor(t), 'input tensor expected')
   d = d or 1
   assert(d > 0 and d <= t:dim() + 1, ('invalid dimension: %d. Tensor is of %d dimensions.'):format(d, t:dim()))
   if d % 1 ~= 0 then error(('a whole dimension expected, got %s'):format(d), 2) end -- Torch7: undefined sizes
   local sizes, strides = t:size():totable(), t:stride():totable()
   table.insert(sizes, d, 1)
   table.insert(strides, d, 1)
   return (view or t.new()):set(t:storage(), t:storageOffset(), torch.LongStorage(sizes), torch.LongStorage(strides))
end

-- A view of the input with other sizes; if the input is not contiguous, it is first copied to output.
function utils.contiguousView(output, input, ...)
   output = output or input.new()
   if input:isContiguous() then return output:view(input, ...) end
   output:resize(input:size()):copy(input)
   return output:view(output, ...)
end

-- Clears fields: tensors remain but become empty, tables become empty, all others nil.
function utils.clear(self, ...)
   local fields = { ... }
   if torch.type(fields[1]) == 'table' then fields = fields[1] end
   for _, field in ipairs(fields) do
      local value = self[field]
      if value then
         if torch.isTensor(value) then value:set()
         elseif torch.type(value) == 'table' then self[field] = {}
         else self[field] = nil end
      end
   end
   return self
end
