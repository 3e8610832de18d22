-- Computes with the package signal: th probe_signal.lua OUT.t7
local signal = require 'signal'
torch.manualSeed(3)
local results = {}
local function keep(name, ...)
   local values = { ... }
   for place, value in ipairs(values) do values[place] = torch.isTensor(value) and value:clone() or value end
   results[#results + 1] = { name = name, values = values }
end

for _, kind in ipairs{ 'torch.DoubleTensor', 'torch.FloatTensor' } do
   local function random(...) return torch.randn(...):type(kind) end
   for _, n in ipairs{ 8, 7 } do
      local x, c = random(n), random(n, 2)
      for _, name in ipairs{ 'fft', 'ifft', 'hilbert', 'rfft', 'dct', 'idct' } do
         keep(name, signal[name](x))
      end
      for _, name in ipairs{ 'fft', 'ifft', 'irfft' } do keep(name, signal[name](c)) end
      keep('irfft', signal.irfft(signal.rfft(x), n))
      local m = random(5, n)
      for _, name in ipairs{ 'fft2', 'ifft2', 'fftM', 'ifftM', 'rfft2', 'rfftM', 'dct2', 'idct2' } do keep(name, signal[name](m)) end
      local mc = random(5, n, 2)
      for _, name in ipairs{ 'fft2', 'ifft2', 'fftM', 'irfftM' } do keep(name, signal[name](mc)) end
      local v = random(3, 2, n)
      for _, name in ipairs{ 'fft3', 'ifft3', 'dct3', 'idct3' } do keep(name, signal[name](v)) end
   end
   local long = random(50)
   for _, window in ipairs{ 'rect', 'hamming', 'hann', 'bartlett' } do
      keep('stft', signal.stft(long:clone(), 16, 8, window))
      keep('rstft', signal.rstft(long:clone(), 16, 8, window))
   end
   keep('spectrogram', signal.spectrogram(long, 16, 7))
   keep('conv1d', signal.conv1d(long, random(5), 3))
   keep('conv1d same', signal.conv1d(long:narrow(1, 1, 40), torch.Tensor{ 1 }, 4, 'same'))
   output = nil -- the original's spectrogram leaves this global, and its dwt1d takes it up
   local phi, psi = signal.wavelet.haar1d()
   local coefficients, rest = signal.wavelet.dwt1d(random(16), phi, psi)
   keep('dwt1d', rest, unpack(coefficients))
end

for _, name in ipairs{ 'hann', 'blackman', 'blackmanharris' } do
   for _, flag in ipairs{ 'periodic', 'symmetric' } do
      keep(name, signal[name](9, flag))
      keep(name, signal[name](8, flag))
   end
end
local x = torch.randn(20)
local phase = torch.randn(20):cumsum():mul(3)
keep('unwrap', signal.unwrap(phase))
keep('unwrap', signal.unwrap(phase, 1))
keep('rcunwrap', signal.rcunwrap(phase))
keep('rcwrap', signal.rcwrap(phase, 2))
local cepstrum, lag = signal.cceps(x)
keep('cceps', cepstrum, lag)
keep('icceps', signal.icceps(cepstrum, lag))

local complex = signal.complex
local a, b = torch.randn(4, 2), torch.randn(4, 2)
for _, name in ipairs{ 'angle', 'exp', 'abs', 'real', 'imag', 'conj', 'prod' } do keep(name, complex[name](a)) end
keep('abs', complex.abs(torch.randn(3, 4, 2)))
keep('cmul', complex.cmul(a, b))
keep('cmul', complex.cmul(torch.randn(3), torch.randn(3)))
keep('dot', complex.dot(a, b))
keep('mm', complex.mm(torch.randn(2, 3, 2), torch.randn(3, 4, 2)))
keep('diag', complex.diag(torch.randn(3, 3, 2)))
keep('poly', complex.poly(torch.Tensor{ 12, 2, 9, 16 }))
torch.save(arg[1], results)
