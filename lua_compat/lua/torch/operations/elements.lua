-- Iterating over elements in Lua: apply, map, map2, totable; and small copies and fills without Python.
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local errors = require 'torch.core.errors'
local tensors = require 'torch.tensor.tensor'
local pointwise = require 'torch.operations.pointwise'

local records = memory.records
local count, is_contiguous, copy_view = memory.count, memory.is_contiguous, memory.copy_view
local check = tensors.check
local number_in, number = errors.number_in, require('torch.core.arguments').number
local type = type

local elements = {}

-- Iterates over the offsets of r's elements in row-major order, for tensors that are not contiguous.
local function offsets(r)
   local nd = r.nd
   local index, off, n = {}, r.off, count(r)
   for d = 1, nd do index[d] = 0 end
   local last = 2 * nd
   return function()
      if n == 0 then return nil end
      n = n - 1
      local current = off
      local d = nd
      off = off + r[last]
      index[nd] = index[nd] + 1
      while d > 1 and index[d] == r[2 * d - 1] do
         off = off - index[d] * r[2 * d]
         index[d] = 0
         d = d - 1
         index[d] = index[d] + 1
         off = off + r[2 * d]
      end
      return current
   end
end
elements.offsets = offsets

local function function_argument(f)
   if type(f) ~= 'function' and not (debug.getmetatable(f) or {}).__call then
      errors.raise(("attempt to call local 'func' (a %s value)"):format(type(f)))
   end
end

local function tensor_argument(object, position, T)
   if not (records[object] and records[object].nd) then errors.argument(position, 'tensor expected') end
   return check(object, position, T)
end

local SOURCES = { 'tensor', 'src1', 'src2' }

local function read(p, i) return p[i] end

-- A callback may resize or release anything. So the elements are those of the view at the start, kept in a record of
-- its own, and pointers are fetched again for each element.
local function install(T)
   local mt = T.tensor_metatable
   local get, set, tidy = T.get, T.set, T.tidy
   local get_tidy = T.real and read or get
   local ctype = tostring(T.element):match('<(.*)>')

   -- Stores what a callback returned. As in Torch7, LuaJIT's FFI does so where all tensors are contiguous: true is 1,
   -- and nil and false leave the element alone. Elsewhere C does: nil alone leaves it alone, and strings are read.
   local function put(p, i, value, contiguous)
      if type(value) == 'number' then
         set(p, i, value)
      elseif contiguous then
         if value then set(p, i, number(value, ctype)) end
      elseif value ~= nil then
         if not number_in(value) then
            errors.raise('given function should return a number or nil', 'Tensor.c:1178')
         end
         set(p, i, T.element_of(value))
      end
   end

   function mt:apply(f)
      local r = copy_view(check(self, 1, T))
      function_argument(f)
      if r.nd == 0 then return self end
      local S = r.S
      if is_contiguous(r) then
         local first, last = r.off, r.off + count(r) - 1
         tidy(S.p, first, last)
         for i = first, last do
            local value = f(get_tidy(S.p, i))
            put(S.p, i, value, true)
         end
      else
         for i in offsets(r) do
            local value = f(get(S.p, i))
            put(S.p, i, value, false)
         end
      end
      return self
   end

   local function check_same_count(r, other)
      if count(r) ~= count(other) then errors.raise('size mismatch') end
   end

   function mt:map(source, f)
      local r, s = copy_view(check(self, 1, T)), copy_view(tensor_argument(source, 2, T))
      function_argument(f)
      local contiguous = is_contiguous(r) and is_contiguous(s)
      if contiguous then check_same_count(r, s) else pointwise.check_pair(r, s, 'tensor', 'src', 'Tensor.c') end
      if r.nd == 0 then return self end
      local S, Q = r.S, s.S
      if contiguous then
         local shift, first, last = s.off - r.off, r.off, r.off + count(r) - 1
         tidy(S.p, first, last)
         tidy(Q.p, first + shift, last + shift)
         for i = first, last do
            local value = f(get_tidy(S.p, i), get_tidy(Q.p, i + shift))
            put(S.p, i, value, true)
         end
      else
         local next_source = offsets(s)
         for i in offsets(r) do
            local value = f(get(S.p, i), get(Q.p, next_source()))
            put(S.p, i, value, false)
         end
      end
      return self
   end

   function mt:map2(source1, source2, f)
      local r, s, t = check(self, 1, T), tensor_argument(source1, 2, T), tensor_argument(source2, 3, T)
      r, s, t = copy_view(r), copy_view(s), copy_view(t)
      function_argument(f)
      local contiguous = is_contiguous(r) and is_contiguous(s) and is_contiguous(t)
      if contiguous then
         check_same_count(r, s)
         check_same_count(r, t)
      else
         pointwise.check_counts(r, s, t, SOURCES)
      end
      if r.nd == 0 then return self end
      local next1, next2 = offsets(s), offsets(t)
      for i in offsets(r) do
         local value = f(get(r.S.p, i), get(s.S.p, next1()), get(t.S.p, next2()))
         put(r.S.p, i, value, contiguous)
      end
      return self
   end

   local function level(r, d, off)
      local list = {}
      local size, stride = r[2 * d - 1], r[2 * d]
      if d == r.nd then
         local p = r.S.p
         for i = 1, size do list[i] = get(p, off + (i - 1) * stride) end
      else
         for i = 1, size do list[i] = level(r, d + 1, off + (i - 1) * stride) end
      end
      return list
   end

   function mt:totable()
      local r = check(self, 1)
      if r.nd == 0 then return {} end
      return level(r, 1, r.off)
   end

   if T == types.Half then mt.apply, mt.map, mt.map2 = nil, nil, nil end
end

for code = 1, types.count do install(types[code]) end

return elements
