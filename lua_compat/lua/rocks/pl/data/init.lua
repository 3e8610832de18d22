-- pl.data: rows of fields read from files, with queries.
local fields = require 'pl.data.fields'
local query = require 'pl.data.query'
local read = require 'pl.data.reading'
local utils = require 'pl.utils'

local data = { query = query }

local Data = {}

-- The methods are those below and array2d's.
function Data.__index(_, name)
   local method = Data[name]
   if method ~= nil then return method end
   return require('pl.array2d')[name]
end

function Data:column_names() return self.fieldnames end

function Data:column_by_name(name)
   if type(name) == 'number' then name = '$' .. name end
   local column = fields.list{}
   for value in query(self, name) do column[#column + 1] = value end
   return column
end

Data.select = query
function Data:select_row(condition, context) return query(self, condition, context, true) end

-- New data with the rows and fields that a query selects.
function Data:copy_select(condition)
   local parsed, problem = query.parse(self, condition)
   if not parsed then error(problem, 2) end
   local next_row, rows = query(self, parsed, nil, true), { delim = self.delim }
   for row in next_row do rows[#rows + 1] = fields.list(row) end
   return data.new(rows, fields.split(parsed.fields, ','))
end

local function write_row(file, row, delimiter)
   file:write(table.concat(utils.array_tostring(row), delimiter), '\n')
end

function Data:write_row(file, row) write_row(file, row, self.delim) end
function Data:write(file) data.write(self, file, self.fieldnames, self.delim) end

-- Field names are converted to valid identifiers; the originals are kept in original_fieldnames.
function data.new(rows, names)
   rows.fieldnames = rows.fieldnames or names or ''
   if not rows.delim and type(rows.fieldnames) == 'string' then
      rows.delim = fields.guess_delimiter(rows.fieldnames)
      rows.fieldnames = fields.split(rows.fieldnames, rows.delim)
   end
   fields.list(rows.fieldnames)
   rows.original_fieldnames = {}
   for i, name in ipairs(rows.fieldnames) do
      local stripped = name:match('^%s*(.-)%s*$')
      rows.original_fieldnames[i] = stripped
      rows.fieldnames[i] = stripped:gsub('%W', '_')
   end
   return setmetatable(rows, Data)
end

-- options: delim, fieldnames, no_convert, convert, numfields, last_field_collect, thousands_dot, csv.
function data.read(file, options)
   local rows, problem = read(file, options or {})
   if not rows then return nil, problem end
   return data.new(rows)
end

function data.write(rows, file, names, delimiter)
   local stream, problem, opened = fields.open(file, 'w')
   if not stream then return nil, problem end
   names, delimiter = names or rows.fieldnames, delimiter or '\t'
   if names and #names > 0 then stream:write(table.concat(names, delimiter), '\n') end
   for _, row in ipairs(rows) do write_row(stream, row, delimiter) end
   if opened then stream:close() end
   return true
end

-- Writes what a query selects from one file (default: stdin) to another (default: stdout).
function data.filter(condition, from, to, return_errors)
   local rows = data.read(from or 'stdin')
   local stream = fields.open(to or 'stdout', 'w')
   local next_row, problem = query(rows, condition)
   if not next_row then
      problem = 'error: ' .. problem
      if return_errors then return nil, problem end
      utils.quit(1, problem)
   end
   local row = { next_row() }
   while #row > 0 do
      stream:write(table.concat(row, rows.delim), '\n')
      row = { next_row() }
   end
end

return data
