-- Correlations and convolutions (torch.conv2, xcorr2, conv3, xcorr3). A plane or volume is copied into a scratch
-- buffer, with a border of zeros for full convolutions. There, the elements of every window have fixed distances from
-- its first element. So the result is a sum of shifted copies of the buffer. Positions that are not the start of a
-- window are skipped in the end.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local few = require 'torch.luajit.elementwise'
local blas = require 'torch.luajit.blas'
local taps = require 'torch.luajit.kernel_rows'
local library = require 'torch.core.library'
local is_apart = require('torch.core.overlap').is_apart
local luajit, no = require('torch.core.ways').of_kernels()
local room = require 'torch.core.scratch'()
local copy_of = require('torch.operations.pointwise').copy_of

local count, is_contiguous, first_element, resize = memory.count, memory.is_contiguous, memory.first_element,
   memory.resize

-- Multiplications; without PyTorch more (core/library.lua), and of doubles one plane at a time, for which PyTorch has
-- no fast code, any number.
local MOST = 2 ^ 17
local AT_ONCE = 4096 -- results, whose sums stay in the cache

local doubles = ffi.typeof 'double *'
local function numbers(name, n) return ffi.cast(doubles, room(name, 8 * n)) end

-- Copies depth x height x width numbers from q into a buffer of `all` numbers, starting at `first`; its planes have
-- `high` rows of `wide` numbers.
local function laid(q, depth, height, width, first, high, wide, all)
   local p = numbers('laid', all)
   ffi.fill(p, 8 * all)
   local y, z, to = 0, 0, first
   local x = 0
   for k = 0, depth * height * width - 1 do
      p[to] = q[k]
      x, to = x + 1, to + 1
      if x == width then
         x, y, to = 0, y + 1, to + wide - width
         if y == height then y, z, to = 0, z + 1, to + (high - height) * wide end
      end
   end
   return p
end

local function sizes_at_end(t, dims) return dims == 3 and t[2 * t.nd - 5] or 1, t[2 * t.nd - 3], t[2 * t.nd - 1] end

-- out = the correlations of x with k. x is one plane, or one plane for each plane of k, or one for each plane in every
-- set of k.
function luajit.correlate(out, x, k, dims, full, flipped)
   local T = x.T
   if not T.real or k.T ~= T or out.T ~= T or few.LIMIT == 0 or not is_apart(out, x, k) then
      return no 'other types, or a result that shares memory'
   end
   local depth, height, width = sizes_at_end(x, dims)
   local deep, tall, broad = sizes_at_end(k, dims) -- the kernel
   local before_depth, before_height, before_width = 0, 0, 0
   if full then before_depth, before_height, before_width = deep - 1, tall - 1, broad - 1 end
   local high, wide = height + 2 * before_height, width + 2 * before_width
   local layers, rows, columns = depth + 2 * before_depth - deep + 1, high - tall + 1, wide - broad + 1
   local planes, sets = x.nd > dims and x[1] or 1, k.nd > dims + 1 and k[1] or 1
   local starts = ((layers - 1) * high + rows - 1) * wide + columns -- the distance from the first window to the last
   local all, of_plane, of_kernel = (depth + 2 * before_depth) * high * wide, depth * height * width,
      deep * tall * broad
   local steps = math.max(planes * sets * of_kernel * starts, all)
   local is_slow_in_pytorch = T.size == 8 and k.nd <= dims + 1
   if steps > MOST and not is_slow_in_pytorch and not library.saves_pytorch(steps) then return no 'many products' end
   x, k = few.contiguous(x, 2, count(x)) or copy_of(x), few.contiguous(k, 3, count(k)) or copy_of(k)
   if not (blas.reads_plainly(x) and blas.reads_plainly(k)) then return no 'numbers that are not finite' end
   local paired, corner = k.nd == dims + 1, (before_depth * high + before_height) * wide + before_width
   local results = paired and planes or sets
   local sizes = dims == 3 and { layers, rows, columns } or { rows, columns }
   if x.nd > dims then table.insert(sizes, 1, results) end
   resize(out, #sizes, sizes)
   if not is_contiguous(out) then return no 'a result that is not contiguous' end
   local p, q, w, sums, to = first_element(out), first_element(x), first_element(k), numbers('sums', starts), 0
   local step, corner_of_kernel = flipped and -1 or 1, flipped and of_kernel - 1 or 0
   for result = 0, results - 1 do
      ffi.fill(sums, 8 * starts)
      for plane = paired and result or 0, paired and result or planes - 1 do
         local from = laid(q + plane * of_plane, depth, height, width, corner, high, wide, all)
         local first = (paired and result or result * planes + plane) * of_kernel + corner_of_kernel
         for start = 0, starts - 1, AT_ONCE do
            local at, n = first, math.min(AT_ONCE, starts - start)
            for kz = 0, deep - 1 do
               for ky = 0, tall - 1 do
                  taps.add(sums + start, from + start + (kz * high + ky) * wide, n, w, at, step, broad)
                  at = at + broad * step
               end
            end
         end
      end
      local column, row, at = 0, 0, 0
      for _ = 1, layers * rows * columns do
         p[to] = sums[at]
         to, at, column = to + 1, at + 1, column + 1
         if column == columns then
            column, row, at = 0, row + 1, at + wide - columns
            if row == rows then row, at = 0, at + (high - rows) * wide end
         end
      end
   end
   return true
end
