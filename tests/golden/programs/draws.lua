-- What the random programs share: a generator of numbers of their own (torch's is one of the things to test), tensors laid
-- out in memory in every way, how results are shown, and the loop over the programs of a seed.
local draws = {}

local state
function draws.draw()
   state = (state * 16807) % 2147483647
   return state / 2147483647
end
function draws.whole(low, high) return low + math.floor(draws.draw() * (high - low + 1)) end
function draws.pick(list) return list[draws.whole(1, #list)] end
function draws.chance(p) return draws.draw() < p end
local whole, pick, chance = draws.whole, draws.pick, draws.chance

local told
function draws.tell(text) told[#told + 1] = tostring(text) end

-- n sizes
function draws.sizes(n, largest)
   local list = {}
   for d = 1, n do list[d] = whole(1, largest or 4) end
   return list
end
local function changed(list, d, n)
   local copy = { unpack(list) }
   copy[d] = n
   return copy
end
draws.changed = changed

-- Each makes a tensor of type T and the given sizes; filled(T, sizes, ...) makes one as it usually lies in memory.
local layouts = {}
function layouts.plain(filled, T, list, ...) return filled(T, list, ...) end
function layouts.transposed(filled, T, list, ...)
   local a, b = whole(1, #list), whole(1, #list)
   return filled(T, changed(changed(list, a, list[b]), b, list[a]), ...):transpose(a, b)
end
function layouts.narrowed(filled, T, list, ...)
   local d, more = whole(1, #list), whole(1, 2)
   return filled(T, changed(list, d, list[d] + more), ...):narrow(d, whole(1, more + 1), list[d])
end
function layouts.expanded(filled, T, list, ...)
   return filled(T, changed(list, whole(1, #list), 1), ...):expand(torch.LongStorage(list))
end
function layouts.stepped(filled, T, list, ...)
   return filled(T, changed(list, #list + 1, 2), ...):select(#list + 1, whole(1, 2))
end
function layouts.reversed(filled, T, list, ...)
   local sizes_back, order = {}, {}
   for d = 1, #list do sizes_back[d], order[d] = list[#list + 1 - d], #list + 1 - d end
   return filled(T, sizes_back, ...):permute(unpack(order))
end
local LAYOUTS = { 'plain', 'plain', 'transposed', 'narrowed', 'expanded', 'stepped', 'reversed' }
local UNEXPANDED = { 'plain', 'transposed', 'narrowed', 'stepped', 'reversed' }

-- A contiguous tensor whose elements are value(T, ...)
function draws.plain(T, list, value, ...)
   local t = torch[T .. 'Tensor']():resize(torch.LongStorage(list)) -- LongTensor(LongStorage) holds its elements
   local storage = t:storage()
   for i = 1, #storage do storage[i] = value(T, ...) end
   return t
end

-- The same, of value(T, extra), in a layout that is drawn, or the named one; unexpanded: with no stride of 0
function draws.tensor(T, list, value, extra, unexpanded, name)
   local function filled(T, list) return draws.plain(T, list, value, extra) end
   name = name or pick(unexpanded and UNEXPANDED or LAYOUTS)
   draws.tell(('%s[%s]%s'):format(T, table.concat(list, 'x'), name))
   return layouts[name](filled, T, list)
end

local function shown(x, most)
   if type(x) == 'number' then return ('%.5g'):format(x) end
   if torch.isTensor(x) then
      local values = {}
      if x:nElement() > 0 then
         local storage = x:clone():storage()
         for i = 1, math.min(#storage, most) do values[i] = ('%.5g'):format(storage[i]) end
      end
      local size = x:dim() > 0 and table.concat(x:size():totable(), 'x') or ''
      return ('%s[%s]{%s}'):format(torch.type(x):match('%.(%a+)Tensor'), size, table.concat(values, ' '))
   elseif torch.isStorage(x) then
      return torch.type(x) .. ' ' .. table.concat(x:totable(), ' ')
   elseif type(x) == 'table' then
      local list = {}
      for i = 1, table.maxn(x) do list[i] = shown(x[i], most) end
      return '(' .. table.concat(list, ', ') .. ')'
   end
   return type(x) == 'string' and x or (type(x) == 'boolean' or x == nil) and tostring(x) or type(x)
end
-- What a result is, with at most `most` elements of each tensor
function draws.shown(x, most) return shown(x, most or 60) end

-- Runs what program() gives, for the numbers of the command line: SEED COUNT [FIRST]. Prints a line for each: what it is,
-- and its results or its error, without positions in scripts or in C.
function draws.run(program)
   io.stdout:setvbuf('line')
   local seed, count, first = tonumber(arg[1]), tonumber(arg[2]), tonumber(arg[3] or 1)
   for case = first, count do
      state = (seed * 7919 + case * 104729 + 12345) % 2147483646 + 1
      for _ = 1, 8 do draws.draw() end
      told = {}
      local got = { pcall(program(), case) }
      local text
      if got[1] then
         local parts = {}
         for i = 2, table.maxn(got) do parts[#parts + 1] = draws.shown(got[i]) end
         text = table.concat(parts, ' ; ')
      else
         text = tostring(got[2]):gsub('[^ ]*%.lua:%d+: ', ''):gsub(' at [^ ]*%.c:?%d*', '')
         text = text:gsub('\n*stack traceback.*', ''):gsub('%s*\n%s*', ' | ')
         text = 'error: ' .. text
      end
      print(('%d %s => %s'):format(case, table.concat(told, ' '), text))
   end
end

return draws
