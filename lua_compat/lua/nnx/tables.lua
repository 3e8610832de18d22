-- PushTable removes an entry from a table; a PullTable, made by its method pull, inserts it into a later one.
local Push = torch.class('nn.PushTable', 'nn.Module')
local Pull = torch.class('nn.PullTable', 'nn.Module')
local Module = torch.getmetatable('nn.Module')

-- A list without its entry i, or with value inserted as entry i.
local function without(list, i)
   local rest = {}
   for k, value in ipairs(list) do
      if k ~= i then rest[#rest + 1] = value end
   end
   return rest
end
local function with(list, i, value)
   local whole = {}
   for k, each in ipairs(list) do whole[k < i and k or k + 1] = each end
   whole[i] = value
   return whole
end

function Push:__init(index)
   Module.__init(self)
   self._index, self._pulls = index, {}
   self.output, self.gradInput = {}, {}
   self._gradInput, self._forward = torch.Tensor(), false
end

function Push:pull(index)
   local pull = nn.PullTable(self, index)
   table.insert(self._pulls, pull)
   return pull
end

function Push:updateOutput(input)
   self.output = without(input, self._index)
   for _, pull in ipairs(self._pulls) do pull._pulled = input[self._index] end
   self._forward = true
   return self.output
end

-- Called for each pull; their gradients are added.
function Push:_updateGradInput(gradOutput)
   if self._forward then
      self._gradInput = gradOutput:clone()
   else
      self._gradInput:add(gradOutput)
   end
   self._forward = false
end

function Push:updateGradInput(input, gradOutput)
   self.gradInput = with(gradOutput, self._index, self._gradInput)
   assert(#input == #self.gradInput, 'tables size mismatch')
   return self.gradInput
end

function Pull:__init(push, index)
   Module.__init(self)
   self._push, self._index = push, index
   self.output, self.gradInput = {}, {}
end

function Pull:updateOutput(input)
   if torch.isTensor(input) and self._index > 2 then error('table index out of range', 2) end
   self.output = with(torch.isTensor(input) and { input } or input, self._index, self._pulled)
   return self.output
end

function Pull:updateGradInput(input, gradOutput)
   self._push:_updateGradInput(gradOutput[self._index])
   local rest = without(gradOutput, self._index)
   if torch.isTensor(input) then
      self.gradInput = rest[1]
   else
      assert(#input == #rest, 'tables size mismatch')
      self.gradInput = rest
   end
   return self.gradInput
end

-- The two refer to each other, so what the other one holds is converted with it.
local function converting_all_but(class, field)
   class.type = function(self, type, cache)
      if not type then return Module.type(self) end
      local kept = self[field]
      self[field] = nil
      Module.type(self, type, cache)
      self[field] = kept
      return self
   end
end
converting_all_but(Push, '_pulls')
converting_all_but(Pull, '_push')
