-- What the scripts here that run recorded cases of nn (tests/golden/cases_nn.lua) have in common.
local cases = {}

-- x with each tensor t in it, however deep in tables, replaced by f(t).
function cases.map(x, f)
   if torch.isTensor(x) then return f(x) end
   if type(x) ~= 'table' then return x end
   local mapped = {}
   for k, v in pairs(x) do mapped[k] = cases.map(v, f) end
   return mapped
end

function cases.copy(x) return cases.map(x, function(t) return t:clone() end) end

-- Random tensors of the shapes, a table of them where there are several; options: a case's.
function cases.draw(shapes, options)
   local list = {}
   for i, shape in ipairs(shapes) do
      local t = torch.randn(torch.LongStorage(shape))
      if options.positive then t:abs():add(0.1) end
      if options.unit then t = torch.sigmoid(t) end
      if options.labels then t:apply(function() return torch.random(1, options.labels) end) end
      list[i] = t
   end
   return #list == 1 and list[1] or list
end

return cases
