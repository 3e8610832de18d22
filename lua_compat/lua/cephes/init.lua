-- The package cephes (torch-cephes): special functions of numbers and, elementwise, of tensors, by scipy.special.
require 'torch'
local ffi = require 'ffi'
local python = require('th.python').functions
local kernel = require('torch.core.kernels').of_tensors
local gather = require 'th.elementwise'

-- ffi: the functions of the compiled library, which torch-cephes also offers under this name; here they are the same
cephes = { nan = 0 / 0 }
cephes.ffi = setmetatable({}, { __index = function(_, name) return cephes[name] end })

pcall(ffi.cdef, 'typedef struct { double r; double i; } cmplx;')

function cephes.new_cmplx(re, im) return ffi.new('cmplx', { re, im }) end

local LEVELS = { off = 'off', [0] = 'off', err = 'error', error = 'error', warn = 'warning', warning = 'warning',
   'error', 'warning' }
local level = 'off'

-- Sets whether a function's warnings are ignored ('off'), raised as errors ('error') or printed ('warning').
function cephes.setErrorLevel(wanted)
   level = LEVELS[wanted] or error("Unknown error level, please choose 'off'/0, 'err'/'error'/1, 'warning'/'warn'/2", 2)
end

function cephes.getErrorLevel() return level end

local function define(name, letters)
   cephes[name] = function(...)
      local result, parameters, size, numbers = gather('cephes', name, #letters, ...)
      if result and size == 1 and result:nElement() > 1 then
         error('If you have constant arguments, please do not provide a result tensor with size greater than one', 2)
      end
      local computed = torch.DoubleTensor(size)
      local problem = kernel.cephes_function(computed, name, level ~= 'off', unpack(parameters))
      if problem then
         local said = ("Cephes error '%s'"):format(problem)
         if level == 'error' then error(said, 2) end
         print('CEPHES WARNING:', said)
      end
      if numbers then return computed[1] end
      if result then return result:copy(computed:viewAs(result)) end
      return computed
   end
end

local function define_complex(name)
   cephes[name] = function(a, b, c)
      if name == 'cneg' then
         a.r, a.i = -a.r, -a.i
      elseif c then
         c.r, c.i = python.cephes_complex(name, a.r, a.i, b.r, b.i)
      else
         b.r, b.i = python.cephes_complex(name, a.r, a.i)
      end
   end
end

for name, letters in python.cephes_names():gmatch('(%w+):(%w+)') do
   if letters == 'complex' then define_complex(name) else define(name, letters) end
end

function cephes.cabs(z) return cephes.hypot(z.r, z.i) end

-- Functions with several results write them through pointers, and return 0. inputs: the number of arguments before
-- these.
local function define_several(name, inputs)
   cephes[name] = function(...)
      local arguments = { ... }
      local results = { python.cephes_values(name, unpack(arguments, 1, inputs)) }
      for place, value in ipairs(results) do arguments[inputs + place][0] = value end
      return 0
   end
end
define_several('airy', 1)
define_several('fresnl', 1)
define_several('shichi', 1)
define_several('sici', 1)
define_several('ellpj', 2)

function cephes.frexp(x, exponent)
   local mantissa
   mantissa, exponent[0] = python.cephes_values('frexp', x)
   return mantissa
end

function cephes.sincos(x, s, c)
   s[0], c[0] = cephes.sindg(x), cephes.cosdg(x)
   return 0
end

-- Polynomials whose coefficients are in a C array: highest power first (polevl; p1evl omits a leading 1), lowest power
-- first (poleva), or Chebyshev polynomials, highest first (chbevl).
function cephes.polevl(x, coefficients, degree)
   local value = 0
   for place = 0, degree do value = value * x + coefficients[place] end
   return value
end

function cephes.p1evl(x, coefficients, degree)
   local value = 1
   for place = 0, degree - 1 do value = value * x + coefficients[place] end
   return value
end

function cephes.poleva(coefficients, degree, x)
   local value = 0
   for place = degree, 0, -1 do value = value * x + coefficients[place] end
   return value
end

function cephes.chbevl(x, coefficients, count)
   local b0, b1, b2 = coefficients[0], 0, 0
   for place = 1, count - 1 do b0, b1, b2 = x * b0 - b1 + coefficients[place], b0, b1 end
   return 0.5 * (b0 - b2)
end

function cephes.isnan(x) return x ~= x end

function cephes.isinf(x) return x == math.huge or x == -math.huge end

function cephes.isfinite(x) return not cephes.isinf(x) and not cephes.isnan(x) end

cephes.digamma = cephes.psi

function cephes.cmov(from, to) to.r, to.i = from.r, from.i end

require 'cephes.polynomials'

-- The m-th derivative of psi.
function cephes.polygamma(m, x)
   if m == 0 then return cephes.psi(x) end
   return (-1) ^ (m + 1) * cephes.gamma(m + 1) * cephes.zeta(m + 1, x)
end

-- The partial derivative of beta(x, y) with respect to x.
function cephes.betagrad(x, y) return cephes.beta(x, y) * (cephes.digamma(x) - cephes.digamma(x + y)) end

-- The multivariate gamma function of dimension p, and its logarithm.
function cephes.lmvgam(x, p)
   local value = p * (p - 1) / 4 * math.log(math.pi)
   for j = 1, p do value = value + cephes.lgam(x + (1 - j) / 2) end
   return value
end

function cephes.mvgam(x, p) return cephes.exp(cephes.lmvgam(x, p)) end

return setmetatable(cephes, { __index = function(_, name)
   error(("cephes.%s is not among the functions that scipy computes for th"):format(tostring(name)), 2)
end })
