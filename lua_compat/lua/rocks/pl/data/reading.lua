-- Reads rows of fields.
local fields = require 'pl.data.fields'

-- Converts a text to a number; in CSV an empty field is zero.
local function number_reader(options)
   return function(text)
      if options.thousands_dot then text = text:gsub('%.(...)', '%1') end
      if options.csv and text == '' then return 0 end
      local number = tonumber(text)
      if number == nil then return nil, 'not a number' end
      return number
   end
end

-- All fields as numbers; nil if one is not a number.
local function all_numbers(parts)
   local numbers = {}
   for i, part in ipairs(parts) do
      numbers[i] = tonumber(part)
      if not numbers[i] then return nil end
   end
   return numbers
end

-- Conversions by column, in the order in which they were added.
local function new_conversions()
   local conversions = { columns = {} }
   function conversions.add(column, convert)
      conversions[#conversions + 1] = { column, convert }
      conversions.columns[column] = true
   end
   return conversions
end

local function convert_row(row, conversions, line_number)
   for _, conversion in ipairs(conversions) do
      local column, convert = conversion[1], conversion[2]
      local value, problem = convert(row[column])
      if value == nil then return nil, problem .. ': ' .. row[column] .. ' at line ' .. line_number end
      row[column] = value
   end
   return row
end

-- Returns the rows, with delim and fieldnames; or nil and an error.
return function(file, options)
   local stream, problem, opened = fields.open(file, 'r')
   if not stream then return nil, problem end
   if options.csv then options.delim = ',' end
   local line, line_number = stream:read(), 1
   if not line then return nil, 'empty file' end
   local delimiter = options.delim or fields.guess_delimiter(line)
   local as_number = number_reader(options)
   local conversions, rows = new_conversions(), {}
   local strips = delimiter == '%s+' and line:find('^%s')
   local function prepared(text) return strips and text and text:gsub('^%s+', '') or text end
   local function next_line()
      line, line_number = prepared(stream:read()), line_number + 1
   end
   line = prepared(line)

   for _, column in ipairs(options.numfields or {}) do conversions.add(column, as_number) end
   local names = options.fieldnames
   if type(names) == 'string' then names = fields.split(names, delimiter, options.csv) end
   if not names then
      local first = fields.split(line, delimiter, options.csv)
      local numbers = not options.convert and all_numbers(first)
      for column, convert in pairs(options.convert or {}) do conversions.add(column, convert) end
      if numbers then
         rows[1] = numbers
         for column = 1, #numbers do conversions.add(column, as_number) end
      else
         names = first
      end
      next_line()
   end
   local most = names and options.last_field_collect and #names or nil
   if names and line and not options.no_convert then
      for column, field in ipairs(fields.split(line, delimiter, options.csv, most)) do
         if not conversions.columns[column] and as_number(field) then conversions.add(column, as_number) end
      end
   end
   options.fieldnames = names

   while line do
      if line:find('%S') then
         local row, wrong = convert_row(fields.split(line, delimiter, options.csv, most), conversions, line_number)
         if not row then return nil, wrong end
         rows[#rows + 1] = row
      end
      next_line()
   end
   if opened then stream:close() end
   rows.delim, rows.fieldnames = delimiter == '%s+' and ' ' or delimiter, names or {}
   return rows
end
