-- Complex numbers in tensors whose last dimension has size 2: the real and imaginary parts.
require 'torch'
local complex = {}

function complex.real(t) return t:select(t:dim(), 1) end

function complex.imag(t) return t:select(t:dim(), 2) end

local function check(t, dims, what)
   if t:dim() ~= dims or t:size(dims) ~= 2 then error(what, 3) end
end

function complex.angle(t) return torch.atan2(complex.imag(t), complex.real(t)) end

function complex.abs(t)
   if t:dim() < 2 or t:dim() > 3 or t:size(t:dim()) ~= 2 then error('unsupported dimensions', 2) end
   return torch.cmul(complex.real(t), complex.real(t)):add(torch.cmul(complex.imag(t), complex.imag(t))):sqrt()
end

function complex.exp(t)
   local result, size = t:clone(), torch.exp(complex.real(t))
   complex.real(result):copy(torch.cos(complex.imag(t)):cmul(size))
   complex.imag(result):copy(torch.sin(complex.imag(t)):cmul(size))
   return result
end

function complex.conj(t)
   local result = t:clone()
   complex.imag(result):mul(-1)
   return result
end

-- The product of two numbers, or the elementwise product.
local function multiply(a, b)
   local result = a:clone()
   complex.real(result):copy(torch.cmul(complex.real(a), complex.real(b)) - torch.cmul(complex.imag(a),
      complex.imag(b)))
   complex.imag(result):copy(torch.cmul(complex.real(a), complex.imag(b))
      + torch.cmul(complex.imag(a), complex.real(b)))
   return result
end

local function with_imaginary(t)
   if t:dim() == 1 then
      local result = torch.DoubleTensor(t:size(1), 2):zero()
      complex.real(result):copy(t)
      return result
   end
   check(t, 2, 'Input has to be 1D Tensor of size N (real) or 2D Tensor of size Nx2 (complex)')
   return t
end

function complex.cmul(a, b) return multiply(with_imaginary(a), with_imaginary(b)) end

-- The product of all elements.
function complex.prod(t)
   local result = t:narrow(1, 1, 1):clone()
   for place = 2, t:size(1) do result = multiply(result, t:narrow(1, place, 1)) end
   return result
end

function complex.dot(a, b)
   check(a, 2, 'Inputs have to be 2D Tensor of size Nx2 (complex 1D tensor)')
   check(b, 2, 'Inputs have to be 2D Tensor of size Nx2 (complex 1D tensor)')
   if a:size(1) ~= b:size(1) then error('Both inputs need to have same number of elements', 2) end
   return multiply(a, b):sum(1)
end

function complex.mm(a, b)
   check(a, 3, 'Inputs have to be 3D Tensor of size NxMx2 (complex 2D tensor)')
   check(b, 3, 'Inputs have to be 3D Tensor of size NxMx2 (complex 2D tensor)')
   if a:size(2) ~= b:size(1) then error('Matrix-Matrix product requires NxM and MxP matrices.', 2) end
   local result = a.new(a:size(1), b:size(2), 2)
   local ar, ai, br, bi = complex.real(a), complex.imag(a), complex.real(b), complex.imag(b)
   complex.real(result):copy(torch.mm(ar, br) - torch.mm(ai, bi))
   complex.imag(result):copy(torch.mm(ar, bi) + torch.mm(ai, br))
   return result
end

-- The diagonal of a matrix, or a matrix with the given diagonal.
function complex.diag(t)
   if t:dim() ~= 2 and t:dim() ~= 3 then
      error('Input has to be 2D Tensor of size Nx2 or 3D Tensor of size NxMx2', 2)
   end
   check(t, t:dim(), 'Input has to be 2D Tensor of size Nx2 or 3D Tensor of size NxMx2')
   local real, imaginary = torch.diag(complex.real(t)), torch.diag(complex.imag(t))
   local size = real:size():totable()
   size[#size + 1] = 2
   local result = t.new(torch.LongStorage(size))
   complex.real(result):copy(real)
   complex.imag(result):copy(imaginary)
   return result
end

-- The coefficients of the polynomial with the given roots, or with a matrix's eigenvalues as roots; real if the roots
-- are real or in conjugate pairs.
function complex.poly(t)
   local roots
   if t:dim() == 2 and t:size(1) == t:size(2) then
      roots = torch.eig(t)
   elseif t:dim() == 1 then
      roots = with_imaginary(t)
   else
      error('Input should be a 1D Tensor or a 2D square tensor', 2)
   end
   local count = roots:size(1)
   local coefficients = torch.zeros(count + 1, 2)
   coefficients[1][1] = 1
   for place = 1, count do
      local root = roots:narrow(1, place, 1)
      for power = place + 1, 2, -1 do
         local lower = coefficients:narrow(1, power - 1, 1)
         coefficients:narrow(1, power, 1):add(-1, multiply(lower, root))
      end
   end
   local imaginary = complex.imag(roots)
   local above, below = torch.sort(imaginary[imaginary:ge(0)]), torch.sort(imaginary[imaginary:le(0)])
   if t:dim() == 1 or (above:nElement() == below:nElement() and above:nElement() > 0
      and (above + torch.sort(below, 1, true)):abs():max() == 0) then
      return complex.real(coefficients)
   end
   return coefficients
end

return complex
