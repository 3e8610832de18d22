-- nn.HSM: hierarchical softmax (Goodman 2001), a criterion with parameters. It is the negative log likelihood of
-- classes in clusters: one softmax over the clusters, and one over the classes of the target's cluster.
require 'nn'

local HSM, parent = torch.class('nn.HSM', 'nn.Criterion')

-- The number of classes in each cluster. Raises an error unless clusters, and classes in each, are numbered from 1 on.
local function sizes_of(mapping)
   local places = {}
   for class = 1, mapping:size(1) do
      local cluster, place = mapping[class][1], mapping[class][2]
      places[cluster] = places[cluster] or {}
      if places[cluster][place] then
         error(('HSM: bad mapping: in cluster %d, index %d is used twice'):format(cluster, place), 4)
      end
      places[cluster][place] = true
   end
   local sizes, clusters = {}, 0
   for cluster, of_cluster in pairs(places) do
      clusters = math.max(clusters, cluster)
      local count = 0
      for _ in pairs(of_cluster) do count = count + 1 end
      if #of_cluster ~= count then
         error(('HSM: bad mapping: in cluster %d indices are not contiguous'):format(cluster), 4)
      end
      sizes[cluster] = count
   end
   if #sizes ~= clusters or clusters == 0 then error('HSM: bad mapping: not contiguous cluster indices', 4) end
   return torch.LongTensor(sizes)
end

-- mapping: a table or tensor with each class's cluster and its number within it.
function HSM:__init(mapping, inputs, unknown)
   parent.__init(self)
   self.mapping = torch.isTensor(mapping) and mapping:long() or torch.LongTensor(mapping)
   self.n_class_in_cluster = sizes_of(self.mapping)
   self.n_classes, self.n_clusters = self.mapping:size(1), self.n_class_in_cluster:size(1)
   self.n_max_class_in_cluster = self.n_class_in_cluster:max()
   self.class_start_indices = torch.LongTensor(self.n_clusters):fill(0) -- counted from 0
   for cluster = 2, self.n_clusters do
      self.class_start_indices[cluster] = self.class_start_indices[cluster - 1] + self.n_class_in_cluster[cluster - 1]
   end
   self.unk_index = unknown or 0
   for part, rows in pairs{ cluster = self.n_clusters, class = self.n_classes } do
      for _, kind in ipairs{ '_weight', '_grad_weight' } do self[part .. kind] = torch.Tensor(rows, inputs) end
      for _, kind in ipairs{ '_bias', '_grad_bias' } do self[part .. kind] = torch.Tensor(rows) end
   end
   self.cluster_score, self.cluster_logsum = torch.Tensor(self.n_clusters), torch.Tensor(1)
   self.class_score, self.class_logsum = torch.Tensor(self.n_max_class_in_cluster), torch.Tensor(1)
   self.gradInput = torch.Tensor(inputs)
   self.logSMCluster, self.logLossCluster = nn.LogSoftMax(), nn.ClassNLLCriterion()
   self.logLossCluster.sizeAverage = false
   self.batch_size = 0
   self:reset()
end

for _, name in ipairs{ 'clone', 'getParameters', 'backward', 'updateParameters', 'zeroGradParameters' } do
   HSM[name] = nn.Module[name]
end

function HSM:parameters()
   return { self.cluster_weight, self.cluster_bias, self.class_weight, self.class_bias },
      { self.cluster_grad_weight, self.cluster_grad_bias, self.class_grad_weight, self.class_grad_bias }
end

function HSM:reset(weight, bias)
   weight, bias = weight or 0.1, bias or 0.1
   self.cluster_weight:normal():mul(weight)
   self.cluster_bias:normal():mul(bias)
   self.class_weight:normal():mul(weight)
   self.class_bias:normal():mul(bias)
end

local function rows_of(input) return input:dim() == 1 and input:view(1, -1) or input end

-- The class's row among those of its cluster, where these start, and their number.
local function place_of(self, class)
   local cluster = self.mapping[class][1]
   return self.mapping[class][2], self.class_start_indices[cluster] + 1, self.n_class_in_cluster[cluster]
end

-- Returns the loss, summed over the batch, and the number of examples.
function HSM:updateOutput(input, target)
   if self.unk_index ~= 0 then error('HSM: unk_index is not supported', 2) end
   local rows = rows_of(input)
   self.batch_size = rows:size(1)
   self.cluster_score:resize(self.batch_size, self.n_clusters)
   self.cluster_score:copy(self.cluster_bias:view(1, -1):expandAs(self.cluster_score))
   self.cluster_score:addmm(1, rows, self.cluster_weight:t())
   self.clusters = self.mapping:index(1, target:long():view(-1)):select(2, 1):contiguous()
   local loss = self.logLossCluster:forward(self.logSMCluster:forward(self.cluster_score), self.clusters)
   self.class_score:resize(self.batch_size, self.n_max_class_in_cluster)
   self.class_logsum:resize(self.batch_size)
   for number = 1, self.batch_size do
      local row, first, count = place_of(self, target[number])
      local scores = self.class_score[number]:narrow(1, 1, count)
      scores:copy(self.class_bias:narrow(1, first, count))
      scores:addmv(1, self.class_weight:narrow(1, first, count), rows[number])
      local most = scores:max()
      self.class_logsum[number] = most + math.log(torch.exp(scores - most):sum())
      loss = loss + self.class_logsum[number] - scores[row]
   end
   self.output = loss
   return self.output, self.batch_size
end

function HSM:updateGradInput(input, target)
   local rows = rows_of(input)
   self.gradInput:resizeAs(rows)
   self.logLossCluster:updateGradInput(self.logSMCluster.output, self.clusters)
   self.logSMCluster:updateGradInput(self.cluster_score, self.logLossCluster.gradInput)
   self.gradInput:mm(self.logSMCluster.gradInput, self.cluster_weight)
   for number = 1, self.batch_size do
      local row, first, count = place_of(self, target[number])
      local scores = self.class_score[number]:narrow(1, 1, count) -- replaced by its gradient below
      scores:add(-self.class_logsum[number]):exp()
      scores[row] = scores[row] - 1
      self.gradInput[number]:addmv(1, self.class_weight:narrow(1, first, count):t(), scores)
   end
   self.gradInput:resizeAs(input)
   return self.gradInput
end

-- Adds the gradients, times `scale`, to the given tensors.
local function accumulate(self, input, target, scale, cluster_weight, cluster_bias, class_weight, class_bias)
   local rows, gradient = rows_of(input), self.logSMCluster.gradInput
   cluster_weight:addmm(scale, gradient:t(), rows)
   cluster_bias:add(scale, gradient:sum(1):view(-1))
   for number = 1, self.batch_size do
      local _, first, count = place_of(self, target[number])
      local scores = self.class_score[number]:narrow(1, 1, count)
      class_weight:narrow(1, first, count):addr(scale, scores, rows[number])
      class_bias:narrow(1, first, count):add(scale, scores)
   end
end

-- direct_update: changes the parameters themselves.
function HSM:accGradParameters(input, target, scale, direct_update)
   local parameters, gradients = self:parameters()
   accumulate(self, input, target, scale or 1, unpack(direct_update and parameters or gradients))
end

-- Zeroes only the gradients of classes in the clusters of the targets.
function HSM:zeroGradParametersClass(_, target)
   for number = 1, target:size(1) do
      local _, first, count = place_of(self, target[number])
      self.class_grad_weight:narrow(1, first, count):zero()
      self.class_grad_bias:narrow(1, first, count):zero()
   end
end
