-- Probe of cephes: what it complains of, polynomials and power series.
-- usage: th probe_cephes_errors.lua > cephes_errors.txt
require 'cephes'
local ffi = require 'ffi'
cephes.setErrorLevel('error')
local function try(name, ...)
   local ok, result = pcall(cephes[name], ...)
   io.write(name, ' ', table.concat({ ... }, ' '), ': ', ok and ('%.10g'):format(result) or result:match('Cephes.*'), '\n')
end
for _, name in ipairs{ 'log', 'log10', 'log2', 'log1p', 'acosh', 'asin', 'acos', 'atanh', 'sqrt', 'ndtri', 'y0', 'y1', 'k0', 'k0e',
   'k1', 'k1e', 'ellpk', 'ellpe', 'lgam', 'exp', 'exp2', 'exp10', 'sinh', 'cosh', 'tan', 'cot', 'ei', 'i0', 'expm1' } do
   for _, x in ipairs{ -3, -1, -0.5, 0, 0.5, 1, 1.5, 40, 800 } do try(name, x) end
end
for _, x in ipairs{ -3, -2.5, -1, 0, 0.5, 171.5 } do try('gamma', x) end
for _, x in ipairs{ -3, 0.5, 30, 40, 800 } do try('rgamma', x) end
for _, name in ipairs{ 'beta', 'lbeta', 'pow' } do
   for _, p in ipairs{ { 0, 2 }, { -1, 2 }, { -5, 1 }, { -0.5, -0.5 }, { 0.5, -1 }, { 2, 0.5 }, { 20, 20 }, { 200, 200 } } do
      try(name, p[1], p[2])
   end
end
for _, name in ipairs{ 'igamc', 'chdtr', 'chdtrc', 'pdtr', 'pdtrc' } do
   for _, p in ipairs{ { 0, 2 }, { -1, 2 }, { 2, -1 }, { 2, 3 } } do try(name, p[1], p[2]) end
end
for _, p in ipairs{ { 0, 0 }, { 2, 0 }, { 2, -1 }, { 2, 3 } } do try('kn', p[1], p[2]) end
for _, p in ipairs{ { 0.5, 2 }, { -1, 2 }, { 3, 2 }, { 200, 200 } } do try('zeta', p[1], p[2]) end
for _, p in ipairs{ { 0.5, -1 }, { 2, -1 }, { 0.5, 2 } } do try('jv', p[1], p[2]) end
for _, n in ipairs{ -1, 0, 5, 31, 33, 34, 171 } do try('fac', n) end

local function array(numbers) return ffi.new('double[9]', numbers) end
local function show(name, result, c)
   io.write(name, ' ', tostring(result), ':')
   for power = 0, 6 do io.write((' %.12g'):format(c[power])) end
   io.write('\n')
end
cephes.polini(6)
local a, b = array{ 1, 2, 3 }, array{ 4, 5 }
for _, name in ipairs{ 'polmul', 'poladd', 'polsub', 'poldiv', 'polsbt' } do
   local c = array{ 0 }
   show(name, cephes[name](a, 2, b, 1, c), c)
   show(name, cephes[name](b, 1, a, 2, c), c)
end
local c = array{ 0 }
show('poldiv', cephes.poldiv(array{ 0, 1 }, 1, array{ 0, 2, 3 }, 2, c), c)
show('poldiv', cephes.poldiv(array{ 0, 0, 4, 1 }, 3, array{ 0, 2, 3 }, 2, c), c)
show('polmov', cephes.polmov(a, 2, c), c)
show('polclr', cephes.polclr(c, 1), c)
show('revers', cephes.revers(array{ 0, 2, 3, 4, 5 }, c, 4), c)
io.write(('simpsn %.12g\n'):format(cephes.simpsn(array{ 1, 2, 3, 4, 5, 6, 7, 9, 8 }, 0.5)))
for _, p in ipairs{ { 12, 18 }, { 7, 3 }, { 100, 75 } } do
   local n, d = array{ p[1] }, array{ p[2] }
   io.write(('euclid %d %d %d\n'):format(cephes.euclid(n, d), n[0], d[0]))
end
local from, to = cephes.new_cmplx(1, 2), cephes.new_cmplx(3, 4)
cephes.cmov(from, to)
io.write(('cmov %d %d\n'):format(to.r, to.i))
