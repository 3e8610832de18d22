-- Max-pooling of windows at random places of few images and volumes, computed here, as nn/pooling/luajit/maxima.lua
-- says.
local memory = require 'torch.core.memory'
local blas = require 'torch.luajit.blas'
local ways = require 'torch.core.ways'
local rooms = require 'nn.shared.luajit.scratch'
local maxima = require 'nn.pooling.luajit.maxima'

local luajit = ways.luajit
local floor, count = math.floor, memory.count
local time, row, column, begins, places_of_begins = maxima.time, maxima.row, maxima.column, maxima.begins,
   maxima.places_of_begins

-- Sets a dimension: `windows` windows of `span` numbers; whether that is usual.
local function set(axis, size, windows, span)
   axis.size, axis.count, axis.span, axis.dilation, axis.reach = size, windows, span, 1, size
   return span % 1 == 0 and span >= 1 and windows % 1 == 0 and windows >= 1 and windows + span - 1 < size
end

-- Fills `to` with where the windows of a dimension begin (from 0), for a sample between 0 and 1: as Torch7 rounds, in
-- numbers of the type. distance: from one number to the next
local function begin_axis(to, axis, distance, sample, cast)
   local last = axis.size - axis.span
   local step = cast(last / (axis.count - 1))
   local first = floor(cast(sample * step))
   for k = 0, axis.count - 2 do to[k] = (floor(cast(cast(k + sample) * step)) - first) * distance end
   to[axis.count - 1] = last * distance
end

local frames, rows, columns = maxima.new_begins(), maxima.new_begins(), maxima.new_begins()

-- Fills where the windows begin; whether all samples are between 0 and 1. axes: how many of time, row and column there
-- are
local function lay_out(samples, planes, axes)
   local T, k = samples.T, 0
   local u, get, cast = samples.S.p + samples.off, T.get, T.cast
   local height, width = row.size, column.size
   for plane = 0, planes - 1 do
      local at = plane * axes
      local x, y, z = get(u, at), get(u, at + 1), axes == 3 and get(u, at + 2) or 0
      if not (x >= 0 and x <= 1 and y >= 0 and y <= 1 and z >= 0 and z <= 1) then return false end
      begin_axis(columns, column, 1, x, cast)
      begin_axis(rows, row, width, y, cast)
      begin_axis(frames, time, height * width, z, cast)
      local first = plane * time.size * height * width
      for t = 0, time.count - 1 do
         for r = 0, row.count - 1 do
            local line = frames[t] + rows[r]
            for c = 0, column.count - 1 do
               local place = line + columns[c]
               begins[k], places_of_begins[k] = first + place, place + 1
               k = k + 1
            end
         end
      end
   end
   return true
end

local function pool(out, places, x, samples, axes)
   local planes = count(x) / (time.size * row.size * column.size)
   local windows, taps = time.count * row.count * column.count, time.span * row.span * column.span
   if taps > maxima.MOST_TAPS or planes * windows > maxima.MOST_WINDOWS or not blas.reads_plainly(x, true) then
      return false
   end
   if samples.nd ~= 3 or samples[1] * samples[3] ~= planes or x.nd == axes + 2 and samples[1] ~= x[1]
      or samples[5] ~= axes then
      return false
   end
   if not rooms.plain(samples, x.T) or not lay_out(samples, planes, axes) then return false end
   local begin = axes == 3 and rooms.begin_volumes or rooms.begin
   if not begin(out, x, row.count, column.count, nil, time.count) then return false end
   if not begin(places, x, row.count, column.count, nil, time.count) then return false end
   maxima.set_taps()
   return maxima.find(out, places, x.S.p + x.off, planes * windows, taps)
end

local function of_images(out, places, x, samples, rows, columns, kh, kw)
   local nd = x.nd
   if not maxima.are_for_lua(out, places, x, 2) then return false end
   maxima.one_frame()
   return set(row, x[2 * nd - 3], rows, kh) and set(column, x[2 * nd - 1], columns, kw)
      and pool(out, places, x, samples, 2)
end

local function of_volumes(out, places, x, samples, frames, rows, columns, kt, kh, kw)
   local nd = x.nd
   return maxima.are_for_lua(out, places, x, 3) and set(time, x[2 * nd - 5], frames, kt)
      and set(row, x[2 * nd - 3], rows, kh)
      and set(column, x[2 * nd - 1], columns, kw) and pool(out, places, x, samples, 3)
end

function luajit.fractional_max_pooling(out, places, x, samples, a, b, c, d, e, f)
   if e then return of_volumes(out, places, x, samples, a, b, c, d, e, f) end
   return of_images(out, places, x, samples, a, b, c, d)
end
