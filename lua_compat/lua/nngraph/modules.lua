-- Modules that graphs need (JustElement, JustTable, ModuleFromCriterion), and nngraph.nest.

local JustElement = torch.class('nngraph.JustElement', 'nn.Module')

function JustElement:__init() self.gradInput = {} end

-- The only element of a table.
function JustElement:updateOutput(input)
   assert(#input == 1, 'expecting one element')
   self.output = input[1]
   return self.output
end

function JustElement:updateGradInput(_, gradOutput)
   self.gradInput[1] = gradOutput
   return self.gradInput
end

local JustTable = torch.class('nngraph.JustTable', 'nn.Module')

function JustTable:__init() self.output = {} end

-- A table of one element.
function JustTable:updateOutput(input)
   self.output[1] = input
   return self.output
end

function JustTable:updateGradInput(_, gradOutput)
   self.gradInput = gradOutput[1]
   return self.gradInput
end

-- A criterion as a module of {prediction, target}; the gradient of the target is zero.
local ModuleFromCriterion = torch.class('nn.ModuleFromCriterion', 'nn.Module')

function ModuleFromCriterion:__init(criterion)
   self.criterion = criterion
   self.output = torch.Tensor(1)
   self.gradInput = { torch.Tensor(), torch.Tensor() }
end

function ModuleFromCriterion:updateOutput(input)
   self.output[1] = self.criterion:updateOutput(input[1], input[2])
   return self.output
end

local function scaled(into, gradient, factor)
   return into:resizeAs(gradient):copy(gradient):mul(factor)
end

function ModuleFromCriterion:updateGradInput(input, gradOutput)
   local gradient = self.criterion:updateGradInput(input[1], input[2])
   if type(gradient) == 'table' then
      if type(self.gradInput[1]) ~= 'table' then self.gradInput[1] = {} end
      for i, part in ipairs(gradient) do
         self.gradInput[1][i] = scaled(self.gradInput[1][i] or part.new(), part, gradOutput[1])
      end
   else
      scaled(self.gradInput[1], gradient, gradOutput[1])
   end
   self.gradInput[2]:resizeAs(input[2]):zero()
   return self.gradInput
end

-- A node whose output has the structure of the argument: a node, or nested lists of nodes.
function nngraph.nest(...)
   local structure = ...
   assert(select('#', ...) <= 1, 'Use {input1, input2} to pass multiple inputs.')
   assert(structure ~= nil, 'Pass an input.')
   if torch.typename(structure) == 'nngraph.Node' then return structure end
   if type(structure) ~= 'table' or #structure == 0 then
      error('what is this in the nest input? ' .. tostring(structure), 2)
   end
   if #structure == 1 then return nngraph.JustTable()(structure) end
   local parts = {}
   for i, part in ipairs(structure) do parts[i] = nngraph.nest(part) end
   return nn.Identity()(parts)
end
