-- Conjugate gradients (Polak and Ribiere) with a line search by cubic interpolation, as Carl Rasmussen's minimize.

local function finite(z) return z == z and z ~= math.huge and z ~= -math.huge end

-- The position, relative to point 2, of the minimum between points 2 and 3 (values f, slopes d, point 3 at z3).
local function interpolated(f1, f2, d2, f3, d3, z3, int)
   local z2
   if f2 > f1 then
      z2 = z3 - (0.5 * d3 * z3 * z3) / (d3 * z3 + f2 - f3)
   else
      local a = 6 * (f2 - f3) / z3 + 3 * (d2 + d3)
      local b = 3 * (f3 - f2) - z3 * (d3 + 2 * d2)
      z2 = (math.sqrt(b * b - a * d2 * z3 * z3) - b) / a
   end
   if not finite(z2) then z2 = z3 / 2 end
   return math.max(math.min(z2, int * z3), (1 - int) * z3)
end

-- How far to go beyond point 2, which is at z1; limit: the point not to be crossed, or -1.
local function extrapolated(z1, f2, d2, f3, d3, z3, limit, options)
   local int, ext = options.int or 0.1, options.ext or 3
   local a = 6 * (f2 - f3) / z3 + 3 * (d2 + d3)
   local b = 3 * (f3 - f2) - z3 * (d3 + 2 * d2)
   local z2 = -d2 * z3 * z3 / (b + math.sqrt(b * b - a * d2 * z3 * z3))
   local limited = limit >= -0.5
   if not finite(z2) or z2 < 0 then
      if limited then return (limit - z1) / 2 end
      return z1 * (ext - 1)
   elseif limit > -0.5 and z2 + z1 > limit then
      return (limit - z1) / 2
   elseif limit < -0.5 and z2 + z1 > z1 * ext then
      return z1 * (ext - 1)
   elseif z2 < -z3 * int then
      return -z3 * int
   elseif limit > -0.5 and z2 < (limit - z1) * (1 - int) then
      return (limit - z1) * (1 - int)
   end
   return z2
end

-- Starts at a point with value f1 and slope d1, with a first step z1 and at most `left` more. move(z) moves by z and
-- returns the value and slope there. Returns whether a good point was found, its distance, and its value.
local function line_search(f1, d1, z1, left, options, move)
   local rho, sig, int = options.rho or 0.01, options.sig or 0.5, options.int or 0.1
   local f2, d2 = move(z1)
   local f3, d3, z3 = f1, d1, -z1
   local limit = -1
   local function too_far() return f2 > f1 + z1 * rho * d1 or d2 > -sig * d1 end
   while true do
      while too_far() and left > 0 do
         limit = z1
         local z2 = interpolated(f1, f2, d2, f3, d3, z3, int)
         z1, z3 = z1 + z2, z3 - z2
         f2, d2 = move(z2)
         left = left - 1
      end
      if too_far() then return false end
      if d2 > sig * d1 then return true, z1, f2 end
      if left == 0 then return false end
      local z2 = extrapolated(z1, f2, d2, f3, d3, z3, limit, options)
      f3, d3, z3, z1 = f2, d2, -z2, z1 + z2
      f2, d2 = move(z2)
      left = left - 1
   end
end

-- config: maxIter 20 (evaluations in a line search), maxEval 1.25 maxIter, rho 0.01 and sig 0.5 (the Wolfe-Powell
-- conditions), int 0.1, ext 3, ratio 100. state: df0 to df3, s, x0: buffers. The third result is the number of
-- evaluations. Like Torch7's, it stops at the first line search that fails.
function optim.cg(opfunc, x, config, state)
   config = config or {}
   state = state or config
   local max_iter = config.maxIter or 20
   local max_eval = config.maxEval or max_iter * 1.25
   for _, name in ipairs{ 'df0', 'df1', 'df2', 'df3', 's', 'x0' } do
      state[name] = (state[name] or x.new()):resizeAs(x)
   end
   local df1, df2, s = state.df1, state.df2, state.s
   local evaluations = 0
   local function evaluate(df)
      local f, gradient = opfunc(x)
      df:copy(gradient)
      evaluations = evaluations + 1
      return f
   end
   local function move(z)
      x:add(z, s)
      local f = evaluate(df2)
      return f, df2:dot(s)
   end

   local f1 = evaluate(df1)
   local values = { f1 }
   s:copy(df1):mul(-1)
   local d1 = -s:dot(s)
   local step = 1 / (1 - d1)
   while evaluations < math.abs(max_eval) do
      state.x0:copy(x)
      state.df0:copy(df1)
      local left = math.min(max_iter, max_eval - evaluations - 1)
      local found, z1, f2 = line_search(f1, d1, step, left, config, move)
      if not found then
         x:copy(state.x0)
         df1:copy(state.df0)
         break
      end
      f1 = f2
      values[#values + 1] = f1
      s:mul((df2:dot(df2) - df2:dot(df1)) / df1:dot(df1)):add(-1, df2)
      local previous = df1:clone()
      df1:copy(df2)
      df2:copy(previous)
      local d2 = df1:dot(s)
      if d2 > 0 then
         s:copy(df1):mul(-1)
         d2 = -s:dot(s)
      end
      step = z1 * math.min(config.ratio or 100, d1 / (d2 - 1e-320))
      d1 = d2
   end
   return x, values, evaluations
end
