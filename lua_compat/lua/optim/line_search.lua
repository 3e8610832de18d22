-- Interpolating polynomials, and a line search that uses them.

-- Returns the minimum, between two points, of the cubic through them with their values and slopes.
local function cubic_minimum(points)
   local low = points[1][1] <= points[2][1] and points[1] or points[2]
   local high = low == points[1] and points[2] or points[1]
   local x1, f1, g1 = unpack(low)
   local x2, f2, g2 = unpack(high)
   local d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
   local d2 = math.sqrt(d1 ^ 2 - g1 * g2)
   if d2 ~= d2 then return (x1 + x2) / 2 end
   local minimum = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
   return math.min(math.max(minimum, x1), x2)
end

local NEGLIGIBLE = 1e-12 -- coefficients of polynomials

-- The real roots of a polynomial, whose coefficients start with the highest power, as a list of numbers.
local function real_roots(coefficients)
   local first, last = 1, #coefficients
   while first <= last and math.abs(coefficients[first]) < NEGLIGIBLE do first = first + 1 end
   local roots = {}
   while last > first and math.abs(coefficients[last]) < NEGLIGIBLE do
      last = last - 1
      roots[#roots + 1] = 0
   end
   local degree = last - first
   if degree == 1 then
      table.insert(roots, 1, -coefficients[last] / coefficients[first])
   elseif degree > 1 then
      local companion = torch.DoubleTensor(degree, degree):zero()
      for i = 1, degree do
         companion[1][i] = -coefficients[first + i] / coefficients[first]
         if i > 1 then companion[i][i - 1] = 1 end
      end
      local found = torch.eig(companion, 'N')
      for i = degree, 1, -1 do
         if found[i][2] == 0 then table.insert(roots, 1, found[i][1]) end
      end
   end
   return roots
end

local function polynomial(coefficients, x)
   local value, n = 0, #coefficients
   for i, c in ipairs(coefficients) do value = value + c * x ^ (n - i) end
   return value
end

-- The polynomial with the given values and slopes at the points; its coefficients start with the highest power.
local function through(points)
   local n = #points
   local order = 2 * n - 1
   local a, b = torch.DoubleTensor(2 * n, order + 1):zero(), torch.DoubleTensor(2 * n, 1)
   for i, point in ipairs(points) do
      local x, f, g = unpack(point)
      for power = order, 0, -1 do a[i][order - power + 1] = x ^ power end
      for j = 1, order do a[n + i][j] = (order - j + 1) * x ^ (order - j) end
      b[i], b[n + i] = f, g
   end
   local solution = torch.gels(b, a)
   local coefficients = {}
   for i = 1, 2 * n do
      local c = solution[i][1]
      coefficients[i] = math.abs(c) <= NEGLIGIBLE and 0 or c
   end
   return coefficients
end

-- Minimises the polynomial through `points`, rows of (x, f(x), f'(x)), between two bounds (default: the outermost
-- points). Returns the position and, except for two points without bounds, the value.
function optim.polyinterp(points, lower, upper)
   local list = {}
   for i = 1, points:size(1) do list[i] = { points[i][1], points[i][2], points[i][3] } end
   if #list == 2 and not lower and not upper then return cubic_minimum(list) end

   lower, upper = lower or points:select(2, 1):min(), upper or points:select(2, 1):max()
   local coefficients = through(list)
   local order = #coefficients - 1
   local derivative, finite = {}, true
   for i = 1, order do
      local c = coefficients[i] * (order - i + 1)
      derivative[i] = c
      finite = finite and c == c and c ~= math.huge
   end
   local candidates = { lower, upper }
   for _, point in ipairs(list) do candidates[#candidates + 1] = point[1] end
   if finite then
      for _, root in ipairs(real_roots(derivative)) do candidates[#candidates + 1] = root end
   end
   local best, smallest = (lower + upper) / 2, math.huge
   for _, x in ipairs(candidates) do
      if x >= lower and x <= upper then
         local value = polynomial(coefficients, x)
         if value < smallest then best, smallest = x, value end
      end
   end
   return best, smallest
end

-- A point of the search: step t, value f, gradient g, slope gtd along the direction.
local function point(t, f, g, gtd) return { t = t, f = f, g = g, gtd = gtd } end

local function ordered(a, b)
   if a.t <= b.t then return a, b end
   return b, a
end

local CLOSE = 0.1 -- fraction of a bracket: a point closer to its ends is no progress

-- Refines a bracket {one, other} along d until a point satisfies the conditions. Returns the point with the lowest
-- value.
local function zoom(bracket, d, evaluate, start, c1, c2, tolerance, iterations)
   local stuck = false
   while iterations > 0 do
      local one, other = unpack(bracket)
      local low = other.f < one.f and 2 or 1
      local LO, HI = bracket[low], bracket[3 - low]
      local t = cubic_minimum{ { one.t, one.f, one.g:dot(d) }, { other.t, other.f, other.g:dot(d) } }
      local left, right = ordered(one, other)
      local length = right.t - left.t
      if math.min(right.t - t, t - left.t) / length < CLOSE then
         if stuck or t >= right.t or t <= left.t then
            if math.abs(t - right.t) < math.abs(t - left.t) then
               t = right.t - CLOSE * length
            else
               t = left.t + CLOSE * length
            end
            stuck = false
         else
            stuck = true
         end
      else
         stuck = false
      end

      local new = evaluate(t)
      iterations = iterations - 1
      if new.f > start.f + c1 * t * start.gtd or new.f >= LO.f then
         bracket[3 - low] = new
      else
         if math.abs(new.gtd) <= -c2 * start.gtd then
            bracket[low] = new
            break
         elseif new.gtd * (HI.t - LO.t) >= 0 then
            bracket[3 - low] = LO
         end
         bracket[low] = new
      end
      if math.abs((bracket[1].t - bracket[2].t) * new.gtd) < tolerance then break end
   end
   return bracket[2].f < bracket[1].f and bracket[2] or bracket[1], iterations
end

-- Finds a step along d that satisfies the strong Wolfe conditions (as in minFunc). t: the first step to try; f, g, gtd:
-- value, gradient and slope at x. options: c1 1e-4, c2 0.9, tolX 1e-9, maxIter 20, verbose. Returns f, g, x (the same
-- tensor, moved to its new point), t and the number of evaluations.
function optim.lswolfe(opfunc, x, t, d, f, g, gtd, options)
   options = options or {}
   local c1, c2 = options.c1 or 1e-4, options.c2 or 0.9
   local max_iter = options.maxIter or 20
   local origin = x:clone()
   local evaluations = 0
   local function evaluate(at)
      x:copy(origin):add(at, d)
      local value, gradient = opfunc(x)
      evaluations = evaluations + 1
      return point(at, value, gradient:clone(), gradient:dot(d))
   end

   local current = evaluate(t)
   -- Only cloned here, as in Torch7: if opfunc returns the same tensor each time (as with getParameters), g is by now
   -- the gradient at t. The given slope at x is used until there is a bracket.
   local start = point(0, f, g:clone(), gtd)
   local previous = start
   local iterations, bracket, accepted = max_iter, nil, nil
   while iterations > 0 do
      if current.f > f + c1 * current.t * gtd or (max_iter - iterations > 1 and current.f >= previous.f) then
         bracket = { previous, current }
         break
      elseif math.abs(current.gtd) <= -c2 * gtd then
         accepted = current
         break
      elseif current.gtd >= 0 then
         bracket = { previous, current }
         break
      end
      local next_t = optim.polyinterp(x.new{ { previous.t, previous.f, previous.gtd },
         { current.t, current.f, current.gtd } }, current.t + 0.01 * (current.t - previous.t), current.t * 10)
      previous, current = current, evaluate(next_t)
      iterations = iterations - 1
   end
   if not accepted then
      bracket = bracket or { point(0, f, g:clone(), gtd), current }
      accepted, iterations = zoom(bracket, d, evaluate, start, c1, c2, options.tolX or 1e-9, iterations)
   end
   if iterations == 0 and options.verbose then
      print('<optim.lswolfe> ', 'reached max number of iterations')
   end
   x:copy(origin):add(accepted.t, d)
   return accepted.f, accepted.g, x, accepted.t, evaluations
end
