-- unsup.pca, unsup.pcacov and unsup.kmeans, of matrices with a sample in each row.

local function centred(x) return x - torch.mean(x, 1):expandAs(x) end

-- Eigenvalues, in ascending order, and eigenvectors of the covariance.
function unsup.pcacov(x)
   local rows = centred(x)
   return torch.symeig(torch.mm(rows:t(), rows):div(x:size(1) - 1), 'V')
end

-- The same from the singular values of x, in descending order.
function unsup.pca(x)
   local directions, values = torch.svd(centred(x):div(math.sqrt(x:size(1) - 1)):t())
   return values:cmul(values), directions
end

local KMEANS = 'centroids,count = unsup.kmeans(Tensor(npoints,dim), k [, niter, batchsize, callback, verbose])'

-- The sums and the numbers of the samples nearest to each centroid.
local function assign(x, centroids, batch_size)
   local k = centroids:size(1)
   local sums, counts = centroids:clone():zero(), x.new(k):zero()
   local half_squares = torch.cmul(centroids, centroids):sum(2):mul(0.5)
   for first = 1, x:size(1), batch_size do
      local batch = x:narrow(1, first, math.min(batch_size, x:size(1) - first + 1))
      local nearness = centroids * batch:t()
      local _, nearest = torch.max(nearness:add(-1, half_squares:expandAs(nearness)), 1)
      local is_nearest = x.new(batch:size(1), k):zero():scatter(2, nearest:t(), 1)
      sums:add(is_nearest:t() * batch)
      counts:add(is_nearest:sum(1):view(k))
   end
   return sums, counts
end

-- Returns k centroids, and the number of samples of each over all iterations. A callback that returns true ends the
-- search.
function unsup.kmeans(x, k, niter, batchsize, callback, verbose) -- luacheck: ignore 212
   if not x or not k then error('missing argument: ' .. KMEANS) end
   niter, batchsize = niter or 1, batchsize or math.min(1000, x:size(1))
   local shape = x:size()
   shape[1] = k
   if x:dim() > 2 then x = x:reshape(x:size(1), x:nElement() / x:size(1)) end

   local centroids = x.new(k, x:size(2)):normal()
   for i = 1, k do centroids[i]:div(centroids[i]:norm()) end
   local total = x.new(k):zero()
   if callback then callback(0, centroids:reshape(shape), total) end

   for iteration = 1, niter do
      if verbose then require('xlua').progress(iteration, niter) end
      local sums, counts = assign(x, centroids, batchsize)
      for i = 1, k do
         if counts[i] ~= 0 then centroids[i]:copy(sums[i]:div(counts[i])) end
      end
      total:add(counts)
      if callback and callback(iteration, centroids:reshape(shape), total) then break end
   end
   return centroids:reshape(shape), total
end
