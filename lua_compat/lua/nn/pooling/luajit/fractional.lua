-- Fractional max-pooling (windows at random places) of few images and volumes, on top of nn/pooling/luajit/maxima.lua.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'
local geometry = require 'nn.shared.luajit.geometry'
local new_rooms = require 'torch.core.scratch'
local maxima = require 'nn.pooling.luajit.maxima'

local floor = math.floor
local rooms, whole_numbers = new_rooms(), ffi.typeof 'int32_t *'
local function room(name, n) return (ffi.cast(whole_numbers, rooms(name, 4 * n))) end

-- A dimension with this number of windows.
local function axis(size, windows, span)
   if not gates.whole(1, windows, span) then return false end
   if windows + span - 1 >= size then return no 'as many windows as places' end
   return maxima.axis(size, windows, 0, 0, span, 1, size)
end

local function complete(g, x)
   local last = 2 * g.nd - 1
   local time = not g.kt and { size = 1, count = 1, span = 1, dilation = 1, reach = 1 }
      or axis(x[last - 4], g.times, g.kt)
   local row, column = axis(x[last - 2], g.rows, g.kh), axis(x[last], g.columns, g.kw)
   return time and row and column and maxima.complete(g, x, time, row, column)
end
local geometry_of = geometry.of('rows, columns, kh, kw, times, kt', maxima.FIELDS, complete)

-- Writes to `to` where the windows of a dimension begin (from 0), for a sample between 0 and 1, rounded in the tensor's
-- type as in Torch7. distance: the stride of the dimension
local function begin_axis(to, axis, distance, sample, cast)
   local last = axis.size - axis.span
   local step = cast(last / (axis.count - 1))
   local first = floor(cast(sample * step))
   for k = 0, axis.count - 2 do to[k] = (floor(cast(cast(k + sample) * step)) - first) * distance end
   to[axis.count - 1] = last * distance
end

-- Where the windows begin, over all planes, and within their plane (from 1), in two scratch buffers; nil if a sample is
-- not between 0 and 1.
local function lay_out(g, samples)
   local time, row, column, T, k = g.time, g.row, g.column, samples.T, 0
   local begins, places = room('begins', g.n), room('places', g.n)
   local frames, rows, columns = room('frames', time.count), room('rows', row.count), room('columns', column.count)
   local u, get, cast, width, axes = memory.first_element(samples), T.get, T.cast, column.size, g.kt and 3 or 2
   frames[0] = 0
   for plane = 0, g.planes - 1 do
      local at = plane * axes
      local x, y, z = get(u, at), get(u, at + 1), axes == 3 and get(u, at + 2) or 0
      if not (x >= 0 and x <= 1 and y >= 0 and y <= 1 and z >= 0 and z <= 1) then
         return no 'a sample that is not between 0 and 1'
      end
      begin_axis(columns, column, 1, x, cast)
      begin_axis(rows, row, width, y, cast)
      if g.kt then begin_axis(frames, time, row.size * width, z, cast) end
      for t = 0, time.count - 1 do
         for r = 0, row.count - 1 do
            local line = frames[t] + rows[r]
            for c = 0, column.count - 1 do
               local place = line + columns[c]
               begins[k], places[k] = plane * g.pixels + place, place + 1
               k = k + 1
            end
         end
      end
   end
   return begins, places
end

-- a to d: the numbers of windows and their sizes along rows and columns; for volumes, a to f: along time, too
function luajit.fractional_max_pooling(out, places, x, samples, a, b, c, d, e, f)
   local axes = e and 3 or 2
   local g = maxima.are_for_lua(out, places, x, axes)
      and (e and geometry_of(x, b, c, e, f, a, d) or not e and geometry_of(x, a, b, c, d))
   if not g or not gates.plain(samples, x.T) then return false end
   if samples.nd ~= 3 or samples[1] * samples[3] ~= g.planes or x.nd == axes + 2 and samples[1] ~= x[1]
      or samples[5] ~= axes then
      return no 'samples of other sizes'
   end
   local begins, first_places = lay_out(g, samples)
   return begins and maxima.find(out, places, x, g, begins, first_places)
end

function luajit.fractional_max_pooling_grad_input(gradient, x, grad_output, indices, axes)
   return maxima.may_add(gradient, x, grad_output, indices) and gates.planes(x, axes, grad_output)
      and maxima.add_gradients(gradient, x, grad_output, indices, axes)
end
