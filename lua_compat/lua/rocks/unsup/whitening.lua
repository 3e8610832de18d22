-- Whitening of data (samples x ...) by principal components, in their space (pca) or rotated back to the data's (zca):
-- white = (x - means) P, and x = white invP + means. `*_whiten` computes means, P and invP if they are not given.
local EPSILON = 1e-5

local function as_rows(data)
   local rows = data:clone()
   return data:dim() < 3 and rows or rows:view(data:size(1), data:nElement() / data:size(1))
end

-- How each kind computes P and invP from the covariance's eigenvectors and the square roots of its eigenvalues.
local transforms = {}

function transforms.pca(vectors, scales)
   return vectors * torch.diag(torch.cinv(scales)), torch.diag(scales) * vectors:t()
end

function transforms.zca(vectors, scales)
   return vectors * torch.diag(torch.cinv(scales)) * vectors:t(), vectors * torch.diag(scales) * vectors:t()
end

local function repeated(means, rows) return means:view(1, rows:size(2)):expandAs(rows) end

local function whitened(kind, data, means, P, invP, epsilon)
   local rows = as_rows(data)
   if not (means and P and (invP or kind == 'pca')) then
      means = torch.mean(rows, 1):squeeze()
      local values, vectors = unsup.pcacov(rows)
      P, invP = transforms[kind](vectors, values:add(epsilon or EPSILON):sqrt())
   end
   rows = torch.mm(rows:add(-1, repeated(means, rows)), P)
   return rows:resizeAs(data), means, P, invP
end

local function coloured(data, means, P, invP)
   if not means or not invP then error("give the 'means' and 'invP' that the whitening returned", 3) end
   local rows = torch.mm(as_rows(data), invP)
   return rows:add(repeated(means, rows)):resizeAs(data), means, P, invP
end

-- Wraps a linear layer as a module: data with more than two dimensions are reshaped before and after.
local function layer_of(data, weight, bias)
   local size = data:nElement() / data:size(1)
   local linear = nn.Linear(size, size)
   linear.weight:copy(weight)
   linear.bias:copy(bias)
   if data:dim() < 3 then return linear end
   return nn.Sequential():add(nn.Reshape(data:size(1), size)):add(linear):add(nn.Reshape(data:size()))
end

for kind in pairs(transforms) do
   local function known(data, means, P, invP)
      if means and P and invP then return means, P, invP end
      return select(2, whitened(kind, data))
   end

   unsup[kind .. '_whiten'] = function(...) return whitened(kind, ...) end
   unsup[kind .. '_colour'] = function(...) return coloured(...) end

   unsup[kind .. '_layer'] = function(data, means, P, invP)
      means, P, invP = known(data, means, P, invP)
      return layer_of(data, P:t(), (P:t() * means):mul(-1)), means, P, invP
   end

   unsup['inv_' .. kind .. '_layer'] = function(data, means, P, invP)
      means, P, invP = known(data, means, P, invP)
      return layer_of(data, invP:t(), means), means, P, invP
   end
end
