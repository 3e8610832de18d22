-- Compares the gradient from opfunc(x) with central differences of `eps` (default 1e-7). Returns the norm of the
-- difference divided by the norm of the sum, the gradient, and the estimate.
function optim.checkgrad(opfunc, x, eps)
   eps = eps or 1e-7
   local value, gradient = opfunc(x)
   gradient:resize(x:size())
   local estimate = gradient.new():resizeAs(gradient)
   local function at(i, moved)
      x[i] = moved
      local f = opfunc(x)
      -- the next evaluation may reuse the tensor
      return torch.isTensor(f) and f:clone() or f
   end
   for i = 1, gradient:size(1) do
      local here = x[i]
      local difference = at(i, here + eps) - at(i, x[i] - 2 * eps)
      x[i] = here
      estimate[i] = torch.isTensor(value) and difference:squeeze() / (2 * eps) or difference / (2 * eps)
   end
   local error = torch.norm(gradient - estimate) / torch.norm(gradient + estimate)
   return error, gradient, estimate
end
