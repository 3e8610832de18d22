-- A Catmull-Rom spline through four numbers, for each real type: at x from the second (0) to the third (1). As in
-- Torch7, its last steps are in double precision.
local types = require 'torch.core.types'

local CUBIC = [[
   return function(p0, p1, p2, p3, x)
      local a2 = $round($round($round(2 * p0 - $round(5 * p1)) + 4 * p2) - p3)
      local a3 = $round($round($round(3 * $round(p1 - p2)) + p3) - p0)
      local inner = $round($round(p2 - p0) + $round(x * $round(a2 + $round(x * a3))))
      return $round(p1 + 0.5 * x * inner)
   end
]]

return types.compiled('image.luajit.cubic', CUBIC, {})
