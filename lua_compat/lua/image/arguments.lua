-- Argument lists shared by several functions of image.
local arguments = {}

function arguments.wrong(name, forms)
   dok.error(('incorrect arguments; it takes %s'):format(forms), name)
end

-- [destination,] source, ...: destination or nil, source, then the rest.
function arguments.source(name, forms, first, second, ...)
   if not torch.isTensor(first) then arguments.wrong(name, forms) end
   if torch.isTensor(second) then return first, second, ... end
   return nil, first, second, ...
end

-- One of a list of words; the first is the default.
function arguments.choice(name, what, word, words)
   if word == nil then return words[1] end
   for _, accepted in ipairs(words) do
      if word == accepted then return word end
   end
   dok.error(('%s must be one of: %s'):format(what, table.concat(words, ' | ')), name)
end

return arguments
