-- Counts how often each class was predicted for each target: mat[target][prediction].
local ConfusionMatrix = torch.class('optim.ConfusionMatrix')

-- The number of classes, or their names, or both.
function ConfusionMatrix:__init(nclasses, classes)
   if type(nclasses) == 'table' then
      nclasses, classes = #nclasses, nclasses
   end
   self.mat = torch.LongTensor(nclasses, nclasses):zero()
   self.valids = torch.FloatTensor(nclasses):zero()
   self.unionvalids = torch.FloatTensor(nclasses):zero()
   self.nclasses = nclasses
   self.totalValid = 0
   self.averageValid = 0
   self.classes = classes or {}
   self._mat_flat = self.mat:view(-1)
   self._target = torch.FloatTensor()
   self._prediction = torch.FloatTensor()
   self._max = torch.FloatTensor()
   self._pred_idx = torch.LongTensor()
   self._targ_idx = torch.LongTensor()
end

-- Targets that are not positive are missing, and are not counted.
function ConfusionMatrix:_add(prediction, target)
   assert(type(prediction) == 'number' and type(target) == 'number')
   if target > 0 then self.mat[target][prediction] = self.mat[target][prediction] + 1 end
end

-- The most likely class.
local function likeliest(self, values, buffer, index)
   assert(values:dim() == 1)
   buffer:resize(values:size()):copy(values)
   self._max:max(index, buffer, 1)
   return index[1]
end

-- Adds one sample. The prediction is a class or a vector of likelihoods; the target is a class or, for likelihoods, a
-- vector.
function ConfusionMatrix:add(prediction, target)
   if type(prediction) ~= 'number' then
      prediction = likeliest(self, prediction, self._prediction, self._pred_idx)
      if type(target) ~= 'number' then target = likeliest(self, target, self._target, self._targ_idx) end
   end
   self:_add(prediction, target)
end

-- One class for each sample, from a vector of classes, a column of them, or rows of likelihoods.
local function classes_of(self, values, buffer, index, what)
   buffer:resize(values:size()):copy(values)
   if values:dim() == 1 then return buffer end
   if values:dim() ~= 2 then error(what .. ' has invalid number of dimensions', 0) end
   if values:size(2) == 1 then return buffer:select(2, 1) end
   self._max:max(index, buffer, 2)
   return index:select(2, 1)
end

function ConfusionMatrix:batchAdd(predictions, targets)
   local predicted = classes_of(self, predictions, self._prediction, self._pred_idx, 'predictions')
   local wanted = classes_of(self, targets, self._target, self._targ_idx, 'targets')
   if wanted:size(1) ~= predicted:size(1) then local _ = predicted[wanted:ge(1)] end -- Torch7's error
   -- matrices in files of early versions have no flat view
   self._mat_flat = self._mat_flat or self.mat:view(-1)
   assert(self.mat:isContiguous())
   local counts, step = self._mat_flat, self.mat:stride(1)
   for k = 1, wanted:size(1) do
      local class = wanted[k]
      if class >= 1 then
         local place = (class - 1) * step + predicted[k]
         place = place - place % 1
         if place < 1 or place > counts:size(1) then
            counts:indexAdd(1, torch.LongTensor{ place }, counts:narrow(1, 1, 1)) -- Torch7's error
         end
         counts[place] = counts[place] + 1
      end
   end
end

function ConfusionMatrix:zero()
   self.mat:zero()
   self.valids:zero()
   self.unionvalids:zero()
   self.totalValid = 0
   self.averageValid = 0
end

-- valids: the fraction of each class that was predicted correctly; unionvalids: intersection over union; their averages
-- are over the classes that occur; totalValid: the fraction of all samples.
function ConfusionMatrix:updateValids()
   local right, valid, n_valid, union, n_union = 0, 0, 0, 0, 0
   for t = 1, self.nclasses do
      local hit = self.mat[t][t]
      local row, column = self.mat:select(1, t):sum(), self.mat:select(2, t):sum()
      self.valids[t] = hit / row
      self.unionvalids[t] = hit / (row + column - hit)
      right = right + hit
      local of_row, of_union = self.valids[t], self.unionvalids[t]
      if of_row == of_row then
         valid, n_valid = valid + of_row, n_valid + 1
         if of_union == of_union then union, n_union = union + of_union, n_union + 1 end
      end
   end
   self.totalValid = right / self.mat:sum()
   self.averageValid = valid / n_valid
   self.averageUnionValid = union / n_union
end

-- False rejection and false acceptance rates of each class (-1 without samples), then of those with samples.
function ConfusionMatrix:farFrr()
   local n = self.mat:size(1)
   local counts = self.mat:sum(2)
   for _, name in ipairs{ '_frrs', '_fars' } do self[name] = (self[name] or torch.zeros(n)):zero() end
   for _, name in ipairs{ '_classFrrs', '_classFars' } do self[name] = (self[name] or torch.zeros(n)):fill(-1) end
   local present = 0
   for i = 1, n do
      if counts[i][1] ~= 0 then
         present = present + 1
         local sum, others = 0, 0
         for j = 1, n do
            if j ~= i and counts[j][1] ~= 0 then
               sum, others = sum + self.mat[j][i] / counts[j][1], others + 1
            end
         end
         self._frrs[present], self._fars[present] = 1 - self.mat[i][i] / counts[i][1], sum / others
         self._classFrrs[i], self._classFars[i] = self._frrs[present], self._fars[present]
      end
   end
   return self._classFrrs, self._classFars, self._frrs[{ { 1, present } }], self._fars[{ { 1, present } }]
end

function ConfusionMatrix:__tostring__()
   self:updateValids()
   local width = math.max(8, 1 + math.ceil(math.log10(self.mat:max())))
   local lines = { 'ConfusionMatrix:\n[' }
   for t = 1, self.nclasses do
      local cells = {}
      for p = 1, self.nclasses do cells[p] = ('%' .. width .. 'd'):format(self.mat[t][p]) end
      local class = self.classes[1] and ('\t[class: %s]'):format(self.classes[t] or '') or ''
      lines[#lines + 1] = ('%s[%s]%s  %2.3f%% %s\n'):format(t == 1 and '' or ' ', table.concat(cells),
         t == self.nclasses and ']' or ' ', self.valids[t] * 100, class)
   end
   lines[#lines + 1] = (' + average row correct: %s%% \n'):format(tostring(self.averageValid * 100))
   lines[#lines + 1] = (' + average rowUcol correct (VOC measure): %s%% \n'):format(
      tostring(self.averageUnionValid * 100))
   lines[#lines + 1] = (' + global correct: %s%%'):format(tostring(self.totalValid * 100))
   return table.concat(lines)
end

function ConfusionMatrix:render()
   error('optim.ConfusionMatrix: render needs a Qt window, which th does not have; print(matrix) shows it as text', 2)
end
