-- Maxima of windows of frames of short sequences.
local types = require 'torch.core.types'
local few = require 'torch.luajit.elementwise'
local ways = require 'torch.core.ways'
local is_apart = require('torch.core.overlap').is_apart
local scratch = require 'nn.shared.luajit.scratch'
local sequences_of = require 'nn.shared.luajit.sequences'

local luajit = ways.luajit
local plain, begin = scratch.plain, scratch.begin
local sizes, windows_of = sequences_of.sizes, sequences_of.windows

-- Maxima of windows of frames, and where they are in their windows, from 0: the first of several; a NaN is none.
local function maxima(out, places, x, span, step)
   local T = x.T
   local windows = windows_of(x, span, step)
   if not windows or not T.real or out.T ~= T or places.T.host ~= types.Long or not plain(x, T)
      or not is_apart(out, x) then
      return false
   end
   local sequences, frames, features = sizes(x)
   if sequences * windows * span * features > 4 * few.LIMIT then return false end
   if not begin(out, x, windows, features) or not begin(places, x, windows, features) then return false end
   local p, q, at, get = out.S.p + out.off, x.S.p + x.off, places.S.p + places.off, T.get
   local to, least = 0, T.size == 8 and -1.7976931348623157e308 or -3.4028234663852886e38
   for s = 0, sequences - 1 do
      for w = 0, windows - 1 do
         local from = (s * frames + w * step) * features
         for f = 0, features - 1 do
            local best, place, first = least, -1, from + f -- as in Torch7 where there is nothing greater
            for k = 0, span - 1 do
               local value = get(q, first + k * features)
               if value > best then best, place = value, k end
            end
            p[to], at[to] = best, place
            to = to + 1
         end
      end
   end
   return true
end

luajit.temporal_max_pooling = maxima
