-- Queries: 'FIELDS [where CONDITION] [sort by FIELD [desc]]', or a table with fields, where and sort_by. Fields are
-- names, or $1, $2 ...; the condition is a Lua expression in which they are variables, or a function of a row.
local utils = require 'pl.utils'

local query = {}

-- The expression for a field (name or number) of row v, or nil.
local function access(rows, field)
   local column = tonumber(field)
   if not column then
      for i, name in ipairs(rows.fieldnames) do
         if name == field then column = i end
      end
   end
   return column and 'v[' .. column .. ']'
end

-- Replaces the fields in an expression; also returns the last name that is not a field.
local function with_fields(rows, expression, pattern)
   local unknown
   local replaced = expression:gsub(pattern, function(field)
      local found = access(rows, field)
      if not found then unknown = field end
      return found or field
   end)
   return replaced, unknown
end

local function not_found(rows, field) return field .. ' not found in ' .. table.concat(rows.fieldnames, ',') end

local function sections(text)
   local where_start, where_end = text:find('where ', 1, true)
   local sort_start, sort_end = text:find('sort by ', 1, true)
   return {
      fields = text:sub(1, (where_start or sort_start or 0) - 1),
      where = where_start and text:sub(where_end + 1, (sort_start or 0) - 1) or nil,
      sort_by = sort_start and text:sub(sort_end + 1) or nil,
   }
end

-- Adds to a condition the Lua code of its values (for a row v) and of its condition. Returns it, or nil and an error.
function query.parse(rows, condition)
   local parsed = condition
   if type(condition) == 'string' then
      parsed = sections(condition)
   elseif type(condition) ~= 'table' then
      return nil, 'condition must be a string or a table'
   end
   if type(parsed.fields) == 'table' then parsed.fields = table.concat(parsed.fields, ',') end
   local by_number = parsed.fields:find('$', 1, true) or #rows.fieldnames == 0
   if parsed.fields:find('^%s*%*') then
      local all = utils.array_tostring(rows.fieldnames)
      if by_number then
         for i = 1, #rows[1] do all[i] = '$' .. i end
      end
      parsed.fields = table.concat(all, ',')
   end
   local pattern = '%$(%d+)'
   if not by_number then
      pattern = utils.patterns.IDEN
      parsed.fields = parsed.fields:gsub('%s+$', ''):gsub('[^,%w]', '_')
   end
   local unknown
   parsed.values, unknown = with_fields(rows, parsed.fields, pattern)
   if unknown then return nil, not_found(rows, unknown) end
   if parsed.where == nil or type(parsed.where) == 'string' then
      parsed.condition = with_fields(rows, parsed.where or 'true', pattern)
   end
   return parsed
end

-- The function that compares rows a and b.
local function comparison(rows, sort_by)
   local field, order = sort_by:match('^(%S*)%s*(.*)$')
   field = field:gsub('^%$', '')
   local value = access(rows, field)
   if not value then return nil, not_found(rows, field) end
   local operator = (order == '' or order == 'asc') and '<' or '>'
   return ('%s %s %s'):format(value:gsub('v', 'a'), operator, (value:gsub('v', 'b')))
end

local function in_order(rows, accepts, before)
   local sorted = {}
   for _, row in ipairs(rows) do
      if accepts(row) then sorted[#sorted + 1] = row end
   end
   table.sort(sorted, before)
   return sorted
end

-- Names are looked up in a list of tables, then in the globals.
local function environment_of(context)
   if not context then return nil end
   return setmetatable({}, { __index = function(_, name)
      for _, t in ipairs(context) do
         if t[name] then return t[name] end
      end
      return _G[name]
   end })
end

local SOURCE = 'return function(v) return %s end, function(v) return %s end, function(a, b) return %s end'

-- Iterates over the fields of the selected rows, as values or as a table. Returns nil and an error if the query is
-- invalid.
local function select(rows, condition, context, as_rows)
   local parsed, problem = query.parse(rows, condition)
   if not parsed then return nil, problem end
   local accepts
   if not parsed.condition then
      accepts = utils.function_arg(0, parsed.where, 'condition.where must be callable')
   end
   local order
   if parsed.sort_by then
      order, problem = comparison(rows, parsed.sort_by)
      if not order then return nil, problem end
   end
   local values = as_rows and '{' .. parsed.values .. '}' or parsed.values
   local chunk
   chunk, problem = utils.load(SOURCE:format(parsed.condition or 'true', values, order or 'false'), 'tmp', 't',
      environment_of(context) or _G)
   if not chunk then return nil, problem end
   local holds, value_of, before = chunk()
   accepts = accepts or holds
   if order then rows, accepts = in_order(rows, accepts, before), function() return true end end
   local i = 0
   return function()
      repeat i = i + 1 until i > #rows or accepts(rows[i])
      if i <= #rows then return value_of(rows[i]) end
   end
end

return setmetatable(query, { __call = function(_, ...) return select(...) end })
