-- Applies rows of convolution weights to contiguous numbers, for many windows at once: the window of output i starts at
-- element i, and its other elements follow directly.
local templates = require 'torch.core.templates'

-- sums = sums + the n numbers from p on, times one, two or three weights from w[at] on, `step` apart.
local ADD = [[
   return function(sums, p, n, w, at, step)
      local $each($taps){w@} = $each($taps){w[at + @ * step]}
      for i = 0, n - 1 do sums[i] = sums[i] + $each($taps, +){w@ * p[i + @]} end
   end
]]

-- Adds to r[at], r[at + 1], ... (one for each of one, two or three weights) the dot product of the n numbers at g with
-- those from p on, from p + 1 on, and so on.
local MULTIPLY = [[
   return function(r, at, g, p, n)
      local $each($taps){a@} = $each($taps){0}
      for i = 0, n - 1 do
         local x = g[i]
         $each($taps){a@} = $each($taps){a@ + x * p[i + @]}
      end
      $each($taps){r[at + @]} = $each($taps){r[at + @] + a@}
   end
]]

local MOST = 3 -- weights at a time: the sums are read and written only once for them
local adding, multiplying, taps = {}, {}, {}
for several = 1, MOST do
   adding[several] = templates.compile('torch.luajit.kernel_rows', ADD, { taps = several })
   multiplying[several] = templates.compile('torch.luajit.kernel_rows', MULTIPLY, { taps = several })
end
local add_one, add_two, add_most, multiply_most = adding[1], adding[2], adding[MOST], multiplying[MOST]

-- The same for a whole row of weights, in order.
function taps.add(sums, p, n, w, at, step, weights)
   local k = 0
   while weights - k > MOST do
      add_most(sums, p + k, n, w, at + k * step, step)
      k = k + MOST
   end
   local add = weights - k == MOST and add_most or weights - k == 2 and add_two or add_one
   add(sums, p + k, n, w, at + k * step, step)
end
function taps.multiply(r, at, g, p, n, weights)
   local k = 0
   while weights - k > MOST do
      multiply_most(r, at + k, g, p + k, n)
      k = k + MOST
   end
   multiplying[weights - k](r, at + k, g, p + k, n)
end

return taps
