-- Max-pooling over windows of frames of short sequences.
local memory = require 'torch.core.memory'
local few = require 'torch.luajit.elementwise'
local luajit, no = require('torch.core.ways').of_kernels()
local gates = require 'nn.shared.luajit.gates'
local maxima = require 'nn.pooling.luajit.maxima'
local sequences_of = require 'nn.shared.luajit.sequences'

local first_element, place, tonumber = memory.first_element, few.place, tonumber

local MOST = 2 ^ 13 -- elements of windows

-- The maxima, and their positions in the windows (from 0), the first of equal ones. NaN never wins.
function luajit.temporal_max_pooling(out, places, x, span, step)
   local T, windows = x.T, sequences_of.windows(x, span, step)
   if not windows or not gates.indices(places) then return false end
   local sequences, frames, features = sequences_of.sizes(x)
   if not (gates.within(sequences * windows * span * features, MOST, 'more than %d elements of windows')
      and gates.result(out, x, windows, features) and gates.begun(places, x, windows, features)) then
      return false
   end
   local p, q, at, get = first_element(out), first_element(x), first_element(places), T.get
   local to, least = 0, T.size == 8 and -1.7976931348623157e308 or -3.4028234663852886e38
   for s = 0, sequences - 1 do
      for w = 0, windows - 1 do
         local from = (s * frames + w * step) * features
         for f = 0, features - 1 do
            local best, place_of_best, first = least, -1, from + f -- Torch7's position if nothing is greater
            for k = 0, span - 1 do
               local value = get(q, first + k * features)
               if value > best then best, place_of_best = value, k end
            end
            p[to], at[to] = best, place_of_best
            to = to + 1
         end
      end
   end
   return true
end

-- Positions count from 0 within each window.
function luajit.temporal_max_pooling_grad_input(gradient, x, grad_output, indices, span, step)
   local windows = sequences_of.windows(x, span, step)
   if not windows or not maxima.may_add(gradient, x, grad_output, indices) then return false end
   local _, frames, features = sequences_of.sizes(x)
   if not gates.sized(grad_output, x, windows, features) then return false end
   local q, places, get, n = first_element(grad_output), first_element(indices), x.T.get, memory.count(grad_output)
   for k = 0, n - 1 do
      local at = tonumber(places[k])
      if not (at >= 0 and at < span) then return no 'a place outside its window' end
   end
   if not gates.resized_as(gradient, x) or not few.zero(gradient, memory.count(x)) then return false end
   local p, per_sequence = first_element(gradient), windows * features
   for k = 0, n - 1 do
      local sequence, window, feature = math.floor(k / per_sequence), math.floor(k % per_sequence / features),
         k % features
      local frame = window * step + place(places, k, span - 1, 0)
      local at = (sequence * frames + frame) * features + feature
      p[at] = get(p, at) + get(q, k)
   end
   return true
end
