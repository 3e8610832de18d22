-- Parses the argument lists of gnuplot's functions into tensors with a legend and a format.
local arguments = {}

local function expecting(what) error('expecting ' .. what, 0) end

-- Splits a list into its strings and tensors; letters: the kinds in their order, s and t.
local function sorted(list)
   local letters, strings, tensors = {}, {}, {}
   for i = 1, #list do
      if type(list[i]) == 'string' then
         letters[i], strings[#strings + 1] = 's', list[i]
      elseif torch.isTensor(list[i]) then
         letters[i], tensors[#tensors + 1] = 't', list[i]
      else
         letters[i] = '?'
      end
   end
   return table.concat(letters), strings, tensors
end

-- The results of `read` for one argument list, or for each of several.
function arguments.each(read, ...)
   if select('#', ...) == 0 then error('no inputs, expecting at least a vector', 3) end
   local lists = { ... }
   if type(lists[1]) ~= 'table' then return { read(lists) } end
   if type(lists[1][1]) == 'table' then lists = lists[1] end
   local series = {}
   for i, list in ipairs(lists) do series[i] = read(list) end
   return series
end

local LINE = '[string,] tensor [,tensor] [,string]'

-- One tensor is y, or x and y in columns; with format v, four columns are the starts and ends of arrows.
local function columns(t, format)
   if t:dim() == 1 then return torch.range(1, t:size(1)), t end
   if t:dim() ~= 2 or t:size(2) < 2 then return torch.range(1, t:size(1)), t end
   if t:size(2) == 2 then return t:select(2, 1), t:select(2, 2) end
   if t:size(2) == 4 and format == 'v' then
      return torch.cat(t:narrow(2, 1, 1), t:narrow(2, 3, 1), 2), torch.cat(t:narrow(2, 2, 1), t:narrow(2, 4, 1), 2)
   end
   return t:select(2, 1), t:narrow(2, 2, t:size(2) - 1)
end

function arguments.line(list)
   if #list == 0 then error('empty argument list', 0) end
   local letters, strings, tensors = sorted(list)
   if not letters:find('^s?tt?s?$') then expecting(LINE) end
   local named = letters:byte() == 115 -- s
   local legend, format = named and strings[1] or '', strings[named and 2 or 1] or ''
   local x, y = tensors[1], tensors[2]
   if not y then x, y = columns(x, format) end
   if x:dim() > 2 or x:size(1) ~= y:size(1) then
      error(('x and y dims are wrong :  x = %dD y = %dD'):format(x:dim(), y:dim()), 0)
   end
   return { x, y, legend = legend, format = format }
end

function arguments.surface(list)
   local letters, strings, tensors = sorted(list)
   local x, y, z = unpack(tensors)
   if letters:find('^s?t$') then
      z = tensors[1]
      if z:dim() == 2 then
         x = torch.range(1, z:size(1)):view(-1, 1):expand(z:size(1), z:size(2))
         y = torch.range(1, z:size(2)):view(1, -1):expand(z:size(1), z:size(2))
      end
   elseif not letters:find('^s?ttt$') then
      expecting '[string,] tensor [,tensor] [,tensor]'
   end
   for _, t in ipairs{ z, x or z, y or z } do
      if t:dim() ~= 2 then error('x and y and z are expected to be matrices', 0) end
   end
   return { x, y, z, legend = strings[1] or '' }
end

function arguments.points(list)
   local letters, strings, tensors = sorted(list)
   if not letters:find('^s?ttt$') then expecting '[string,] tensor, tensor, tensor' end
   local x, y, z = unpack(tensors)
   assert(x:dim() == 1 and y:dim() == 1 and z:dim() == 1, 'x, y and z must be 1D')
   assert(x:isSameSizeAs(y) and x:isSameSizeAs(z), 'x, y and z must be the same size')
   return { x, y, z, legend = strings[1] or '' }
end

function arguments.picture(...)
   local letters, strings, tensors = sorted{ ... }
   if not letters:find('^ts?$') then expecting 'tensor [,string]' end
   if tensors[1]:dim() ~= 2 then error(('x is expected to be matrices x = %dD'):format(tensors[1]:dim()), 0) end
   return tensors[1], strings[1] or 'gray'
end

return arguments
