-- Rows of a kernel over numbers that lie in one piece, for many windows at once: the window that begins at element i has its others right behind it.

local taps = {}

-- sums = sums + the numbers from p on, n of them, times one, two or three of the weights from w[at] on, each a step from the last: three at a time
-- read and write the sums once.
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

-- The same for a whole row of weights, in their order.
function taps.add(sums, p, n, w, at, step, weights)
   local k = 0
   while weights - k >= 3 do
      add_three(sums, p + k, n, w, at + k * step, step)
      k = k + 3
   end
   if weights - k == 2 then add_two(sums, p + k, n, w, at + k * step, step) elseif weights - k == 1 then add_one(sums, p + k, n, w, at + k * step) end
end

return taps
