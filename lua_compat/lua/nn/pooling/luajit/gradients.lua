-- Gradients of max-pooling and unpooling, for few elements, computed here.
local ffi = require 'ffi'
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local is_apart = require('torch.core.overlap').is_apart
local few = require 'torch.luajit.elementwise'
local blas = require 'torch.luajit.blas'
local ways = require 'torch.core.ways'
local compiled = require 'torch.core.templates'
local rooms = require 'nn.shared.luajit.scratch'

local luajit = ways.luajit
local count, is_contiguous, same_size, resize_as, first_element =
   memory.count, memory.is_contiguous, memory.same_size, memory.resize_as, memory.first_element
local floor, ceil, tonumber, place, cast, halves = math.floor, math.ceil, tonumber, few.place, ffi.cast,
   ffi.typeof 'int32_t *'

local MOST = 16 -- times few.LIMIT elements: a new gradient and places cost PyTorch several operators

-- Whether places are whole numbers and gradients few, all of them one after the other and apart from the result.
local function plain(gradient, x, grad_output, indices)
   local T = x.T
   if not T.real or grad_output.T ~= T or gradient.T ~= T or indices.T.host ~= types.Long then return false end
   if not is_apart(gradient, x, grad_output, indices) then return false end
   local n = count(grad_output)
   return n > 0 and count(x) <= MOST * few.LIMIT and n <= MOST * few.LIMIT and same_size(grad_output, indices)
      and is_contiguous(grad_output) and is_contiguous(indices)
end

-- Whether n windows fit a dimension as the layer counts them, none of them outside.
local function fits(n, size, span, step, padding, dilation, round)
   local reach = dilation * (span - 1) + 1
   return padding < reach and (n - 1) * step < size + padding and n == round((size + 2 * padding - reach) / step) + 1
end

local function begin(gradient, x)
   resize_as(gradient, x)
   return few.zero(gradient, count(gradient))
end

-- Adds n gradients at q to the pixels at p that they belong to. All windows of all planes are one loop: LuaJIT enters
-- one anew each time, which costs as much as many windows; no branch is taken at the end of a plane, which would be
-- what it compiles the loop for if it happened to begin there. Places are read as their halves. False for one outside:
-- Python begins anew, and raises the error.
local ADD = [[
   local band, bor, bnot, arshift, tobit, get = ...
   return function(p, q, halves, n, windows, pixels)
      local j, first = 0, tobit(-1)
      windows, pixels = tobit(windows), tobit(pixels)
      for k = 0, n - 1 do
         local at = halves[k + k]
         if bor(arshift(at - 1, 31), arshift(pixels - at, 31), halves[k + k + 1]) ~= 0 then return false end
         at = tobit(first + at)
         p[at] = READ(p, at) + READ(q, k)
         j = tobit(j + 1)
         local in_plane = arshift(tobit(j - windows), 31) -- -1 or 0
         j, first = band(j, in_plane), tobit(first + band(pixels, bnot(in_plane)))
      end
      return true
   end
]]
-- For each type on its own: traces are for one type of memory. add_plainly: of finite numbers, which may be
-- read as they are
local function adding(plain)
   return compiled.for_each(types.codes_of_reals, function(code)
      local text = compiled.reading(ADD, plain)
      return compiled.from_text(text, 'nn.pooling.luajit.gradients')(bit.band, bit.bor, bit.bnot, bit.arshift,
         bit.tobit,
         types[code].get)
   end)
end
local add_plainly, add_one_by_one = adding(true), adding(false)

-- Whether the gradients are as many as planes of `axes` dimensions have, which then lie in x and in grad_output alike.
local function has_planes(gradient, x, grad_output, indices, axes)
   local nd = x.nd
   if nd ~= axes + 1 and nd ~= axes + 2 or grad_output.nd ~= nd or not plain(gradient, x, grad_output, indices) then
      return false
   end
   for d = 1, 2 * (nd - axes) - 1, 2 do
      if x[d] ~= grad_output[d] then return false end
   end
   return true
end

-- Adds the gradients to the numbers of x's planes that they belong to; false as above.
local function add_to_planes(gradient, x, grad_output, indices, axes)
   local pixels, windows, n, nd = 1, 1, count(grad_output), x.nd
   for d = nd - axes + 1, nd do pixels, windows = pixels * x[2 * d - 1], windows * grad_output[2 * d - 1] end
   if not begin(gradient, x) then return false end
   local add = blas.reads_plainly(grad_output) and add_plainly or add_one_by_one
   return add(x.T.host.code)(first_element(gradient), first_element(grad_output),
      cast(halves, first_element(indices)), n, windows, pixels)
end

local function of_images(gradient, x, grad_output, indices, kw, kh, dw, dh, pw, ph, by_ceil, lw, lh)
   if not has_planes(gradient, x, grad_output, indices, 2) then return false end
   local last, round = 2 * x.nd - 1, by_ceil and ceil or floor
   return fits(grad_output[last - 2], x[last - 2], kh, dh, ph, lh or 1, round)
      and fits(grad_output[last], x[last], kw, dw, pw, lw or 1, round)
         and add_to_planes(gradient, x, grad_output, indices, 2)
end

local function of_volumes(gradient, x, grad_output, indices, by_ceil, kt, kw, kh, dt, dw, dh, pt, pw, ph, lt, lw, lh)
   if not has_planes(gradient, x, grad_output, indices, 3) then return false end
   local last, round = 2 * x.nd - 1, by_ceil and ceil or floor
   return fits(grad_output[last - 4], x[last - 4], kt, dt, pt, lt, round)
      and fits(grad_output[last - 2], x[last - 2], kh, dh, ph, lh, round)
      and fits(grad_output[last], x[last], kw, dw, pw, lw, round)
         and add_to_planes(gradient, x, grad_output, indices, 3)
