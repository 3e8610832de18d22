-- Arithmetic of polynomials and power series for the package cephes. Coefficients are in C arrays, the constant first.
-- Results have at most the degree set by polini.
local cephes = cephes -- made by init.lua
local most = 0

local function coefficients(a, degree)
   local copied = {}
   for power = 0, degree do copied[power] = a[power] end
   return copied
end

local function store(values, c, degree)
   for power = 0, math.min(degree, most) do c[power] = values[power] or 0 end
end

-- The product up to the highest degree that is kept.
local function product(a, a_degree, b, b_degree)
   local values = {}
   for power = 0, most do values[power] = 0 end
   for i = 0, math.min(a_degree, most) do
      for j = 0, math.min(b_degree, most - i) do values[i + j] = values[i + j] + a[i] * b[j] end
   end
   return values
end

function cephes.polini(degree) most = degree end

function cephes.polclr(a, degree)
   for power = 0, math.min(degree, most) do a[power] = 0 end
end

function cephes.polmov(a, degree, b)
   store(coefficients(a, math.min(degree, most)), b, degree)
end

function cephes.poladd(a, a_degree, b, b_degree, c)
   local values = {}
   for power = 0, math.max(a_degree, b_degree) do
      values[power] = (power <= a_degree and a[power] or 0) + (power <= b_degree and b[power] or 0)
   end
   store(values, c, math.max(a_degree, b_degree))
end

-- b - a
function cephes.polsub(a, a_degree, b, b_degree, c)
   local values = {}
   for power = 0, math.max(a_degree, b_degree) do
      values[power] = (power <= b_degree and b[power] or 0) - (power <= a_degree and a[power] or 0)
   end
   store(values, c, math.max(a_degree, b_degree))
end

function cephes.polmul(a, a_degree, b, b_degree, c)
   store(product(coefficients(a, a_degree), a_degree, coefficients(b, b_degree), b_degree), c, a_degree + b_degree)
end

-- The series of b / a, and the power of x to divide it by.
function cephes.poldiv(a, a_degree, b, b_degree, c)
   local divisor, dividend, first, start = {}, {}, 0, 0
   while first <= a_degree and a[first] == 0 do first = first + 1 end
   while start <= b_degree and b[start] == 0 do start = start + 1 end
   if first > a_degree then error('poldiv: division by zero', 2) end
   local shared = math.min(first, start)
   for power = 0, most do
      divisor[power] = first + power <= a_degree and a[first + power] or 0
      dividend[power] = shared + power <= b_degree and b[shared + power] or 0
   end
   local values = {}
   for power = 0, most do
      local left = dividend[power]
      for below = 0, power - 1 do left = left - values[below] * divisor[power - below] end
      values[power] = left / divisor[0]
   end
   store(values, c, most)
   return first - shared
end

-- b(a(x)), by Horner's rule.
function cephes.polsbt(a, a_degree, b, b_degree, c)
   local inner, values = coefficients(a, a_degree), {}
   local outer = coefficients(b, b_degree)
   for power = 0, most do values[power] = 0 end
   for power = b_degree, 0, -1 do
      values = product(values, most, inner, a_degree)
      values[0] = values[0] + outer[power]
   end
   store(values, c, a_degree * b_degree)
end

-- The coefficients, up to power n, of the inverse of the series y, which starts with x: each satisfies y(x(t)) = t in
-- one more power.
function cephes.revers(y, x, n)
   local series, values = coefficients(y, n), {}
   for power = 0, math.max(n, most) do values[power] = 0 end
   if n >= 1 then values[1] = 1 / series[1] end
   local kept = most
   most = math.max(n, most)
   for power = 2, n do
      local composed, raised = 0, values
      for i = 2, power do
         raised = product(raised, most, values, most)
         composed = composed + series[i] * raised[power]
      end
      values[power] = -composed / series[1]
   end
   most = kept
   for power = 0, n do x[power] = values[power] end
end

-- The greatest common divisor of two whole numbers; both are divided by it.
function cephes.euclid(numerator, denominator)
   local a, b = math.abs(numerator[0]), math.abs(denominator[0])
   while b ~= 0 do a, b = b, a % b end
   if a ~= 0 then numerator[0], denominator[0] = numerator[0] / a, denominator[0] / a end
   return a == 0 and 1 or a
end

-- The integral over eight steps from nine values, by the Newton-Cotes rule of that order.
local WEIGHTS = { [0] = 989, 5888, -928, 10496, -4540, 10496, -928, 5888, 989 }
function cephes.simpsn(f, step)
   local sum = 0
   for place = 0, 8 do sum = sum + WEIGHTS[place] * f[place] end
   return sum * step * 8 / 28350
end
