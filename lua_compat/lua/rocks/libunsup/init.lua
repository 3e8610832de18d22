-- tensor:shrinkage(lambda), which unsup has in C: it moves every element towards zero by lambda, but not past it, and
-- returns lambda.
require 'torch'

unsup = unsup or {} -- its classes go there

for _, name in ipairs{ 'torch.FloatTensor', 'torch.DoubleTensor' } do
   torch.getmetatable(name).shrinkage = function(tensor, lambda)
      if lambda < 0 then error("bad argument #2 to 'shrinkage' (Lambda should be non-negative)", 2) end
      if lambda > 0 then tensor:add(-1, torch.clamp(tensor, -lambda, lambda)) end
      return lambda
   end
end

return true
