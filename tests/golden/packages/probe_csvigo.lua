-- Run with the package csvigo: reads and writes CSV files in the folder arg[1]. csvigo.txt was recorded with the original.
local csv = require 'csvigo'
local one, two = arg[1] .. '/one.csv', arg[1] .. '/two.csv'
local file = io.open(one, 'w')
file:write('a,b\n1,"x, ""y"""\n2,z\n3,\r\n')
file:close()

local raw = csv.load{ path = one, mode = 'raw', verbose = false }
print(#raw, raw[2][2], #raw[4])
local tidy = csv.load{ path = one, verbose = false }
print(tidy.a[1], tidy.b[1], tidy.b[3], #tidy.a)
local names = csv.load{ path = one, verbose = false, column_order = true, header = false, skip = 1 }
print(names[1], names[2])
local large = csv.load{ path = one, mode = 'large', verbose = false }
print(#large, large[2][1], large[2][2], #large[4], pcall(function() large[1] = 2 end) == false)
for i, row in ipairs(large) do print(i, #row, row[1]) end
print((tostring(large):gsub('\r', '')))

local query = csv.load{ path = one, mode = 'query', verbose = false }
local found = query('union', { a = { 1, 3 } })
print(#found.a, found.b[1])
found = query('inter', { a = { 1, 2 }, b = 'z' })
print(#found.a, found.a[1])
print(#query('vars'), query() == query('all'))

local function show() print(io.open(two):read('*a')) end
csv.save{ path = two, data = { a = { 1, 0 / 0 }, b = { 'q"', 'c,d' } }, verbose = false, column_order = { 'b', 'a' },
   nan_as_missing = true }
show()
csv.save{ path = two, data = { a = { 1, 2 } }, header = false, verbose = false, separator = ';' }
show()
csv.save(two, { { 1, 2 }, { 'x', 4 } }, ' ', 'raw', true, false)
show()
local spaced = csv.load(two, ' ', 'raw', 'auto', false)
print(#spaced, spaced[2][1], spaced[2][2])
local reader = csv.File(two, 'r', ' ')
print(reader:read()[2], reader:read()[1], reader:read())
