-- Moses' functions for arrays.
local FOLDER = (...):gsub('[^.]+$', '')
local objects, tables = require(FOLDER .. 'objects'), require(FOLDER .. 'tables')
local isEqual, include = objects.isEqual, tables.include
local M = {}

local function clamped(value, least, most)
   if value < least then return least end
   return value > most and most or value
end

-- The values at keys from `start` (default: the first key) to `finish` (default: the length).
function M.slice(array, start, finish)
   return tables.select(array, function(key)
      return key >= (start or next(array)) and key <= (finish or #array)
   end)
end
local slice = M.slice

function M.sample(array, n, seed)
   n = n or 1
   if n < 1 then return end
   if n > 1 then return slice(tables.shuffle(array, seed), 1, n) end
   if seed then math.randomseed(seed) end
   return array[math.random(1, #array)]
end

function M.sampleProb(array, prob, seed)
   if seed then math.randomseed(seed) end
   return tables.select(array, function() return math.random() < prob end)
end

function M.toArray(...) return { ... } end

function M.find(array, value, from)
   for place = from or 1, #array do
      if isEqual(array[place], value) then return place end
   end
end

function M.fill(array, value, i, j)
   for place = i or 1, j or objects.size(array) do array[place] = value end
   return array
end

-- The first position whose value fails the test.
local function first_failing(array, f, ...)
   for place, value in ipairs(array) do
      if not f(place, value, ...) then return place end
   end
end

function M.selectWhile(array, f, ...)
   local selected = {}
   for place = 1, (first_failing(array, f, ...) or #array + 1) - 1 do selected[place] = array[place] end
   return selected
end

function M.dropWhile(array, f, ...)
   local place = first_failing(array, f, ...)
   return place and M.rest(array, place) or {}
end

function M.sortedIndex(array, value, comp, sort)
   comp = comp or function(a, b) return a < b end
   if sort then table.sort(array, comp) end
   for place = 1, #array do
      if not comp(array[place], value) then return place end
   end
   return #array + 1
end

function M.indexOf(array, value)
   for place = 1, #array do
      if array[place] == value then return place end
   end
end

function M.lastIndexOf(array, value)
   local from_end = M.indexOf(tables.reverse(array), value)
   return from_end and #array - from_end + 1
end

function M.findIndex(array, predicate, ...)
   for place = 1, #array do
      if predicate(place, array[place], ...) then return place end
   end
end

-- The predicate receives positions counted from the end.
function M.findLastIndex(array, predicate, ...)
   local from_end = M.findIndex(tables.reverse(array), predicate, ...)
   return from_end and #array - from_end + 1
end

function M.addTop(array, ...)
   for _, value in pairs{ ... } do table.insert(array, 1, value) end
   return array
end

function M.push(array, ...)
   for _, value in pairs{ ... } do array[#array + 1] = value end
   return array
end

local function removing(place_in)
   return function(array, n)
      local removed = {}
      for k = 1, math.min(n or 1, #array) do removed[k] = table.remove(array, place_in(array)) end
      return unpack(removed)
   end
end
M.pop = removing(function() return 1 end)
M.unshift = removing(function(array) return #array end)

function M.pull(array, ...)
   for _, value in ipairs{ ... } do
      for place = #array, 1, -1 do
         if isEqual(array[place], value) then table.remove(array, place) end
      end
   end
   return array
end

function M.removeRange(array, start, finish)
   array = objects.clone(array)
   local least, most = next(array), #array
   if most < 1 then return array end
   start, finish = clamped(start or least, least, most), clamped(finish or most, least, most)
   for _ = start, finish do table.remove(array, start) end
   return array
end

-- Consecutive values with the same result of f form a chunk. Chunks count from 0, or from 1 if the first result is
-- false.
function M.chunk(array, f, ...)
   if not objects.isArray(array) then return array end
   local chunks, number, last = {}, 0, nil
   for key, mark in pairs(tables.map(array, f, ...)) do
      if last == nil then last = mark or nil end
      if mark ~= last then number = number + 1 end
      chunks[number] = chunks[number] or {}
      table.insert(chunks[number], array[key])
      last = mark
   end
   return chunks
end

function M.first(array, n) return slice(array, 1, math.min(n or 1, #array)) end

function M.initial(array, n)
   if n and n < 0 then return end
   return slice(array, 1, #array - (n and math.min(n, #array) or 1))
end

function M.last(array, n)
   if n and n <= 0 then return end
   return slice(array, n and #array - math.min(n - 1, #array - 1) or 2, #array)
end

function M.rest(array, index)
   if index and index > #array then return {} end
   return slice(array, math.max(1, math.min(index or 1, #array)), #array)
end

function M.nth(array, index) return array[index] end

function M.compact(array)
   return tables.reject(array, function(_, value) return not value end)
end

function M.difference(array, array2)
   if not array2 then return objects.clone(array) end
   return tables.select(array, function(_, value) return not include(array2, value) end)
end

function M.unique(array)
   local distinct = {}
   for place = 1, #array do
      if not M.find(distinct, array[place]) then distinct[#distinct + 1] = array[place] end
   end
   return distinct
end

function M.isunique(array) return isEqual(array, M.unique(array)) end

function M.union(...) return M.unique(objects.flatten{ ... }) end

function M.intersection(array, ...)
   local others, common = { ... }, {}
   for _, value in ipairs(array) do
      if tables.all(others, function(_, other) return include(other, value) end) then common[#common + 1] = value end
   end
   return common
end

function M.symmetricDifference(array, array2)
   return M.difference(M.union(array, array2), M.intersection(array, array2))
end

function M.zip(...)
   local arrays, zipped = { ... }, {}
   local longest = tables.max(tables.map(arrays, function(_, array) return #array end))
   for place = 1, longest do zipped[place] = tables.pluck(arrays, place) end
   return zipped
end

function M.append(array, other)
   local joined = {}
   for _, value in ipairs(array) do joined[#joined + 1] = value end
   for _, value in ipairs(other) do joined[#joined + 1] = value end
   return joined
end

function M.interleave(...) return objects.flatten(M.zip(...)) end

function M.interpose(value, array) return objects.flatten(M.zip(array, M.rep(value, #array - 1))) end

-- range(to), range(from, to) or range(from, to, step); empty if the step leads away from the end.
function M.range(...)
   local n = #{ ... }
   if n == 0 then return {} end
   local from, to, step = ...
   if n == 1 then from, to = 0, from end
   if n > 3 then from, to, step = nil, nil, nil end
   if n < 3 then step = 1 end
   if step == 0 then return {} end
   local steps, list = math.floor((to - from) / step), {}
   if steps < 1 then return list end
   for k = 0, steps do list[k + 1] = from + step * k end
   return list
end

function M.rep(value, n)
   local list = {}
   for _ = 1, n do list[#list + 1] = value end
   return list
end

-- Yields parts of n values, starting every `stride` positions; the last one is filled up with `pad`.
local function yield_parts(array, n, stride, pad, wanted)
   for before = 0, #array, stride do
      local part = slice(array, before + 1, before + n)
      if #part > 0 and wanted(before) then
         while pad and #part < n do part[#part + 1] = pad end
         coroutine.yield(part)
      end
   end
end

function M.partition(array, n, pad)
   if n <= 0 then return end
   return coroutine.wrap(function()
      yield_parts(array, n, n, pad, function() return true end)
   end)
end

-- Consecutive parts share a value.
function M.sliding(array, n, pad)
   if n <= 1 then return end
   return coroutine.wrap(function()
      yield_parts(array, n, n - 1, pad, function(before) return before + 1 < #array end)
   end)
end

-- Each of the first n values is put last in turn, and the others are permuted before it, in place.
local function yield_permutations(array, n)
   if n == 0 then coroutine.yield(array) end
   for place = 1, n do
      array[n], array[place] = array[place], array[n]
      yield_permutations(array, n - 1)
      array[n], array[place] = array[place], array[n]
   end
end

function M.permutation(array)
   return coroutine.wrap(function() yield_permutations(array, #array) end)
end

function M.invert(array)
   local inverted = {}
   for key, value in pairs(array) do inverted[value] = key end
   return inverted
end

function M.concat(array, sep, i, j)
   local texts = tables.map(array, function(_, value) return tostring(value) end)
   return table.concat(texts, sep, i or 1, j or #array)
end

return M
