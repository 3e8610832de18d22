-- Checks of a layer's tensors and numbers before LuaJIT computes. Each function says why not (torch/core/ways.lua).
local memory = require 'torch.core.memory'
local overlap = require 'torch.core.overlap'
local types = require 'torch.core.types'
local no = require('torch.core.ways').no
local blas = require 'torch.luajit.blas'
local few = require 'torch.luajit.elementwise'
local library = require 'torch.core.library'

local count, is_contiguous, same_size = memory.count, memory.is_contiguous, memory.same_size
local resize, resize_as = memory.resize, memory.resize_as
local ceil, floor = math.ceil, math.floor
local is_apart, lies_apart = overlap.is_apart, overlap.lies_apart

local gates = {}

-- Tensors of one type T of real numbers; all but the first may be nil.
function gates.typed(T, a, b, c, d)
   return T.real and a.T == T and (not b or b.T == T) and (not c or c.T == T) and (not d or d.T == T)
      or no 'not all tensors are of one type of real numbers'
end

-- Indices: whole numbers of type Long.
function gates.indices(t) return t.T.host == types.Long and t.T.here or no 'indices that are not of type Long' end

-- r, which is written, shares no memory with up to three others.
function gates.apart(r, a, b, c)
   return is_apart(r, a, b, c) or no 'a result that shares memory with another tensor'
end

-- The same for r, a parameter's gradient that keeps its size, which may be a part of the same storage as the others.
function gates.lies_apart(r, a, b, c)
   return lies_apart(r, a, b, c) or no 'a gradient that shares memory with another tensor'
end

-- Contiguous and of type T, or nil.
function gates.plain(t, T)
   return not t or t.T == T and t.S and t.nd > 0 and is_contiguous(t) or no 'elements that are not contiguous'
end

-- n elements: at least one, and at most `most`.
function gates.few(n, most)
   if n == 0 then return no 'no elements' end
   return n <= most or no('more than %d elements', most)
end

-- Like gates.few, but also for more elements until PyTorch is loaded, if it is not worth loading for them.
local STEPS, MOST_FOR_NOW = 8, 2 ^ 20 -- steps of a loop for an element; elements, which scratch buffers hold, too
function gates.few_for_now(n, most)
   if n > most and n <= MOST_FOR_NOW and few.LIMIT > 0 and library.saves_pytorch(STEPS * n) then return true end
   return gates.few(n, most)
end

-- Like gates.few, for other quantities. what: a text such as 'more than %d multiplications'.
function gates.within(n, most, what) return n <= most or no(what, most) end

function gates.same_size(a, b) return same_size(a, b) or no 'tensors of different sizes' end

-- Whether a and b can be traversed together: they have the same sizes, or are contiguous with as many elements.
function gates.same_elements(a, b)
   return same_size(a, b) or is_contiguous(a) and is_contiguous(b) and count(a) == count(b)
      or no 'tensors of different sizes'
end

-- Whether all elements of t are finite; they can then be read directly.
function gates.finite(t) return blas.reads_plainly(t) or no 'numbers that are not finite' end

-- The BLAS routines for type T.
function gates.routine(T) return blas.of_rows(T) or no 'no BLAS' end

-- Images or volumes (axes: 2 or 3 dimensions of a plane), a batch or a single one; `other`, if given, has as many
-- planes.
function gates.planes(x, axes, other)
   local nd = x.nd
   local further = nd - axes
   if further ~= 1 and further ~= 2 then return no 'neither a batch nor one sample' end
   return not other or other.nd == nd and x[1] == other[1] and (further == 1 or x[3] == other[3])
      or no 'tensors of different sizes'
end

-- Whether r has the sizes of x (images, sequences or, if frames are given, volumes) but the given rows and columns, and
-- planes and frames if given.
local function is_sized(r, x, rows, columns, planes, frames)
   local nd, last = x.nd, 2 * x.nd - 1
   if r.nd ~= nd or r[last - 2] ~= rows or r[last] ~= columns then return false end
   if frames then
      if r[last - 4] ~= frames then return false end
      last = last - 2
   end
   return (last < 5 or r[last - 4] == (planes or x[last - 4])) and (last < 7 or r[1] == x[1])
end

function gates.sized(r, x, rows, columns, planes, frames)
   return is_sized(r, x, rows, columns, planes, frames) or no 'tensors of different sizes'
end

-- Resizes r to these sizes; it must then be contiguous.
function gates.begun(r, x, rows, columns, planes, frames)
   if not is_sized(r, x, rows, columns, planes, frames) then
      local nd, sizes = x.nd, {}
      for d = 1, nd do sizes[d] = x[2 * d - 1] end
      sizes[nd - 1], sizes[nd], sizes[nd - 2] = rows, columns, frames or sizes[nd - 2]
      local of_planes = nd - (frames and 3 or 2)
      if of_planes > 0 then sizes[of_planes] = planes or sizes[of_planes] end
      resize(r, nd, sizes)
   end
   return is_contiguous(r) or no 'a result that is not contiguous'
end

-- Whether out can be computed from x, which is contiguous; it then has the sizes of x but the given ones.
function gates.result(out, x, rows, columns, planes, frames)
   return gates.typed(x.T, x, out) and gates.plain(x, x.T) and gates.apart(out, x)
      and gates.begun(out, x, rows, columns, planes, frames)
end

-- Whether the gradient of x can be computed from grad_output, contiguous and with the sizes of x but the given ones.
function gates.gradient(gradient, x, grad_output, rows, columns, planes, frames)
   return gates.typed(x.T, x, gradient, grad_output) and gates.plain(grad_output, x.T)
      and gates.sized(grad_output, x, rows, columns, planes, frames) and gates.apart(gradient, x, grad_output)
      and gates.resized_as(gradient, x)
end

-- A parameter of n numbers, or nil; contiguous unless may_lie_apart is given.
function gates.vector(t, T, n, may_lie_apart)
   if not t then return true end
   if t.nd ~= 1 or t[1] ~= n then return no 'a parameter of another size' end
   if may_lie_apart then return gates.typed(T, t) end
   return gates.plain(t, T)
end

-- Numbers of a layer: whole, finite, and at least `least`. All but the first can be nil. (There is no loop over
-- arguments: LuaJIT would enter it in each call.)
local function is_whole(n, least) return n >= least and n % 1 == 0 end
function gates.whole(least, a, b, c, d)
   return is_whole(a, least) and (not b or is_whole(b, least)) and (not c or is_whole(c, least))
      and (not d or is_whole(d, least)) or no 'a number of the layer that is not whole, or too small'
end

-- The number of windows along a dimension, whose border is at most half a window; by_ceil: rounded up, but no window
-- begins in the border at the end.
function gates.windows(size, span, step, border, dilation, by_ceil)
   if not gates.whole(1, span, step, dilation) or not gates.whole(0, border) then return nil end
   local room = size + 2 * border - dilation * (span - 1) - 1
   if room < 0 or 2 * border > span then return no 'windows in the border, or larger than the image' end
   local n = (by_ceil and ceil or floor)(room / step) + 1
   if (n - 1) * step < size + border then return n end
   if border == 0 then return no 'a window that begins beyond the end' end
   return n - 1
end

-- Resizes r to the sizes of x, or to the given ones; it must then be contiguous.
function gates.resized_as(r, x)
   resize_as(r, x)
   return is_contiguous(r) or no 'a result that is not contiguous'
end
function gates.resized(r, nd, sizes)
   resize(r, nd, sizes)
   return is_contiguous(r) or no 'a result that is not contiguous'
end

return gates
