-- Applies rows of convolution weights to contiguous numbers, for many windows at once: the window of output i starts at
-- element i, and its other elements follow directly.

local taps = {}

-- sums = sums + the n numbers from p on, times one, two or three weights from w[at] on, `step` apart: three at a time
-- read and write the sums only once.
local function add_one(sums, p, n, w, at)
   local a = w[at]
   for i = 0, n - 1 do sums[i] = sums[i] + a * p[i] end
end
local function add_two(sums, p, n, w, at, step)
   local a, b = w[at], w[at + step]
   for i = 0, n - 1 do sums[i] = sums[i] + a * p[i] + b * p[i + 1] end
end
local function add_three(sums, p, n, w, at, step)
   local a, b, c = w[at], w[at + step], w[at + 2 * step]
   for i = 0, n - 1 do sums[i] = sums[i] + a * p[i] + b * p[i + 1] + c * p[i + 2] end
end

-- The same for a whole row of weights, in order.
function taps.add(sums, p, n, w, at, step, weights)
   local k = 0
   while weights - k >= 3 do
      add_three(sums, p + k, n, w, at + k * step, step)
      k = k + 3
   end
   if weights - k == 2 then
      add_two(sums, p + k, n, w, at + k * step, step)
   elseif weights - k == 1 then
      add_one(sums, p + k, n, w, at + k * step)
   end
end

-- Adds to r[at], r[at + 1], ... (one for each weight of a row) the dot product of the n numbers at g with those from p
-- on, from p + 1 on, and so on.
local function multiply_one(r, at, g, p, n)
   local a = 0
   for i = 0, n - 1 do a = a + g[i] * p[i] end
   r[at] = r[at] + a
end
local function multiply_three(r, at, g, p, n)
   local a, b, c = 0, 0, 0
   for i = 0, n - 1 do
      local x = g[i]
      a, b, c = a + x * p[i], b + x * p[i + 1], c + x * p[i + 2]
   end
   r[at], r[at + 1], r[at + 2] = r[at] + a, r[at + 1] + b, r[at + 2] + c
end
function taps.multiply(r, at, g, p, n, weights)
   local k = 0
   while weights - k >= 3 do
      multiply_three(r, at + k, g, p + k, n)
      k = k + 3
   end
   for rest = k, weights - 1 do multiply_one(r, at + rest, g, p + rest, n) end
end

return taps
