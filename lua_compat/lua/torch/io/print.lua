-- Tensors and storages as text.
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'

local records = memory.records
local floor, ceil, abs, log10 = math.floor, math.ceil, math.abs, math.log10

local WIDTH = 80

-- How numbers are printed: their format, a common scale (1 for none) and their width.
local function number_format(values)
   local n = #values
   if n == 0 then return '', 1, 0 end
   local whole = true
   for i = 1, n do
      if values[i] ~= ceil(values[i]) then
         whole = false
         break
      end
   end
   -- As in Torch7, a NaN replaces the extrema.
   local low, high = abs(values[1]), abs(values[1])
   for i = 1, n do
      local size = abs(values[i])
      if not (size >= low) then low = size end
      if not (size <= high) then high = size end
      if size ~= size then
         low, high = size, size
         break
      end
   end
   local function digits(size) return size ~= 0 and floor(log10(size)) + 1 or 1 end
   low, high = digits(low), digits(high)
   if whole then
      if high > 9 then return '%11.4e', 1, 11 end
      return ('%%%sd'):format(high + 1), 1, high + 1
   end
   if high - low > 4 then
      local width = (abs(high) > 99 or abs(low) > 99) and 12 or 11
      return ('%%%d.4e'):format(width), 1, width
   end
   if high > 5 or high < 0 then return '%7.4f', 10 ^ (high - 1), 7 end
   local width = high == 0 and 7 or high + 6
   return ('%%%s.4f'):format(width), 1, width
end

-- A width that is not a number (all elements are NaN or infinite) cannot be used in a format.
local function usable(format)
   return tonumber(format:match('^%%([%-%w]*)') and format:match('^%%(%d+)')) and format or '%f'
end

local function lines_of(values)
   local format, scale = number_format(values)
   format = usable(format)
   local text = {}
   if scale ~= 1 then text[1] = ('%g *\n'):format(scale) end
   for i = 1, #values do text[#text + 1] = format:format(values[i] / scale) .. '\n' end
   return table.concat(text)
end

-- A matrix, given as a list of rows; the format is that of all_values.
local function matrix(rows, indent, all_values)
   local format, scale, width = number_format(all_values)
   format = usable(format)
   local columns = #rows[1]
   local per_line = floor((WIDTH - #indent) / (width + 1))
   if per_line ~= per_line then per_line = columns end -- NaN: all columns in one block
   per_line = math.max(per_line, 1)
   local text = { indent }
   local function add(piece) text[#text + 1] = piece end
   local first = 1
   while first <= columns do
      local last = math.min(first + per_line - 1, columns)
      if per_line < columns then
         if first ~= 1 then add('\n') end
         add(('Columns %d to %d\n'):format(first, last) .. indent)
      end
      if scale ~= 1 then add(('%g *\n '):format(scale) .. indent) end
      for i, row in ipairs(rows) do
         local cells = {}
         for c = first, last do cells[#cells + 1] = format:format(row[c] / scale) end
         add(table.concat(cells, ' ') .. '\n')
         if i ~= #rows then add(scale ~= 1 and indent .. ' ' or indent) end
      end
      first = last + 1
   end
   return table.concat(text)
end

-- The elements of a tensor (as numbers, in row-major order), which are the values of a contiguous copy's storage.
local function flatten(nested, into)
   for i = 1, #nested do
      if type(nested[i]) == 'table' then flatten(nested[i], into) else into[#into + 1] = nested[i] end
   end
   return into
end

local function size_text(r)
   local sizes = {}
   for d = 1, r.nd do sizes[d] = ('%d'):format(r[2 * d - 1]) end
   return table.concat(sizes, 'x')
end

local function tensor_text(self)
   local r = records[self]
   if r.nd == 0 then return ('[%s with no dimension]\n'):format(r.T.tensor) end
   local nested = self:totable()
   local footer = ('[%s of size %s]\n'):format(r.T.tensor, size_text(r))
   if r.nd == 1 then return lines_of(nested) .. footer end
   local all_values = flatten(nested, {})
   if r.nd == 2 then return matrix(nested, '', all_values) .. footer end
   -- Matrices over the last two dimensions; the first index varies fastest.
   local outer = r.nd - 2
   local counter, blocks = {}, {}
   for d = 1, outer do counter[d] = 1 end
   while true do
      local rows = nested
      for d = 1, outer do rows = rows[counter[d]] end
      blocks[#blocks + 1] = '(' .. table.concat(counter, ',') .. ',.,.) = \n' .. matrix(rows, ' ', all_values)
      local d = 1
      while d <= outer do
         counter[d] = counter[d] + 1
         if counter[d] <= r[2 * d - 1] then break end
         counter[d] = 1
         d = d + 1
      end
      if d > outer then break end
   end
   return table.concat(blocks, '\n') .. footer
end

local function storage_text(self)
   local S = records[self]
   return lines_of(self:totable()) .. ('[%s of size %d]\n'):format(S.T.storage, S.n)
end

for code = 1, types.count do
   local T = types[code]
   T.tensor_metatable.__tostring__ = tensor_text
   T.storage_metatable.__tostring__ = storage_text
end
