-- Fourier and cosine transforms, with FFTW's conventions, by PyTorch.
local kernel = require('torch.core.kernels').of_tensors

local fft = {}

local function check(t)
   local kind = torch.type(t)
   if kind ~= 'torch.DoubleTensor' and kind ~= 'torch.FloatTensor' then
      error(('Input has to be a FloatTensor or a DoubleTensor, not %s'):format(kind), 4)
   end
end

local SIZES = { 'N', 'MxN', 'MxNxP' }

-- t with real and imaginary parts; a real t gets imaginary parts of zero.
local function complex(t, dims, batch)
   check(t)
   local whole = dims + (batch and 1 or 0)
   if t:dim() == whole then
      local size = t:size():totable()
      size[whole + 1] = 2
      local pairs_of = t.new(torch.LongStorage(size)):zero()
      pairs_of:select(whole + 1, 1):copy(t)
      return pairs_of
   end
   if t:dim() == whole + 1 and t:size(whole + 1) == 2 then return t end
   local size = batch and 'BxN' or SIZES[dims]
   error(('Input has to be %dD Tensor of size %s (real) or %dD Tensor of size %sx2 (complex)'):format(whole, size,
      whole + 1,
      size), 3)
end

local function transform(dims, inverse, batch)
   return function(t)
      local result = t.new()
      kernel.signal_fft(result, complex(t, dims, batch), dims, inverse)
      return result
   end
end

fft.fft, fft.ifft = transform(1, false), transform(1, true)
fft.fft2, fft.ifft2 = transform(2, false), transform(2, true)
fft.fft3, fft.ifft3 = transform(3, false), transform(3, true)
-- for every row
fft.fftM, fft.ifftM = transform(1, false, true), transform(1, true, true)

local function real_transform(dims, whole)
   return function(t)
      check(t)
      if t:dim() ~= whole then error(('Input has to be %dD Tensor of real numbers'):format(whole), 2) end
      local result = t.new()
      kernel.signal_real_fft(result, t, dims)
      return result
   end
end

local function real_inverse(dims, whole)
   return function(t, size)
      check(t)
      if t:dim() ~= whole + 1 or t:size(whole + 1) ~= 2 then
         error(('Input has to be %dD Tensor whose last dimension has size 2 (complex)'):format(whole + 1), 2)
      end
      local result = t.new()
      kernel.signal_real_inverse(result, t, dims, size or (t:size(whole) - 1) * 2)
      return result
   end
end

fft.rfft, fft.irfft = real_transform(1, 1), real_inverse(1, 1)
fft.rfft2, fft.irfft2 = real_transform(2, 2), real_inverse(2, 2)
fft.rfftM, fft.irfftM = real_transform(1, 2), real_inverse(1, 2)

local function cosine(dims, inverse)
   return function(t)
      check(t)
      if t:dim() ~= dims then error(('Input has to be %dD Tensor of size %s'):format(dims, SIZES[dims]), 2) end
      local result = t.new()
      kernel.signal_cosine(result, t, inverse)
      return result
   end
end

fft.dct, fft.idct = cosine(1, false), cosine(1, true)
fft.dct2, fft.idct2 = cosine(2, false), cosine(2, true)
fft.dct3, fft.idct3 = cosine(3, false), cosine(3, true)

-- The analytic signal: negative frequencies are removed.
function fft.hilbert(t)
   check(t)
   if t:dim() ~= 1 then error('Input has to be 1D tensor', 2) end
   local n = t:size(1)
   local spectrum = fft.fft(t)
   local half = math.floor(n / 2)
   local last_doubled = n % 2 == 0 and half or half + 1
   if last_doubled >= 2 then spectrum:sub(2, last_doubled):mul(2) end
   if n > half + 1 then spectrum:sub(math.max(half + 2, last_doubled + 1), n):zero() end
   return fft.ifft(spectrum)
end

return fft
