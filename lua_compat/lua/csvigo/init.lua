-- The package csvigo: CSV files as lists of rows (raw), as columns by name (tidy), as a function that selects rows
-- (query), or as rows decoded on demand (large).
require 'torch'
require 'dok'

csvigo = {}
require 'csvigo.file'

local function expanded(path) return (path:gsub('^~', os.getenv('HOME') or '~')) end

local function speaker(verbose)
   return function(text)
      if verbose then print('<csv>', text) end
   end
end

-- Whether the first row names the columns: as the caller says or, for 'auto', if it does not start with a number.
local function has_header(header, first_row)
   if header == 'auto' then return tonumber(first_row[1]) == nil end
   return header == true or header == 'true'
end

-- Converts rows to columns by name. Also returns the names in their order.
local function tidied(rows, header, skip)
   local first = 1 + skip
   local names, columns = {}, {}
   if rows[first] == nil then return columns, names end
   if has_header(header, rows[first]) then
      names, first = rows[first], first + 1
   else
      for i = 1, #rows[first] do names[i] = 'var_' .. i end
   end
   for _, name in ipairs(names) do columns[name] = {} end
   for r = first, #rows do
      for i, value in ipairs(rows[r]) do
         local column = columns[names[i]]
         if not column then error(('row %d has %d values for %d columns'):format(r, #rows[r], #names), 3) end
         column[#column + 1] = value
      end
   end
   return columns, names
end

-- The rows in which each value of a column occurs.
local function places_of(column)
   local places = {}
   for row, value in ipairs(column) do
      places[value] = places[value] or {}
      table.insert(places[value], row)
   end
   return places
end

local USAGE =
   "query('vars'): the names; query() or query('all'): everything; query('union', {a = {1, 2}, b = 3}): the rows "
   .. "with a = 1 or a = 2 or b = 3; query('inter', ...): those with one of the values of each"

local function query_of(columns)
   local places = {}
   for name, column in pairs(columns) do places[name] = places_of(column) end

   -- For each row that matches any of the wanted columns, the number that it matches.
   local function counts(wanted)
      local agreeing, n = {}, 0
      for name, values in pairs(wanted) do
         n = n + 1
         if not places[name] then error(("there is no column '%s'"):format(tostring(name)), 3) end
         for _, value in ipairs(type(values) == 'table' and values or { values }) do
            for _, row in ipairs(places[name][tostring(value)] or {}) do agreeing[row] = (agreeing[row] or 0) + 1 end
         end
      end
      return agreeing, n
   end

   return function(what, wanted)
      what = what or 'all'
      if what == 'help' then
         print(USAGE)
         return
      elseif what == 'vars' then
         local names = {}
         for name in pairs(columns) do names[#names + 1] = name end
         return names
      elseif what == 'all' then
         return columns
      end
      local agreeing, n = counts(wanted)
      local rows = {}
      for row, count in pairs(agreeing) do
         if what == 'union' or count == n then rows[#rows + 1] = row end
      end
      table.sort(rows)
      local selected = {}
      for name, column in pairs(columns) do
         selected[name] = {}
         for i, row in ipairs(rows) do selected[name][i] = column[row] end
      end
      return selected
   end
end

function csvigo.load(...)
   local args, path, separator, mode, header, verbose, skip, column_order = dok.unpack({ ... }, 'csvigo.load',
      'Load a CSV file: raw: a list of rows; tidy: columns by name; query: a function that selects '
      .. 'rows; large: a list of '
      .. 'rows that are decoded when they are read',
      { arg = 'path', type = 'string', help = 'path to file', req = true },
      { arg = 'separator', type = 'string', help = 'separator (one character)', default = ',' },
      { arg = 'mode', type = 'string', help = 'load mode: raw | tidy | query | large', default = 'tidy' },
      { arg = 'header', type = 'string', help = 'file has a header: true | false | auto', default = 'auto' },
      { arg = 'verbose', type = 'boolean', help = 'verbose load', default = true },
      { arg = 'skip', type = 'number', help = 'skip this many lines at start of file', default = 0 },
      { arg = 'column_order', type = 'boolean', help = "return csv's column order in tidy mode", default = false })
   local say = speaker(verbose)
   path = expanded(path)
   say('parsing file: ' .. path)
   local file = csvigo.File(path, 'r', separator)
   local rows = file:readall(mode)
   file:close()
   if mode == 'raw' or mode == 'large' then
      say 'parsing done'
      return rows
   elseif mode ~= 'tidy' and mode ~= 'query' then
      print(args.usage)
      error('unknown mode', 2)
   end
   say 'tidying up entries'
   local columns, names = tidied(rows, header, skip)
   if mode == 'tidy' then
      say 'returning tidy table'
      if column_order then return names, columns end
      return columns
   end
   say 'generating reversed index for fast queries'
   say "returning query closure, type query('help') to get help"
   return query_of(columns)
end

-- Converts columns by name to rows; order: a list of names, or nil.
local function as_rows(columns, order, header)
   local names, rows = order, {}
   if not names then
      names = {}
      for name in pairs(columns) do names[#names + 1] = name end
      table.sort(names, function(a, b) return tostring(a) < tostring(b) end)
   end
   for _, name in ipairs(names) do
      for i, value in ipairs(columns[name]) do
         rows[i] = rows[i] or {}
         table.insert(rows[i], value)
      end
   end
   if header then table.insert(rows, 1, names) end
   return rows
end

function csvigo.save(...)
   local args, path, data, separator, mode, header, verbose = dok.unpack({ ... }, 'csvigo.save',
      'Save a table as a CSV file: raw: a list of rows; tidy: columns by name; query: what '
      .. 'csvigo.load gives in that mode',
      { arg = 'path', type = 'string', help = 'path to file', req = true },
      { arg = 'data', type = 'table', help = 'table to save as a CSV file', req = true },
      { arg = 'separator', type = 'string', help = 'separator (one character)', default = ',' },
      { arg = 'mode', type = 'string', help = 'table to save is represented as: raw | tidy | query',
         default = 'autodetect' },
      { arg = 'header', type = 'boolean', help = 'table has a header (variable names)', default = true },
      { arg = 'verbose', type = 'boolean', help = 'verbose load', default = true },
      { arg = 'column_order', type = 'table', help = 'write the columns in this order' },
      { arg = 'nan_as_missing', type = 'boolean', help = 'save nan values (0/0) as missing', default = false })
   local say = speaker(verbose)
   path = expanded(path)
   say('writing to file: ' .. path)
   if mode == 'autodetect' then mode = type(data) == 'function' and 'query' or #data == 0 and 'tidy' or 'raw' end
   if mode == 'query' then
      say 'generating tidy table'
      data, mode = data('all'), 'tidy'
   end
   if mode == 'tidy' then
      say 'exporting tidy table to raw CSV'
      data = as_rows(data, args.column_order, header)
   elseif mode ~= 'raw' then
      print(args.usage)
      error('unknown mode', 2)
   end
   local file = csvigo.File(path, 'w', separator, args.nan_as_missing)
   file:writeall(data)
   file:close()
   say 'writing done'
end

return csvigo
