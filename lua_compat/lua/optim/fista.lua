-- FISTA with backtracking (Beck and Teboulle, SIAM J. Imaging Sciences 2(1), 2009): minimises f + g for a smooth f.

-- f(x, 'dx') returns value and gradient, f(x) the value, g(x) a value; pl(x, L) writes to x the minimum of g's
-- intermediate problem. The solution overwrites xinit. params: L 0.1 (1 / step), Lstep 1.5, maxiter 50, maxline 20,
-- errthres 1e-4, doFistaUpdate (false: plain ISTA), verbose; xkm, y and ply are kept there. Returns the solution and,
-- for each iteration, {nline, L, F, Fply, Gply, Q} (verbose: xk and y, too).
function optim.FistaLS(f, g, pl, xinit, params)
   params = params or {}
   local L, L_step = params.L or 0.1, params.Lstep or 1.5
   local max_iter, max_line = params.maxiter or 50, params.maxline or 20
   for _, name in ipairs{ 'xkm', 'y', 'ply' } do
      params[name] = (params[name] or torch.Tensor()):resizeAs(xinit):zero()
   end
   local xk, xkm, y, ply = xinit, params.xkm, params.y, params.ply
   local history, tk, before = {}, 1, math.huge
   g(y)
   for iteration = 1, max_iter do
      local fy, gradient = f(y, 'dx')
      local Q
      local lines = 0
      repeat
         ply:copy(y):add(-1 / L, gradient)
         pl(ply, L)
         xk:copy(ply)
         local reached = f(ply)
         ply:add(-1, y)
         local linear, quadratic = gradient:dot(ply), L / 2 * ply:dot(ply)
         Q = fy + linear + quadratic
         if params.verbose then
            print(('nline=%d L=%g fply=%g Q=%g fy=%g Q2=%g Q3=%g'):format(lines, L, reached, Q, fy, linear, quadratic))
         end
         local done = reached <= Q
         if not done then
            if lines >= max_line then
               xk:copy(xkm)
               done = true
            else
               L = L * L_step
            end
         end
         lines = lines + 1
      until done

      local tkp = 0
      if params.doFistaUpdate then
         tkp = (1 + math.sqrt(1 + 4 * tk * tk)) / 2
         xkm:add(-1, xk)
         y:copy(xk):add((1 - tk) / tkp, xkm)
         xkm:copy(xk)
      else
         y:copy(xk)
      end
      tk = tkp
      local smooth, other = f(y), g(y)
      local value = smooth + other
      if params.verbose then
         print(('iter=%d eold=%g enew=%g'):format(iteration - 1, before, value))
      end
      params.L = L
      history[iteration] = { nline = lines, L = L, F = value, Fply = smooth, Gply = other, Q = Q,
         xk = params.verbose and xk:clone() or nil, y = params.verbose and y:clone() or nil }
      local converged = iteration > 1 and math.abs(value - before) <= (params.errthres or 1e-4)
      before = value
      if converged then break end
   end
   xinit:copy(y)
   return y, history
end
