-- Limited-memory BFGS (as in minFunc), with a line search or fixed steps.

-- Rows of one buffer as vectors that can be taken and returned.
local function vectors(like, count)
   local rows = like.new(count, like:size(1)):split(1)
   for i, row in ipairs(rows) do rows[i] = row:squeeze(1) end
   return rows
end

local function sum_of_magnitudes(buffer, t) return buffer:copy(t):abs():sum() end

-- Stores the last step and gradient change if their curvature is positive. Returns the scale of the inverse Hessian.
local function remember(state, g, capacity)
   local y, s = table.remove(state.dir_bufs), table.remove(state.stp_bufs)
   y:add(g, -1, state.g_old)
   s:mul(state.d, state.t)
   local curvature = y:dot(s)
   if not (curvature > 1e-10) then -- also NaN
      table.insert(state.dir_bufs, y)
      table.insert(state.stp_bufs, s)
      return
   end
   if #state.old_dirs == capacity then
      table.insert(state.dir_bufs, table.remove(state.old_dirs, 1))
      table.insert(state.stp_bufs, table.remove(state.old_stps, 1))
   end
   table.insert(state.old_dirs, s)
   table.insert(state.old_stps, y)
   state.Hdiag = curvature / y:dot(y)
end

-- state.d = minus the inverse Hessian times g: the recursion over the steps (old_dirs) and changes (old_stps).
local function direction(state, g, capacity)
   local steps, changes = state.old_dirs, state.old_stps
   state.ro = state.ro or torch.Tensor(capacity)
   state.al = state.al or torch.zeros(capacity)
   local ro, al = state.ro, state.al
   local q = state.tmp1:mul(g, -1)
   for i = 1, #steps do ro[i] = 1 / changes[i]:dot(steps[i]) end
   for i = #steps, 1, -1 do
      al[i] = steps[i]:dot(q) * ro[i]
      q:add(-al[i], changes[i])
   end
   local r = state.d:mul(q, state.Hdiag)
   for i = 1, #steps do
      r:add(al[i] - changes[i]:dot(r) * ro[i], steps[i])
   end
end

-- config: maxIter 20, maxEval 1.25 maxIter, tolFun 1e-5 (on the gradient), tolX 1e-9 (on steps and values), nCorrection
-- 100, lineSearch (a function such as optim.lswolfe) with lineSearchOptions, learningRate 1 (the step without a line
-- search), verbose. state: funcEval, nIter, d, t, old_dirs, old_stps, Hdiag, g_old, f_old and buffers. The third result
-- is the number of evaluations.
function optim.lbfgs(opfunc, x, config, state)
   config = config or {}
   state = state or config
   local max_iter = tonumber(config.maxIter) or 20
   local max_eval = tonumber(config.maxEval) or max_iter * 1.25
   local tol_fun, tol_x = config.tolFun or 1e-5, config.tolX or 1e-9
   local capacity = config.nCorrection or 100
   local rate = config.learningRate or 1
   local function verbose(...)
      if config.verbose then print('<optim.lbfgs> ', ...) end
   end

   state.funcEval = (state.funcEval or 0) + 1
   state.nIter = state.nIter or 0
   local f, g = opfunc(x)
   local values, evaluations = { f }, 1
   state.tmp1 = state.tmp1 or g.new(g:size()):zero()
   local tmp = state.tmp1
   if sum_of_magnitudes(tmp, g) <= tol_fun then
      verbose('optimality condition below tolFun')
      return x, values
   end
   if not state.dir_bufs then
      verbose('creating recyclable direction/step/history buffers')
      state.dir_bufs, state.stp_bufs = vectors(g, capacity + 1), vectors(g, capacity + 1)
   end

   for iteration = 1, max_iter do
      state.nIter = state.nIter + 1
      local first = state.nIter == 1
      if first then
         state.d = g:clone():mul(-1)
         state.old_dirs, state.old_stps, state.Hdiag = {}, {}, 1
      else
         remember(state, g, capacity)
         direction(state, g, capacity)
      end
      state.g_old = (state.g_old or g:clone()):copy(g)
      state.f_old = f

      local slope = g:dot(state.d)
      if slope > -tol_x then break end
      local t = first and math.min(1, 1 / sum_of_magnitudes(tmp, g)) * rate or rate
      local used = 0
      if type(config.lineSearch) == 'function' then
         f, g, x, t, used = config.lineSearch(opfunc, x, t, state.d, f, g, slope, config.lineSearchOptions)
         values[#values + 1] = f
      else
         x:add(t, state.d)
         -- the value is not needed after the last step
         if iteration ~= max_iter then
            f, g = opfunc(x)
            used = 1
            values[#values + 1] = f
         end
      end
      state.t = t
      evaluations, state.funcEval = evaluations + used, state.funcEval + used

      local reason
      if iteration == max_iter then
         reason = 'reached max number of iterations'
      elseif evaluations >= max_eval then
         reason = 'max nb of function evals'
      elseif sum_of_magnitudes(tmp, g) <= tol_fun then
         reason = 'optimality condition below tolFun'
      elseif tmp:copy(state.d):mul(t):abs():sum() <= tol_x then
         reason = 'step size below tolX'
      elseif math.abs(f - state.f_old) < tol_x then
         reason = 'function value changing less than tolX'
      end
      if reason then
         verbose(reason)
         break
      end
   end
   return x, values, evaluations
end
