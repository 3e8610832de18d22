-- Moses' functions for tables with any keys.
local objects = require((...):gsub('[^.]+$', 'objects'))
local isCallable, isEqual, isInteger = objects.isCallable, objects.isEqual, objects.isInteger
local M = {}

local function less(a, b) return a < b end
local function more(a, b) return a > b end

function M.clear(t)
   for key in pairs(t) do t[key] = nil end
   return t
end

function M.each(t, f, ...)
   for key, value in pairs(t) do f(key, value, ...) end
end

-- Visits the integer keys, lowest first.
function M.eachi(t, f, ...)
   local keys = {}
   for key in pairs(t) do
      if isInteger(key) then keys[#keys + 1] = key end
   end
   table.sort(keys)
   for _, key in ipairs(keys) do f(key, t[key], ...) end
end

function M.at(t, ...)
   local values = {}
   for _, key in ipairs{ ... } do values[#values + 1] = t[key] end
   return values
end

-- Replaces each value by the result of f; two results are a key and its value.
function M.map(t, f, ...)
   local results = {}
   for key, value in pairs(t) do
      local first, second = f(key, value, ...)
      if second then
         results[first or key] = second
      else
         results[key] = first
      end
   end
   return results
end
local map = M.map

function M.select(t, f, ...)
   local selected = {}
   for key, value in pairs(t) do
      if f(key, value, ...) then selected[#selected + 1] = value end
   end
   return selected
end
local select_values = M.select

-- The values for which f returns false; those for which it returns nil are dropped.
function M.reject(t, f, ...)
   local left = {}
   for key, rejected in pairs(map(t, f, ...)) do
      if not rejected then left[#left + 1] = t[key] end
   end
   return left
end

function M.count(t, value)
   if value == nil then return objects.size(t) end
   local n = 0
   for _, other in pairs(t) do
      if isEqual(other, value) then n = n + 1 end
   end
   return n
end

function M.countf(t, f, ...) return M.count(map(t, f, ...), true) end

-- An iterator that visits a table n times.
function M.cycle(t, n)
   n = n or 1
   if n <= 0 then return function() end end
   local first, key
   local rounds = 0
   return function()
      key = key and next(t, key) or next(t)
      first = first or key
      if key == first then rounds = rounds + 1 end
      if rounds > n then return end
      return key, t[key]
   end
end

function M.reduce(t, f, state)
   for _, value in pairs(t) do
      if state == nil then state = value else state = f(state, value) end
   end
   return state
end
local reduce = M.reduce

function M.reduceby(t, f, state, pred, ...) return reduce(select_values(t, pred, ...), f, state) end

function M.mapReduce(t, f, state)
   local states = {}
   for key, value in pairs(t) do
      if state then state = f(state, value) else state = value end
      states[key] = state
   end
   return states
end

local function reversed(array)
   local list = {}
   for place = #array, 1, -1 do list[#list + 1] = array[place] end
   return list
end

function M.reduceRight(t, f, state) return reduce(reversed(t), f, state) end
function M.mapReduceRight(t, f, state) return M.mapReduce(reversed(t), f, state) end

-- The key of the first value that equals `value` or, if that is a function, satisfies it.
function M.detect(t, value)
   local matches = type(value) == 'function' and value or isEqual
   for key, other in pairs(t) do
      if matches(other, value) then return key end
   end
end

function M.include(t, value) return M.detect(t, value) ~= nil end

local function having(props)
   return function(value)
      for key, wanted in pairs(props) do
         if value[key] ~= wanted then return false end
      end
      return true
   end
end

function M.where(t, props)
   local has_props = having(props)
   local found = select_values(t, function(_, value) return has_props(value) end)
   return #found > 0 and found or nil
end

function M.findWhere(t, props)
   local key = M.detect(t, having(props))
   return key and t[key]
end

-- Whether f returns a true value for every item. Results that share a key count once.
function M.all(t, f, ...)
   local passed = select_values(map(t, f, ...), function(_, result) return result end)
   return #passed == M.count(t)
end

function M.invoke(t, method, ...)
   local arguments = { ... }
   return map(t, function(_, object)
      local own = type(object) == 'table' and object[method]
      if type(object) == 'table' and own ~= nil then
         if not isCallable(own) then return own end
         return own(object, unpack(arguments))
      end
      if isCallable(method) then return method(object, unpack(arguments)) end
   end)
end

function M.pluck(t, key)
   local found = {}
   for _, value in pairs(map(t, function(_, item) return item[key] end)) do found[#found + 1] = value end
   return found
end

local function extreme(better)
   return function(t, transform, ...)
      local best
      for _, value in pairs(t) do
         if transform then value = transform(value, ...) end
         if not best or not better(best, value) then best = value end
      end
      return best
   end
end
M.max, M.min = extreme(more), extreme(less)

-- Exchanges each value with one before it, drawn by math.random.
function M.shuffle(t, seed)
   if seed then math.randomseed(seed) end
   local shuffled = {}
   for index, value in pairs(t) do
      local place = math.floor(math.random() * index) + 1
      shuffled[index] = shuffled[place]
      shuffled[place] = value
   end
   return shuffled
end

function M.same(a, b)
   local function all_in(one, other)
      return M.all(one, function(_, value) return M.include(other, value) end)
   end
   return all_in(a, b) and all_in(b, a)
end

function M.sort(t, comp)
   table.sort(t, comp)
   return t
end

function M.sortBy(t, transform, comp)
   local rank_of = type(transform) == 'string' and objects.property(transform) or transform or objects.identity
   comp = comp or less
   local ranked, values = {}, {}
   for _, value in pairs(t) do ranked[#ranked + 1] = { value = value, rank = rank_of(value) } end
   table.sort(ranked, function(a, b) return comp(a.rank, b.rank) end)
   for place, item in ipairs(ranked) do values[place] = item.value end
   return values
end

function M.groupBy(t, iter, ...)
   local arguments = { ... }
   local groups = {}
   for key, value in pairs(t) do
      local name = iter(key, value, unpack(arguments))
      if groups[name] then table.insert(groups[name], value) else groups[name] = { value } end
   end
   return groups
end

function M.countBy(t, iter, ...)
   local arguments = { ... }
   local counts = {}
   for key, value in pairs(t) do
      local name = iter(key, value, unpack(arguments))
      counts[name] = (counts[name] or 0) + 1
   end
   return counts
end

function M.containsKeys(t, other)
   for key in pairs(other) do
      if not t[key] then return false end
   end
   return true
end

function M.sameKeys(tA, tB) return M.containsKeys(tB, tA) and M.containsKeys(tA, tB) end

M.reverse = reversed

return M
