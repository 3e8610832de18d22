-- How an operation is computed: the one convention of torch and nn.
--
-- LuaJIT computes small inputs, BLAS some larger ones, and PyTorch everything that they refuse. A way is a function
-- that returns a true value if it has computed the operation. Otherwise it says why not: `return no 'rows that lie
-- apart'`, or `return no('more than %d elements', MOST)`.
--    local by_blas = ways.of('dot', blas.dot, 'blas') -- the ways of an operation of torch, in the order of trial:
--    local by_luajit = ways.of('dot', add_up)         -- by_blas(a, b) or by_luajit(a, b) or python.dot(...)
--    local sort = ways.alone('sort', ordering.sort)   -- the only way: it always computes
--    function ways.luajit.lookup_table(...) end       -- a kernel of nn: returns true and the kernel's result, if any
-- In most states ways.of returns f itself, ways.luajit is an ordinary table, and `no` returns false, so nothing is
-- added to a call. In a watched state (th --ways, th --way, Runtime(way=...)) calls and reasons are counted.
local shared = require 'th.python'

local ways = { luajit = {} }

function ways.no() return false end
function ways.of(_, f) return f end
function ways.alone(_, f) return f end
-- For a file that adds ways of nn's kernels: the table of them, and `no`.
function ways.of_kernels() return ways.luajit, ways.no end
function ways.only() error('only a state that is watched can be told which way to take', 0) end

if not shared.watched then return ways end

local rawset, setmetatable, error, ipairs, pairs, select = rawset, setmetatable, error, ipairs, pairs, select
local sort, concat = table.sort, table.concat

local asked         -- nil, 'pytorch' or 'luajit'; the latter includes BLAS
local reason        -- the last one given
local operations = {} -- by name: { name, way..., [way] = { calls = n, refusals = { [reason] = n } } }

function ways.no(why, ...)
   reason = select('#', ...) > 0 and why:format(...) or why
   return false
end

-- Sets the only way allowed from now on (nil: any). If 'luajit' is asked for and refuses, an error says why.
function ways.only(way) asked = way end

local function note(operation, way, done, ...)
   local found = operation[way]
   if done then
      found.calls = found.calls + 1
   else
      local why = reason or 'no reason is given'
      found.refused, found.refusals[why] = found.refused + 1, (found.refusals[why] or 0) + 1
      if asked == 'luajit' and way == operation[#operation] then
         error(('%s: PyTorch is left: %s'):format(operation.name, why), 0)
      end
   end
   return done, ...
end

local function refuse(operation, way)
   reason = 'PyTorch is asked for'
   return note(operation, way, false)
end

local function operation_of(name, way)
   local operation = operations[name] or { name = name }
   operations[name] = operation
   if not operation[way] then
      operation[#operation + 1], operation[way] = way, { calls = 0, refused = 0, refusals = {} }
   end
   return operation
end

-- A way that is the only one: it also computes where PyTorch is asked for.
function ways.alone(name, f)
   local operation = operation_of(name, 'luajit')
   return function(...) return note(operation, 'luajit', f(...)) end
end

function ways.of(name, f, way)
   way = way or 'luajit'
   local operation = operation_of(name, way)
   return function(...)
      if asked == 'pytorch' then return refuse(operation, way) end
      reason = nil
      return note(operation, way, f(...))
   end
end

-- Kernels without a LuaJIT way refuse.
setmetatable(ways.luajit, {
   __newindex = function(self, name, f) rawset(self, name, ways.of(name, f)) end,
   __index = function(self, name)
      self[name] = function() return ways.no 'LuaJIT has no way' end
      return self[name]
   end,
})

-- Resets the counts.
function ways.forget()
   for _, operation in pairs(operations) do
      for _, way in ipairs(operation) do operation[way] = { calls = 0, refused = 0, refusals = {} } end
   end
end

-- The counts of a thread, as text: a line for each way, and one for each reason. ways.add adds them to another state's.
function ways.lines()
   local lines = {}
   for name, operation in pairs(operations) do
      for _, way in ipairs(operation) do
         lines[#lines + 1] = ('%s\t%s\t%d\t\n'):format(name, way, operation[way].calls)
         for why, times in pairs(operation[way].refusals) do
            lines[#lines + 1] = ('%s\t%s\t%d\t%s\n'):format(name, way, times, why)
         end
      end
   end
   return concat(lines)
end

function ways.add(lines)
   for name, way, times, why in lines:gmatch('([^\t]*)\t([^\t]*)\t(%d+)\t([^\n]*)\n') do
      local found = operation_of(name, way)[way]
      if why == '' then
         found.calls = found.calls + times
      else
         found.refused, found.refusals[why] = found.refused + times, (found.refusals[why] or 0) + times
      end
   end
end

-- The counts: a list of { name, way, calls, reasons }, most calls first. reasons: why the ways before it refused, as {
-- [reason] = count }. PyTorch computes what the last of the others refuses.
function ways.counted()
   local rows = {}
   for name, operation in pairs(operations) do
      local reasons, last = {}, nil
      for _, way in ipairs(operation) do
         last = operation[way]
         rows[#rows + 1] = { name = name, way = way, calls = last.calls, reasons = reasons }
         reasons = last.refusals
      end
      rows[#rows + 1] = { name = name, way = 'pytorch', calls = last.refused, reasons = reasons }
   end
   for k = #rows, 1, -1 do
      if rows[k].calls == 0 then table.remove(rows, k) end
   end
   sort(rows, function(a, b)
      if a.calls ~= b.calls then return a.calls > b.calls end
      return a.name .. a.way < b.name .. b.way
   end)
   return rows
end

-- The counts as text, one line each.
function ways.report()
   local lines = { ('%-40s %-8s %9s  %s'):format('operation', 'way', 'calls', 'why not a faster one') }
   for _, row in ipairs(ways.counted()) do
      local why = {}
      for text, times in pairs(row.reasons) do why[#why + 1] = { text = text, times = times } end
      sort(why, function(a, b) return a.times > b.times or a.times == b.times and a.text < b.text end)
      for k, one in ipairs(why) do why[k] = ('%s (%d)'):format(one.text, one.times) end
      local line = ('%-40s %-8s %9d  %s'):format(row.name, row.way, row.calls, concat(why, ', '))
      lines[#lines + 1] = line:gsub('%s+$', '')
   end
   return concat(lines, '\n')
end

return ways
