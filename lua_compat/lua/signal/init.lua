-- The package signal (torch-signal): transforms, windows, spectrograms and cepstra of signals. A complex signal has a
-- last dimension of size 2. Its modules can also be required one by one, as signal.fft etc.
require 'torch'

local signal = {}

for _, part in ipairs{ 'convolution', 'fft', 'windows', 'phases' } do
   for name, f in pairs(require('signal.' .. part)) do signal[name] = f end
end
signal.complex = require 'signal.complex'
signal.wavelet = require 'signal.wavelet'

return signal
