-- Prints what the package cephes computes: th probe_cephes.lua > cephes.txt
require 'cephes'

local function show(name, ...)
   local value = cephes[name](...)
   print(name, table.concat({ ... }, ' '), ('%.10g'):format(value))
end

local places = { 0.2, 0.7, 1, 2.5, 4 }
for _, name in ipairs{ 'gamma', 'lgam', 'ndtr', 'erf', 'erfc', 'log1p', 'expm1', 'cosm1', 'dawsn', 'ei', 'psi', 'rgamma',
   'spence', 'i0', 'i0e', 'i1', 'i1e', 'j0', 'j1', 'y0', 'y1', 'k0', 'k0e', 'k1', 'k1e', 'cbrt', 'exp2', 'exp10', 'round',
   'sindg', 'cosdg', 'tandg', 'cotdg', 'kolmogorov', 'asinh', 'atan', 'ceil', 'cos', 'cosh', 'exp', 'fabs', 'floor', 'log',
   'log10', 'log2', 'sin', 'sinh', 'sqrt', 'tan', 'tanh', 'cot', 'signbit' } do
   for _, x in ipairs(places) do show(name, x) end
end
for _, name in ipairs{ 'ndtri', 'ellpe', 'ellpk', 'acos', 'asin', 'atanh', 'kolmogi' } do
   for _, x in ipairs{ 0.05, 0.3, 0.7 } do show(name, x) end
end
for _, x in ipairs{ 1.5, 3, 6 } do show('zetac', x) show('acosh', x) end
for _, n in ipairs{ 0, 1, 4, 9 } do show('fac', n) end
for _, name in ipairs{ 'igam', 'igamc', 'beta', 'lbeta', 'iv', 'jv', 'atan2', 'hypot', 'pow', 'struve' } do
   for _, pair in ipairs{ { 0.5, 1.2 }, { 2, 0.4 }, { 3.5, 2 } } do show(name, unpack(pair)) end
end
show('igami', 2, 0.3) show('igami', 0.7, 0.9)
for _, name in ipairs{ 'ellie', 'ellik' } do show(name, 0.5, 0.3) show(name, 1.2, 0.8) end
for _, name in ipairs{ 'chdtr', 'chdtrc', 'chdtri' } do show(name, 2, 0.4) show(name, 3.5, 0.2) end
show('zeta', 2, 3) show('zeta', 1.5, 0.4)
for _, name in ipairs{ 'pdtr', 'pdtrc', 'stdtr', 'jn', 'kn', 'yn' } do show(name, 2, 0.6) show(name, 5, 1.7) end
for _, name in ipairs{ 'pdtri', 'stdtri', 'smirnov', 'smirnovi' } do show(name, 2, 0.6) show(name, 5, 0.2) end
for _, name in ipairs{ 'btdtr', 'incbet', 'incbi' } do show(name, 0.5, 2, 0.3) show(name, 3, 1.5, 0.8) end
for _, name in ipairs{ 'gdtr', 'gdtrc', 'hyperg' } do show(name, 0.5, 2, 0.3) show(name, 3, 1.5, 0.8) end
for _, name in ipairs{ 'bdtr', 'bdtrc', 'bdtri', 'nbdtr', 'nbdtrc', 'nbdtri', 'fdtrc', 'fdtri' } do
   show(name, 2, 5, 0.3) show(name, 1, 3, 0.8)
end
show('expn', 5, 1.7)
show('hyp2f1', 0.5, 1, 1.5, 0.3) show('hyp2f1', 2, 0.3, 1.1, -0.6)
show('expx2', 1.5, -1) show('expx2', 1.5, 1) show('ldexp', 1.5, 4) show('powi', 1.5, 3)
show('polygamma', 2, 1.5) show('betagrad', 1.5, 2) show('lmvgam', 3, 2) show('mvgam', 3, 2)

local ffi = require 'ffi'
local pointers = {}
for place = 1, 4 do pointers[place] = ffi.new('double[1]') end
for _, call in ipairs{ { 'airy', 4, 0.7 }, { 'fresnl', 2, 0.7 }, { 'shichi', 2, 0.7 }, { 'sici', 2, 0.7 }, { 'ellpj', 4, 0.7, 0.3 } } do
   local name, count = call[1], call[2]
   local arguments = { unpack(call, 3) }
   for place = 1, count do arguments[#arguments + 1] = pointers[place] end
   cephes[name](unpack(arguments))
   for place = 1, count do print(name, place, ('%.10g'):format(pointers[place][0])) end
end

local a, b, c = cephes.new_cmplx(1, 2), cephes.new_cmplx(0.5, -1), cephes.new_cmplx(0, 0)
for _, name in ipairs{ 'cadd', 'csub', 'cmul', 'cdiv' } do
   cephes[name](a, b, c)
   print(name, ('%.10g %.10g'):format(c.r, c.i))
end
for _, name in ipairs{ 'csqrt', 'cexp', 'clog', 'csin', 'ccos', 'ctan', 'ccot', 'catan' } do
   cephes[name](a, c)
   print(name, ('%.10g %.10g'):format(c.r, c.i))
end
print('cabs', ('%.10g'):format(cephes.cabs(a)))
local coefficients = ffi.new('double[3]', { 1, 2, 3 })
print('polynomials', cephes.polevl(2, coefficients, 2), cephes.p1evl(2, coefficients, 2), cephes.chbevl(0.5, coefficients, 3))

-- tensors, and what is wrong with arguments
print(cephes.gamma(torch.Tensor{ 1, 4 }), cephes.beta(torch.Tensor{ 1, 2 }, 3), cephes.beta(2, torch.Tensor{ 3, 4 }))
print(cephes.beta(torch.Tensor(2), torch.Tensor{ 1, 2 }, torch.Tensor{ 3, 4 }))
cephes.setErrorLevel('error')
for _, call in ipairs{ { 'beta', 1 }, { 'beta', torch.Tensor(2), torch.Tensor(3) }, { 'ndtri', 2 },
   { 'beta', {}, 1, 2 }, { 'gamma', torch.Tensor(2), torch.Tensor(3) }, { 'gamma', torch.Tensor(2), 1 } } do
   local ok, problem = pcall(cephes[call[1]], unpack(call, 2))
   print(call[1], ok, (tostring(problem):gsub('^[^ ]*: ', '')))
end
print(pcall(cephes.setErrorLevel, 'loud') == false, cephes.isnan(cephes.nan), cephes.isinf(1 / 0), cephes.isfinite(1))
