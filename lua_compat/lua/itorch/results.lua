-- The values of a cell as a notebook shows them: as printed by th, and tensors also as HTML tables.
local pretty = require 'th.pretty'

local MOST_PRINTED = 10000 -- elements; larger tensors are shown in part
local SHOWN = 20           -- rows or columns of a table
local HALF = SHOWN / 2
local MATRICES = 4       -- of a tensor of more dimensions
local GAP = '&hellip;'

-- Which of n positions to show: all, or the first and last ones with a gap (false) between.
local function places(n)
   local found = {}
   for i = 1, n do
      if n <= SHOWN or i <= HALF or i > n - HALF then
         found[#found + 1] = i
      elseif i == HALF + 1 then
         found[#found + 1] = false
      end
   end
   return found
end

local function number_text(x)
   if x == math.floor(x) and math.abs(x) < 1e15 then return ('%d'):format(x) end
   local size = math.abs(x)
   return (size < 1e-3 or size >= 1e5) and ('%.4e'):format(x) or ('%.4f'):format(x)
end

local function footer(tensor)
   return ('[%s of size %s]'):format(tensor:type(), table.concat(tensor:size():totable(), 'x'))
end

-- A vector is shown as a column.
local function add_table(html, tensor, caption)
   local vector = tensor:dim() == 1
   local rows, columns = places(tensor:size(1)), vector and { 1 } or places(tensor:size(2))
   local function add(text) html[#html + 1] = text end
   add('<table>')
   if caption then add(('<caption>%s</caption>'):format(caption)) end
   if not vector then
      add('<thead><tr><th></th>')
      for _, j in ipairs(columns) do add(('<th>%s</th>'):format(j or GAP)) end
      add('</tr></thead>')
   end
   add('<tbody>')
   for _, i in ipairs(rows) do
      add(('<tr><th>%s</th>'):format(i or GAP))
      for _, j in ipairs(columns) do
         add(('<td>%s</td>'):format(not (i and j) and GAP or number_text(vector and tensor[i] or tensor[i][j])))
      end
      add('</tr>')
   end
   add('</tbody></table>')
end

-- The first matrices of a tensor, in the order in which th prints them: the first index varies fastest.
local function add_matrices(html, tensor)
   local outer, count = tensor:dim() - 2, 1
   for d = 1, outer do count = count * tensor:size(d) end
   for number = 0, math.min(count, MATRICES) - 1 do
      local matrix, caption, left = tensor, {}, number
      for d = 1, outer do
         local index = left % tensor:size(d) + 1
         left = math.floor(left / tensor:size(d))
         matrix, caption[d] = matrix[index], index
      end
      add_table(html, matrix, ('(%s,.,.)'):format(table.concat(caption, ',')))
   end
   if count > MATRICES then html[#html + 1] = GAP end
end

local function html_of(tensor)
   local html = {}
   if tensor:dim() > 2 then add_matrices(html, tensor) else add_table(html, tensor) end
   html[#html + 1] = ('<p>%s</p>'):format(footer(tensor))
   return table.concat(html)
end

-- The corner of a large tensor, as printed by th.
local function corner(tensor)
   local shown = tensor
   for d = 1, tensor:dim() do
      shown = shown:narrow(d, 1, math.min(shown:size(d), d > tensor:dim() - 2 and SHOWN or 2))
   end
   local sizes = table.concat(shown:size():totable(), 'x')
   local text = tostring(shown:clone()):gsub('%[[^\n]*%]\n$', '')
   return ('%sthe first %s of %s\n'):format(text, sizes, footer(tensor))
end

local function text_of(value)
   if torch.isTensor(value) and value:nElement() > MOST_PRINTED then return corner(value) end
   return pretty.line(1, value)
end

-- A cell that only requires a package does not show its contents.
local function is_package(value)
   if type(value) ~= 'table' then return false end
   for _, contents in pairs(package.loaded) do
      if rawequal(contents, value) then return true end
   end
   return false
end

local results = {}

-- The values as texts by media type; nil if there is nothing to show.
function results.data(...)
   local n = select('#', ...)
   local first = ...
   if n == 1 and is_package(first) then return nil end
   if n == 1 and first ~= nil then
      local is_table = torch.isTensor(first) and first:dim() > 0
      return { ['text/plain'] = text_of(first):gsub('\n+$', ''), ['text/html'] = is_table and html_of(first) or nil }
   end
   local lines = {}
   for place = 1, n do
      local value = select(place, ...)
      if value ~= nil then lines[#lines + 1] = text_of(value) end
   end
   if #lines > 0 then return { ['text/plain'] = table.concat(lines):gsub('\n+$', '') } end
end

return results
