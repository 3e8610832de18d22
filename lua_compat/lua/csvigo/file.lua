-- csvigo.File: reads and writes the rows of a CSV file, one by one or all at once. A value that contains the separator
-- or a quote is quoted, with quotes in it doubled. A space as separator stands for any number of spaces.
local File = torch.class('csvigo.File')

function File:__init(path, mode, separator, nan_as_missing)
   self.filepath, self.separator, self.nan_as_missing = path, separator or ',', nan_as_missing or false
   local problem
   self.file, problem = io.open(path, mode)
   if not self.file then error(problem, 0) end
end

function File:close() self.file:close() end
function File:lines() return self.file:lines() end

-- The end of the value before the next separator, and the position after the separator.
local function next_separator(line, place, separator)
   local first, last
   if separator == ' ' then
      first, last = line:find('%s+', place)
   else
      first, last = line:find(separator, place, true)
   end
   return first and first - 1 or #line, (last or #line) + 1, first == nil
end

-- The quoted value that starts at place, and the position after its closing quote.
local function quoted(line, place)
   local pieces, from = {}, place + 1
   while true do
      local quote = line:find('"', from, true)
      if not quote then error('unmatched "', 0) end
      pieces[#pieces + 1] = line:sub(from, quote - 1)
      if line:sub(quote + 1, quote + 1) ~= '"' then return table.concat(pieces), quote + 1 end
      pieces[#pieces + 1] = '"'
      from = quote + 2
   end
end

local function row_of(line, separator)
   line = line:gsub('\r', '')
   local row, place, ended = {}, 1, false
   repeat
      local value
      if line:sub(place, place) == '"' then
         value, place = quoted(line, place)
         local _, behind, last = next_separator(line, place, separator)
         place, ended = behind, last
      else
         local last, behind, is_last = next_separator(line, place, separator)
         value, place, ended = line:sub(place, last), behind, is_last
      end
      row[#row + 1] = value
   until ended
   return row
end

-- The next row; nil at the end.
function File:read()
   local line = self.file:read()
   return line and row_of(line, self.separator)
end

-- A list that keeps the lines, and decodes each when it is read.
local function on_demand(lines, separator)
   local function row(_, i)
      assert(i, 'index has to be given')
      assert(i > 0 and i <= #lines, 'index out of bounds: ' .. i)
      return row_of(lines[i], separator)
   end
   local function iterate(rows)
      local i = 0
      return function()
         i = i + 1
         if i <= #lines then return i, row(rows, i) end
      end, rows
   end
   local SHOWN = 10
   return setmetatable({}, {
      __index = row,
      __newindex = function() error('attempt to update a read-only table', 2) end,
      __len = function() return #lines end,
      __ipairs = iterate,
      __pairs = iterate,
      __tostring = function()
         if #lines < 3 * SHOWN then return table.concat(lines, '\n') .. '\n' end
         local text = { table.concat(lines, '\n', 1, SHOWN) }
         for _ = 1, SHOWN do text[#text + 1] = '.. .. .. .. .. .. .. .. .. ' end
         text[#text + 1] = table.concat(lines, '\n', #lines - SHOWN, #lines)
         return table.concat(text, '\n') .. '\n'
      end,
   })
end

function File:readall(mode)
   local lines = {}
   for line in self.file:lines() do lines[#lines + 1] = line end
   if mode == 'large' then return on_demand(lines, self.separator) end
   for i, line in ipairs(lines) do lines[i] = row_of(line, self.separator) end
   return lines
end

function File:write(row)
   local values = {}
   for i, value in ipairs(row) do
      if self.nan_as_missing and value ~= value then value = '' end
      value = tostring(value)
      if value:find(self.separator, 1, true) or value:find('"', 1, true) then
         value = '"' .. value:gsub('"', '""') .. '"'
      end
      values[i] = value
   end
   assert(self.file:write(table.concat(values, self.separator), '\n'))
end

function File:writeall(rows)
   for _, row in ipairs(rows) do self:write(row) end
   return true
end
