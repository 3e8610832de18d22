-- Window functions, and transforms of a signal window by window.
local fft = require 'signal.fft'

local windows = {}

-- The first `size` of `points` values of f(angle), for angles around a full circle.
local function around(size, points, f)
   local window = torch.zeros(size)
   for place = 1, size do window[place] = f(2 * math.pi * (place - 1) / points) end
   return window
end

local function points_of(size, flag) return flag == 'periodic' and size or size - 1 end

function windows.hann(size, flag)
   return around(size, points_of(size, flag), function(angle) return 0.5 * (1 - math.cos(angle)) end)
end

function windows.blackman(size, flag)
   if size == 1 then return torch.Tensor{ 1 } end
   return around(size, points_of(size, flag), function(angle)
      return 0.42 - 0.5 * math.cos(angle) + 0.08 * math.cos(2 * angle)
   end)
end

function windows.blackmanharris(size, flag)
   return around(size, points_of(size, flag), function(angle)
      return 0.35875 - 0.48829 * math.cos(angle) + 0.14128 * math.cos(2 * angle) - 0.01168 * math.cos(3 * angle)
   end)
end

local SHAPES = {
   hamming = function(place, last) return 0.53836 - 0.46164 * math.cos(2 * math.pi * place / last) end,
   hann = function(place, last) return 0.5 - 0.5 * math.cos(2 * math.pi * place / last) end,
   bartlett = function(place, last) return 2 / last * (last / 2 - math.abs(place - last / 2)) end,
}

-- The factors that a window applies to a piece; nil for no window.
local function factors_of(kind, size)
   local shape = SHAPES[kind]
   if not shape then return nil end
   local factors = torch.DoubleTensor(size)
   for place = 1, size do factors[place] = shape(place - 1, size - 1) end
   return factors
end

local function by_window(transform, outputs_of, in_place)
   return function(signal, size, stride, kind)
      if signal:dim() ~= 1 then error('Need 1D Tensor input', 2) end
      local count = math.floor((signal:size(1) - size) / stride + 1)
      local result = signal.new(count, outputs_of(size), 2)
      local factors = factors_of(kind, size)
      for number = 1, count do
         local piece = signal:narrow(1, (number - 1) * stride + 1, size)
         if not in_place then piece = piece:clone() end
         if factors then piece:copy(piece:double():cmul(factors)) end
         result[number]:copy(transform(piece))
      end
      return result
   end
end

windows.stft = by_window(fft.fft, function(size) return size end)
-- As in torch-signal, the windows are applied to the signal itself, so overlapping ones multiply.
windows.rstft = by_window(fft.rfft, function(size) return math.floor(size / 2 + 1) end, true)

local FLOOR = 0.01 -- avoids the logarithm of 0

-- Frequencies by window: 10 log(|rstft|^2).
function windows.spectrogram(signal, size, stride)
   local power = windows.rstft(signal, size, stride):pow(2):sum(3):select(3, 1)
   return power:add(FLOOR):log():mul(10):t()
end

return windows
