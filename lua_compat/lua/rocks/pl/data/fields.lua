-- Splits lines into fields, and opens the files that they are in.
local utils = require 'pl.utils'

local fields = {}

function fields.list(t) return setmetatable(t, require 'pl.List') end

local STREAMS = { stdin = true, stdout = true }

-- Returns a file, given by name or as an object, or nil; the error; and whether it was opened here.
function fields.open(file, mode)
   local opened = false
   if type(file) == 'string' then
      if STREAMS[file] then
         file = io[file]
      else
         local problem
         file, problem = io.open(file, mode)
         if not file then return nil, problem end
         opened = true
      end
   end
   if file and not file[mode == 'r' and 'read' or 'write'] then return nil, 'not a file-like object' end
   return file, nil, opened
end

-- In CSV, commas within quotes do not separate fields, and a trailing comma is followed by an empty field.
function fields.split(line, delimiter, csv, n)
   if not csv then return fields.list(utils.split(line, delimiter, false, n)) end
   local unquoted = line:gsub('"([^"]+)"', function(quoted) return (quoted:gsub(',', '\1')) end)
   local parts = utils.split(unquoted, delimiter, false, n)
   for i, part in ipairs(parts) do parts[i] = part:gsub('\1', ',') end
   if line:find(',$') then parts[#parts + 1] = '' end
   return fields.list(parts)
end

-- The first of comma, tab, space and semicolon that occurs in a line, as a pattern.
function fields.guess_delimiter(line)
   for _, delimiter in ipairs{ ',', '\t', ' ', ';' } do
      if line:find(delimiter, 1, true) then return delimiter == ' ' and '%s+' or delimiter end
   end
   return ' '
end

return fields
