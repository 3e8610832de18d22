-- Phase unwrapping, and cepstra.
local round = require('signal.extramath').round
local complex = require 'signal.complex'
local fft = require 'signal.fft'

local phases = {}

local function vector(t)
   if t:dim() ~= 1 then error('Input has to be 1D tensor', 3) end
   return t:clone()
end

-- Adds multiples of 2 pi where neighbours differ by more than a tolerance (default pi).
function phases.unwrap(t, tolerance)
   local result = vector(t)
   tolerance = math.abs(tolerance or math.pi)
   for place = 2, result:size(1) do
      local step = result[place] - result[place - 1]
      if math.abs(step) > tolerance then
         result[place] = result[place] - 2 * math.pi * math.ceil((step - tolerance) / (2 * math.pi))
      end
   end
   return result
end

local function half_of(t) return math.floor((t:size(1) + 1) / 2) end

-- Adds a line from 0 at the start to `turns` half turns at the middle.
local function add_lag(t, turns)
   local half = half_of(t)
   for place = 1, t:size(1) do t[place] = t[place] + math.pi * turns * (place - 1) / half end
   return t
end

-- Unwraps t, and removes the phase of a lag by whole samples. Also returns this lag.
function phases.rcunwrap(t)
   local result = phases.unwrap(vector(t))
   local lag = round(result[half_of(result) + 1] / math.pi)
   if lag == 0 then return result, lag end
   return add_lag(result, -lag), lag
end

function phases.rcwrap(t, lag)
   local result = vector(t)
   return (lag or 0) == 0 and result or add_lag(result, lag)
end

-- The complex cepstrum, and the lag that icceps needs.
function phases.cceps(t)
   local spectrum = fft.fft(t)
   local logarithm = spectrum:clone()
   logarithm:select(2, 1):copy(complex.abs(spectrum):log())
   local unwrapped, lag = phases.rcunwrap(complex.angle(spectrum))
   logarithm:select(2, 2):copy(unwrapped)
   return complex.real(fft.ifft(logarithm)), lag
end

function phases.icceps(t, lag)
   local logarithm = fft.fft(vector(t))
   logarithm:select(2, 2):copy(phases.rcwrap(complex.imag(logarithm), lag))
   return complex.real(fft.ifft(complex.exp(logarithm)))
end

-- The real cepstrum.
function phases.rceps(t)
   return complex.real(fft.ifft(complex.abs(fft.fft(vector(t))):log()))
end

return phases
