-- Losses on the cosines of pairs of rows.
local count = require('torch.core.memory').count
local luajit, no = require('torch.core.ways').of_kernels()
local numbers = require 'nn.shared.luajit.as_doubles'
local pairs_of_rows = require 'nn.similarity.luajit.pairs'

local of, seen = numbers.of, numbers.seen
local both, rows_and_columns = pairs_of_rows.both, numbers.rows_and_columns
local cosine, cosine_slope = pairs_of_rows.cosine, pairs_of_rows.cosine_slope

-- A pair's loss: 1 - cosine if y is 1, else the excess of the cosine over margin, at least 0 (also for NaN)
local function embedding_loss(of_pair, y, margin)
   if y == 1 then return 1 - of_pair end
   local over = of_pair - margin
   return over > 0 and over or 0
end

function luajit.cosine_embedding(a, b, y, margin, average)
   local rows, columns = rows_and_columns(a)
   local p, q = both(a, b, seen)
   if count(y) ~= rows then return no 'tensors of different sizes' end
   local sign = q and of('gradient', y)
   if not sign then return false end
   local sum = 0
   for i = 0, rows - 1 do
      sum = sum + embedding_loss(cosine(p, q, i * columns, columns), sign[i], margin)
   end
   return true, average and sum / rows or sum
end
function luajit.cosine_embedding_gradients(grad_a, grad_b, a, b, y, margin, average)
   if not pairs_of_rows.may_write(grad_a, grad_b, a, b, y) then return false end
   local rows, columns = rows_and_columns(a)
   local p, q = both(a, b, of)
   if count(y) ~= rows then return no 'tensors of different sizes' end
   local sign = q and of('gradient', y)
   if not sign then return false end
   local each = average and 1 / rows or 1
   for i = 0, rows - 1 do
      local at, g = i * columns, sign[i] == 1 and -each or each
      if embedding_loss(cosine(p, q, at, columns), sign[i], margin) <= 0 then -- no loss: the gradient is 0
         for k = at, at + columns - 1 do p[k], q[k] = 0, 0 end
      else
         cosine_slope(p, q, at, columns, g)
      end
   end
   return pairs_of_rows.write_both(grad_a, grad_b, a, p, q)
end