end

-- Windows at random places.
local function of_fractions(gradient, x, grad_output, indices, axes)
   return has_planes(gradient, x, grad_output, indices, axes) and add_to_planes(gradient, x, grad_output, indices, axes)
end

-- Places count from 0 within each window.
local function of_sequences(gradient, x, grad_output, indices, span, step)
   local nd = x.nd
   if (nd ~= 2 and nd ~= 3) or grad_output.nd ~= nd or not plain(gradient, x, grad_output, indices) then
      return false
   end
   local frames, features, windows = x[2 * nd - 3], x[2 * nd - 1], grad_output[2 * nd - 3]
   if grad_output[2 * nd - 1] ~= features or (windows - 1) * step + span > frames then return false end
   if span < 1 or step < 1 or nd == 3 and x[1] ~= grad_output[1] then return false end
   local n = count(grad_output)
   local q, places, get = grad_output.S.p + grad_output.off, indices.S.p + indices.off, x.T.get
   for k = 0, n - 1 do
      local at = tonumber(places[k])
      if not (at >= 0 and at < span) then return false end
   end
   if not begin(gradient, x) then return false end
   local p, per_sequence = gradient.S.p + gradient.off, windows * features
   for k = 0, n - 1 do
      local sequence = floor(k / per_sequence)
      local window, feature = floor(k % per_sequence / features), k % features
      local frame = window * step + place(places, k, span - 1, 0)
      local at = (sequence * frames + frame) * features + feature
      p[at] = get(p, at) + get(q, k)
   end
   return true
end

-- Unpooling: what is apart from it, few and in one piece. axes: as many as sizes of the planes that are made
local function unpools(r, x, indices, axes)
   local nd, T = x.nd, x.T
   return few.LIMIT > 0 and T.real and r.T == T and (nd == axes + 1 or nd == axes + 2) and indices.T.host == types.Long
      and same_size(x, indices) and is_contiguous(x) and is_contiguous(indices) and is_apart(r, x, indices)
end

local function is_size(n) return n >= 1 and n % 1 == 0 end

-- Calls f(r, x, indices, axes, pixels, rows, columns, frames, ...) for planes of `pixels` numbers of these sizes.
local function unpooled(f, r, x, indices, first, second, third, ...)
   if not (is_size(first) and is_size(second) and is_size(third or 1)) then return false end
   local axes = third and 3 or 2
   if not unpools(r, x, indices, axes) then return false end
   if third then return f(r, x, indices, axes, first * second * third, second, third, first, ...) end
   return f(r, x, indices, axes, first * second, first, second, 1, ...)
end

-- Numbers of a plane of x, and of all planes that are made.
local function counts(x, axes, pixels)
   local windows, n = 1, count(x)
   for d = x.nd - axes + 1, x.nd do windows = windows * x[2 * d - 1] end
   return windows, n / windows * pixels, n
end

local function begin_planes(r, x, axes, rows, columns, frames)
   return (axes == 3 and rooms.begin_volumes or rooms.begin)(r, x, rows, columns, nil, frames)
end

local function all_within(places, n, pixels)
   for k = 0, n - 1 do
      local at = tonumber(places[k])
      if not (at >= 1 and at <= pixels) then return false end
   end
   return true
end

local function put(out, x, indices, axes, pixels, rows, columns, frames)
   local windows, all, n = counts(x, axes, pixels)
   if n == 0 or all > MOST * few.LIMIT or n > MOST * few.LIMIT then return false end
   local q, places, get = x.S.p + x.off, indices.S.p + indices.off, x.T.get
   if not all_within(places, n, pixels) or not begin_planes(out, x, axes, rows, columns, frames)
      or not few.zero(out, all) then
      return false
   end
   local p, first, left = out.S.p + out.off, -1, windows
   for k = 0, n - 1 do
      if left == 0 then first, left = first + pixels, windows end
      left = left - 1
      p[first + place(places, k, pixels)] = get(q, k)
   end
   return true
end

local function take(grad, x, indices, axes, pixels, rows, columns, frames, grad_output)
   local windows, all, n = counts(x, axes, pixels)
   local nd, last = x.nd, 2 * x.nd - 1
   if n == 0 or n > MOST * few.LIMIT or grad_output.T ~= x.T or grad_output.nd ~= nd
      or not is_contiguous(grad_output) then
      return false
   end
   if count(grad_output) ~= all or grad_output[last] ~= columns or grad_output[last - 2] ~= rows or axes == 3
      and grad_output[last - 4] ~= frames
      or not is_apart(grad, grad_output) then
      return false
   end
   local q, places, get = grad_output.S.p + grad_output.off, indices.S.p + indices.off, x.T.get
   if not all_within(places, n, pixels) then return false end
   resize_as(grad, x)
   if not is_contiguous(grad) then return false end
   local p, first, left = grad.S.p + grad.off, -1, windows
   for k = 0, n - 1 do
      if left == 0 then first, left = first + pixels, windows end
      left = left - 1
      p[k] = get(q, first + place(places, k, pixels))
   end
   return true
end

function luajit.max_unpooling(out, x, indices, first, second, third)
   return unpooled(put, out, x, indices, first, second, third)
end
function luajit.max_unpooling_grad_input(grad, x, grad_output, indices, first, second, third)
   return unpooled(take, grad, x, indices, first, second, third, grad_output)
end

luajit.spatial_max_pooling_grad_input, luajit.volumetric_max_pooling_grad_input = of_images, of_volumes
luajit.fractional_max_pooling_grad_input = of_fractions
luajit.temporal_max_pooling_grad_input = of_sequences
