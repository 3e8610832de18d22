-- pl.array2d: lists of rows. Ranges are given by rows and columns (negative ones count from the end), or as in
-- spreadsheets: 'A1:B3', 'R1C1:R3C2'.
local ranges = require 'pl.array2d.ranges'
local tablex = require 'pl.tablex'
local types = require 'pl.types'
local utils = require 'pl.utils'
local assert_arg, function_arg = utils.assert_arg, utils.function_arg

local array2d = { parse_range = ranges.parse, default_range = ranges.bounds, size = ranges.size }

local function like(result, source)
   local metatable = getmetatable(source)
   return metatable and setmetatable(result, metatable) or result
end

local function list(t) return setmetatable(t, require 'pl.List') end

function array2d.column(a, j)
   assert_arg(1, a, 'table')
   return list(tablex.imap(function(row) return row[j] end, a))
end

function array2d.row(a, i)
   assert_arg(1, a, 'table')
   return list(tablex.copy(a[i]))
end

function array2d.map(f, a, argument)
   assert_arg(1, a, 'table')
   f = function_arg(1, f)
   return like(tablex.imap(function(row) return tablex.imap(f, row, argument) end, a), a)
end

function array2d.reduce_rows(f, a)
   assert_arg(1, a, 'table')
   return tablex.map(function(row) return tablex.reduce(f, row) end, a)
end

function array2d.reduce_cols(f, a)
   assert_arg(1, a, 'table')
   return tablex.map(function(j) return tablex.reduce(f, array2d.column(a, j)) end, tablex.keys(a[1]))
end

-- Reduces each row, and then the results.
function array2d.reduce2(of_rows, within_rows, a)
   assert_arg(3, a, 'table')
   return tablex.reduce(of_rows, array2d.reduce_rows(within_rows, a))
end

-- Two arrays, one of which may be a single row (its number of dimensions is then 1).
function array2d.map2(f, a_dimensions, b_dimensions, a, b, argument)
   assert_arg(1, a, 'table')
   assert_arg(2, b, 'table')
   f = function_arg(1, f)
   local function of_rows(x, y) return tablex.map2(f, x, y, argument) end
   if a_dimensions == 1 and b_dimensions == 2 then
      return tablex.imap(function(row) return of_rows(a, row) end, b)
   elseif a_dimensions == 2 and b_dimensions == 1 then
      return tablex.imap(function(row) return of_rows(row, b) end, a)
   elseif a_dimensions == 1 and b_dimensions == 1 then
      return tablex.map2(f, a, b)
   elseif a_dimensions == 2 and b_dimensions == 2 then
      return tablex.map2(of_rows, a, b)
   end
end

-- All pairs of elements of two lists.
function array2d.product(f, a, b)
   f = function_arg(1, f)
   assert_arg(2, a, 'table')
   assert_arg(3, b, 'table')
   local results = {}
   for i, value in ipairs(b) do results[i] = tablex.map(f, a, value) end
   return results
end

