-- The package signal (torch-signal): transforms, windows, spectrograms and cepstra of signals. A complex signal has a
-- last dimension of 2. Its modules can be required one by one, as signal.fft and so on.
require 'torch'

local signal = {}

for _, part in ipairs{ 'convolution', 'fft', 'windows', 'phases' } do
   for name, f in pairs(require('signal.' .. part)) do signal[name] = f end
end
signal.complex = require 'signal.complex'
signal.wavelet = require 'signal.wavelet'

return signal
