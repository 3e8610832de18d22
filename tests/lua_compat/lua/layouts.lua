-- Every nn module computes the same however its input and gradOutput lie in memory.
-- usage: th layouts.lua CASES.lua [N]   (a list of { constructor, input shapes, options }, as
-- tests/golden/cases_nn.lua)
-- N: only every N-th of the comparisons.
-- Prints a line for each case that differs from the same on contiguous copies, then how many were compared.
require 'nn'
local cases = require './module_cases'
local map, copy, draw = cases.map, cases.copy, cases.draw
torch.setdefaulttensortype('torch.DoubleTensor')

local layouts = {}
function layouts.transposed(x)
   local n = x:dim()
   return x:transpose(1, n):clone():transpose(1, n)
end
function layouts.channels_last(x)
   if x:dim() < 3 then return layouts.transposed(x) end
   local channels = x:dim() == 3 and 1 or 2
   local to, back = {}, {}
   for d = 1, x:dim() do
      if d ~= channels then to[#to + 1] = d end
   end
   to[#to + 1] = channels
   for place, d in ipairs(to) do back[d] = place end
   return x:permute(unpack(to)):clone():permute(unpack(back))
end
function layouts.every_second(x) -- in each dimension
   local sizes = {}
   for d = 1, x:dim() do sizes[d] = 2 * x:size(d) end
   local view = torch.randn(torch.LongStorage(sizes))
   for d = 1, x:dim() do view = view:unfold(d, 1, 2):select(x:dim() + 1, 1) end
   return view:copy(x)
end
function layouts.expanded_first(x) return x:narrow(1, 1, 1):clone():expandAs(x) end
function layouts.expanded_last(x) return x:narrow(x:dim(), 1, 1):clone():expandAs(x) end
function layouts.constant(x)
   return torch.Tensor{ 0.37 }:view(torch.LongStorage(x:dim()):fill(1)):expandAs(x)
end
local names = { 'transposed', 'channels_last', 'every_second', 'expanded_first', 'expanded_last', 'constant' }

-- The largest difference, by the largest value; NaNs are equal.
local function difference(a, b)
   if torch.isTensor(a) then
      if not a:isSameSizeAs(b) then return math.huge end
      if a:nElement() == 0 then return 0 end
      local nan = a:ne(a)
      if not nan:equal(b:ne(b)) then return math.huge end
      a, b = a:clone(), b:clone()
      a[nan], b[nan] = 0, 0
      return (a - b):abs():max() / math.max(1, a:abs():max())
   elseif type(a) == 'table' then
      local largest = 0
      for k, v in pairs(a) do largest = math.max(largest, difference(v, b[k])) end
      return largest
   end
   return type(a) == 'number' and math.abs(a - b) or 0
end

local function evaluated(text) return assert(loadstring('return ' .. text))() end

-- All that a module, or a criterion with its target, computes.
local function results(module, input, second, is_criterion)
   torch.manualSeed(7)
   local output = copy(module:forward(input, is_criterion and second or nil))
   local parameters, gradients
   if module.parameters then parameters, gradients = module:parameters() end
   if gradients then module:zeroGradParameters() end
   torch.manualSeed(8)
   if not is_criterion then second = second(output) end
   local gradInput = copy(module:backward(input, second))
   return { output, gradInput, copy(gradients or {}) }
end

local every = tonumber(arg[2] or 1)
local compared, turn = 0, 0
local function compare(case)
   local constructor, shapes, options = case[1], case[2], case[3] or {}
   for _, name in ipairs(names) do
      local laid = layouts[name]
      local in_place = constructor:find('true%)$') and name:find('^[ec]') -- what it writes would count several times
      turn = turn + 1
      local what = turn % 3 -- input, gradOutput or target, both
      if turn % every == 0 and not in_place and not (options.labels and name == 'constant') then
         torch.manualSeed(1)
         local module = evaluated(constructor)
         if options.evaluate then module:evaluate() end
         local twin = module:clone()
         local input = draw(shapes, options)
         local second, second_copy
         if options.target then
            second = evaluated(options.target)
            if what ~= 0 then
               second = map(second, function(t) return t:dim() > 1 and name ~= 'constant' and laid(t) or t end)
            end
            second_copy = copy(second)
         else
            local function of(form)
               return function(output)
                  return map(output, function(t) return form(torch.randn(t:size())) end)
               end
            end
            second = of(what == 0 and function(t) return t end or laid)
            second_copy = of(what == 0 and function(t) return t end or function(t) return laid(t):clone() end)
         end
         if what ~= 1 then input = map(input, laid) end
         local plain = results(twin, copy(input), second_copy, options.target)
         local ok, got = pcall(results, module, input, second, options.target)
         compared = compared + 1
         -- some modules take nothing but contiguous tensors, in Torch7, too
         if not ok and not tostring(got):find('expecting a contiguous tensor', 1, true) then
            print(constructor, name, what, got)
         elseif ok and not (difference(plain, got) < 1e-11) then
            print(constructor, name, what, difference(plain, got))
         end
      end
   end
end

for _, case in ipairs(dofile(arg[1])) do compare(case) end
print(compared .. ' compared')