-- The elements row by row; if there are gaps, the longest row determines the width.
function array2d.flatten(a)
   local flat, columns, place = {}, 0, 0
   for _, row in ipairs(a) do
      columns = math.max(columns, row.n or #row)
      for j in pairs(row) do
         if type(j) == 'number' then columns = math.max(columns, j) end
      end
   end
   for _, row in ipairs(a) do
      for j = 1, columns do
         place = place + 1
         flat[place] = row[j]
      end
   end
   flat.n = nil
   return list(flat)
end

-- by_columns: read and write column by column.
function array2d.reshape(a, rows, by_columns)
   local old_rows, old_columns = ranges.size(a)
   local columns = old_rows * old_columns / rows
   local made = {}
   local place = 0
   for i = 1, rows do
      made[i] = {}
      for j = 1, columns do
         local within = by_columns and old_rows or old_columns
         local outer, inner = math.floor(place / within) + 1, place % within + 1
         if by_columns then made[i][j] = a[inner][outer] else made[i][j] = a[outer][inner] end
         place = place + 1
      end
   end
   return like(made, a)
end

function array2d.transpose(a)
   assert_arg(1, a, 'table')
   local _, columns = ranges.size(a)
   return array2d.reshape(a, columns, true)
end

function array2d.swap_rows(a, i, k)
   assert_arg(1, a, 'table')
   a[i], a[k] = a[k], a[i]
   return a
end

function array2d.swap_cols(a, j, k)
   assert_arg(1, a, 'table')
   for _, row in ipairs(a) do row[j], row[k] = row[k], row[j] end
   return a
end

function array2d.extract_rows(a, rows) return like(tablex.index_by(a, rows), a) end

function array2d.extract_cols(a, columns)
   assert_arg(1, a, 'table')
   local made = {}
   for i, row in ipairs(a) do made[i] = tablex.index_by(row, columns) end
   return like(made, a)
end

array2d.remove_row = table.remove

function array2d.remove_col(a, j)
   assert_arg(1, a, 'table')
   for _, row in ipairs(a) do table.remove(row, j) end
   return a
end

-- The part that a text describes: an element or an array.
function array2d.range(a, text)
   assert_arg(1, a, 'table')
   local i1, j1, i2, j2 = ranges.parse(text)
   if i2 then return array2d.slice(a, i1, j1, i2, j2) end
   return a[i1][j1]
end

-- A single row or column becomes a list.
function array2d.slice(a, i1, j1, i2, j2)
   assert_arg(1, a, 'table')
   i1, j1, i2, j2 = ranges.bounds(a, i1, j1, i2, j2)
   local rows = {}
   for i = i1, i2 do
      local part = {}
      for j = j1, j2 do part[#part + 1] = a[i][j] end
      rows[#rows + 1] = j1 == j2 and part[1] or part
   end
   if i1 == i2 then rows = rows[1] end
   return like(rows, a)
end

-- value: a value, or a function of row and column.
function array2d.set(a, value, i1, j1, i2, j2)
   i1, j1, i2, j2 = ranges.bounds(a, i1, j1, i2, j2)
   local f = types.is_callable(value) and value
   for i = i1, i2 do
      for j = j1, j2 do
         if f then a[i][j] = f(i, j) else a[i][j] = value end
      end
   end
end

function array2d.forall(a, each, after_row, i1, j1, i2, j2)
   assert_arg(1, a, 'table')
   i1, j1, i2, j2 = ranges.bounds(a, i1, j1, i2, j2)
   for i = i1, i2 do
      local row = a[i]
      for j = j1, j2 do each(row, j) end
      if after_row then after_row(i) end
   end
end

function array2d.write(a, file, format, i1, j1, i2, j2)
   assert_arg(1, a, 'table')
   file = file or io.stdout
   local function each(row, j)
      if format then utils.fprintf(file, format, row[j]) else file:write(tostring(row[j]), ' ') end
   end
   array2d.forall(a, each, function() file:write('\n') end, i1, j1, i2, j2)
end

-- Copies a part of one array into another.
function array2d.move(into, i, j, from, i1, j1, i2, j2)
   assert_arg(1, into, 'table')
   assert_arg(4, from, 'table')
   i1, j1, i2, j2 = ranges.bounds(from, i1, j1, i2, j2)
   local rows, columns = ranges.size(into)
   for k = i1, math.min(rows, i2) do
      for l = j1, math.min(columns, j2) do into[k + i - 1][l + j - 1] = from[k][l] end
   end
end

-- Iterates over the elements; with_indices: returns row, column and element.
function array2d.iter(a, with_indices, i1, j1, i2, j2)
   assert_arg(1, a, 'table')
   i1, j1, i2, j2 = ranges.bounds(a, i1, j1, i2, j2)
   local i, j = i1, j1 - 1
   return function()
      j = j + 1
      if j > j2 then i, j = i + 1, j1 end
      if i > i2 then return nil end
      if with_indices then return i, j, a[i][j] end
      return a[i][j]
   end
end

local function each_of(a, n, part)
   local i = 0
   return function()
      i = i + 1
      if i <= n then return part(a, i), i end
   end
end

function array2d.columns(a)
   assert_arg(1, a, 'table')
   local _, columns = ranges.size(a)
   return each_of(a, columns, array2d.column)
end

function array2d.rows(a)
   assert_arg(1, a, 'table')
   return each_of(a, #a, array2d.row)
end

function array2d.new(rows, columns, value)
   local made = {}
   local f = types.is_callable(value) and value
   for i = 1, rows do
      made[i] = {}
      for j = 1, columns do
         if f then made[i][j] = f(i, j) else made[i][j] = value end
      end
   end
   return made
end

return array2d
