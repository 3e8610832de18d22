-- Wavelets.
local conv1d = require('signal.convolution').conv1d

local wavelet = {}

-- Haar's scaling function and wavelet: half the sums and differences of neighbours.
function wavelet.haar1d()
   local function filter(a, b)
      return function(t) return conv1d(t, torch.Tensor{ a, b }:typeAs(t), 2) end
   end
   return filter(0.5, 0.5), filter(0.5, -0.5)
end

function wavelet.daubechies1d() error('implementation not finished', 2) end

-- The coefficients of each level, in a table, and the rest of the signal, which is padded with zeros to a power of 2.
function wavelet.dwt1d(t, scaling, wave, most_levels)
   local levels = math.ceil(math.log(t:size(1)) / math.log(2) - 1e-9)
   local rest = t.new(2 ^ levels):zero()
   rest:narrow(1, 1, t:size(1)):copy(t)
   local coefficients = {}
   for _ = 1, math.min(levels, most_levels or levels) do
      coefficients[#coefficients + 1] = wave(rest)
      rest = scaling(rest)
   end
   return coefficients, rest
end

return wavelet
