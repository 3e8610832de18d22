-- Writing to tensors whose elements share memory: expanded ones (x:expand(3, 4):mul(2) multiplies each element of x
-- three times), and those made by unfold or with a storage's strides. Torch7 writes element by element in row-major
-- order; PyTorch refuses. Here such a tensor is written in parts whose elements share no memory.
local memory = require 'torch.core.memory'

local is_contiguous = memory.is_contiguous
local overlapping = {}

-- The first dimension in which several indices refer to the same memory; nil if there is none.
local function repeated_dimension(r)
   for d = 1, r.nd do
      if r[2 * d] == 0 and r[2 * d - 1] > 1 then return d end
   end
end

-- Whether a stride other than 0 lies within the extent of the dimensions with smaller strides. (Tensors without overlap
-- can be so, too.)
local function interleaved(r)
   local dimensions = {}
   for d = 1, r.nd do
      if r[2 * d - 1] > 1 and r[2 * d] ~= 0 then dimensions[#dimensions + 1] = d end
   end
   table.sort(dimensions, function(a, b) return r[2 * a] < r[2 * b] end)
   local reach = 0 -- distance from the first element to the last, along the dimensions so far
   for _, d in ipairs(dimensions) do
      if r[2 * d] <= reach then return true end
      reach = reach + (r[2 * d - 1] - 1) * r[2 * d]
   end
   return false
end

-- The function below for vectors and matrices, the most frequent cases, without a table.
local function kind_of_matrix(size, step, other, other_step)
   if step == 0 and size > 1 or other_step == 0 and other > 1 then return 'repeated' end
   if size == 1 or other == 1 then return nil end
   if step > other_step then size, step, other_step = other, other_step, step end
   return other_step <= (size - 1) * step and 'interleaved' or nil
end

-- 'interleaved': elements may share memory in another way than by strides of 0; 'repeated': in that way alone; nil:
-- none do.
function overlapping.kind(r)
   if is_contiguous(r) then return nil end
   if r.nd == 2 then return kind_of_matrix(r[1], r[2], r[3], r[4]) end
   if r.nd == 1 then return kind_of_matrix(r[1], r[2], 1, 1) end
   return interleaved(r) and 'interleaved' or repeated_dimension(r) and 'repeated' or nil
end
local kind = overlapping.kind

local function part(r, d, index)
   local view = memory.temporary_view(r)
   view.off = r.off + index * r[2 * d]
   view[2 * d - 1] = 1
   return view
end

local function in_parts(write, r, t, s, v, w)
   local d = repeated_dimension(r)
   if not d then
      if not interleaved(r) then return write(r, t, s, v, w) end
      d = 1 -- row by row
      while r[2 * d - 1] == 1 do d = d + 1 end
   end
   for index = 0, r[2 * d - 1] - 1 do
      local q = part(r, d, index)
      local function beside(other) return other == r and q or other and part(other, d, index) end
      in_parts(write, q, beside(t), beside(s), v, w)
   end
end

-- Almost every operation runs the following. A closure made here would end LuaJIT's traces, so a function that writes
-- gets its values as arguments. There are as many as any of them needs, because traces do not start at `...`.

-- write(r, t, s, v, w) writes to r. Its tensors are records of the same sizes (or nil); t and s may be r itself.
function overlapping.write(write, r, t, s, v, w)
   if kind(r) then return in_parts(write, r, t, s, v, w) end
   return write(r, t, s, v, w)
end

return overlapping
