-- tds: hashes and vectors of numbers, strings, booleans, tensors, and other hashes and vectors. Torch7's are outside
-- Lua's memory, which was limited; ours are in it, unless threads share them (tds/shared.lua). Each is a userdata, so
-- that # and pairs work on it; its contents are in a separate table.
local class = require 'torch.core.class'
local serialization = require 'torch.io.serialization'
local shared = require 'tds.shared'

local tds = {}

local SHOWN = 20 -- elements that tostring shows

-- The contents of a hash are values by key, and their number n; of a vector, values by index, and its length n. nil is
-- a valid value in a vector. If threads share them, `values` is nil.
local contents, attach_contents = shared.contents, shared.attach

local function value_at(inside, key)
   local values = inside.values
   if values then return values[key] end
   return shared.get(inside, key)
end

local function put(inside, key, value)
   local values = inside.values
   if values then values[key] = value else shared.set(inside, key, value) end
end

local are_shared = serialization.are_elements_shared

local function check_element(value)
   local kind = type(value)
   if kind == 'number' or kind == 'string' or kind == 'boolean' or contents[value] or torch.isTensor(value) then
      return
   end
   error(('unsupported key/value type <%s> (set)'):format(torch.typename(value) or kind), 3)
end

local function has_numbers_only(t)
   for key in pairs(t) do
      if type(key) ~= 'number' then return false end
   end
   return true
end

-- Converts a table to a hash or a vector, whichever fits; returns anything else unchanged.
local function converted(value)
   if type(value) ~= 'table' then return value end
   return has_numbers_only(value) and tds.Vec(value) or tds.Hash(value)
end

-- The metatable of a kind of object, and a function that makes an empty one.
local function kind_of_object(name)
   local prototype = newproxy(true)
   local metatable = debug.getmetatable(prototype)
   local function with(inside)
      local object = newproxy(prototype)
      attach_contents(object, inside)
      return object
   end
   shared.class(name, with)
   local function empty() return with{ n = 0, values = {} } end
   class.metatype(name, metatable)
   metatable.__factory, metatable.__version = empty, 0
   return metatable, empty
end

local function constructor(metatable, new)
   return setmetatable({}, { __index = metatable, __newindex = metatable,
      __call = function(_, ...) return new(...) end })
end

-- Adds a line with `start` and a value; further lines of the value are indented.
local function add_line(lines, start, value)
   local text = tostring(value):gsub('\n([^\n])', '\n' .. (' '):rep(#start) .. '%1')
   lines[#lines + 1] = start .. text
end

-- Hashes

local hash, empty_hash = kind_of_object 'tds.Hash'

function hash.__newindex(self, key, value)
   if key == nil then error('hash index is nil', 2) end
   check_element(key)
   if value ~= nil then check_element(value) end
   local inside = contents[self]
   local values = inside.values
   if not values then return shared.set(inside, key, value) end
   if (values[key] == nil) ~= (value == nil) then inside.n = inside.n + (value == nil and -1 or 1) end
   values[key] = value
end

function hash.__index(self, key)
   if key == nil then error('hash index is nil', 2) end
   return value_at(contents[self], key)
end

function hash.__len(self)
   local inside = contents[self]
   return inside.values and inside.n or shared.count(inside)
end

function hash.__pairs(self)
   local inside = contents[self]
   if inside.values then return next, inside.values end
   return shared.pairs(inside)
end

function hash.__write(self, file)
   if are_shared(file) then return shared.write(shared.share(self), file) end
   file:writeLong(#self)
   for key, value in hash.__pairs(self) do
      file:writeObject(key)
      file:writeObject(value)
   end
end

function hash.__read(self, file)
   if are_shared(file) then return attach_contents(self, shared.read(self, contents, file)) end
   for _ = 1, file:readLong() do
      local key = file:readObject()
      self[key] = file:readObject()
   end
end

function hash.__tostring(self)
   local keys, names, width = {}, {}, 0
   for key in hash.__pairs(self) do
      if #keys == SHOWN then break end
      keys[#keys + 1] = key
      names[#keys] = type(key) == 'userdata' and torch.type(key) or tostring(key)
      width = math.max(width, #names[#keys])
   end
   local lines = { ('tds.Hash[%d]{'):format(#self) }
   for i, key in ipairs(keys) do
      add_line(lines, names[i] .. (' '):rep(width - #names[i]) .. ' : ', self[key])
   end
   if #keys == SHOWN then lines[#lines + 1] = '...' end
   lines[#lines + 1] = '}'
   return table.concat(lines, '\n')
end

local function new_hash(...)
   local n, from = select('#', ...), (...)
   if n > 1 or (n == 1 and type(from) ~= 'table') then error('lua table or nothing expected', 3) end
   local self = empty_hash()
   for key, value in pairs(from or {}) do self[converted(key)] = converted(value) end
   return self
end

tds.Hash = constructor(hash, new_hash)
tds.hash = tds.Hash

-- Vectors

local vec, empty_vec = kind_of_object 'tds.Vec'
local methods = {}

-- Torch7's vectors of more elements would need 16 GB; here, a loop over their places would seem endless.
local MOST = 2 ^ 30

local function check_place(place)
   if type(place) ~= 'number' or not (place >= 1) then error('positive number expected as key', 3) end
   return math.floor(place)
end

local function check_length(n)
   if n > MOST then error('out of memory', 3) end
   return math.floor(n)
end

local function length(inside) return inside.values and inside.n or shared.length(inside) end

local function set_length(inside, n)
   if inside.values then inside.n = n else inside.header.length = n end
end

vec.__len = function(self) return length(contents[self]) end

function vec.__newindex(self, place, value)
   place = check_place(place)
   if value ~= nil then check_element(value) end
   local inside = contents[self]
   put(inside, check_length(place), value)
   if place > length(inside) then set_length(inside, place) end
end

function vec.__index(self, key)
   if type(key) == 'number' then
      local inside = contents[self]
      key = check_place(key)
      if key <= length(inside) then return value_at(inside, key) end
      return nil
   end
   return methods[key] or error('invalid key (number) or method name', 2)
end

local function next_place(inside, place)
   if place < length(inside) then return place + 1, value_at(inside, place + 1) end
end

function vec.__ipairs(self) return next_place, contents[self], 0 end
vec.__pairs = vec.__ipairs

function methods:resize(n)
   if type(n) ~= 'number' or not (n >= 0) then error('size must be a positive number', 2) end
   local inside = contents[self]
   n = check_length(n)
   for place = n + 1, length(inside) do put(inside, place, nil) end
   set_length(inside, n)
end

-- insert([place,] value): elements from there on move up.
function methods:insert(...)
   local count, inside = select('#', ...), contents[self]
   if count ~= 1 and count ~= 2 then error('[key] value expected', 2) end
   local place, value = ...
   local n = length(inside)
   if count == 1 then place, value = n + 1, place end
   place = check_place(place)
   for k = n, place, -1 do put(inside, k + 1, value_at(inside, k)) end
   if place <= n then set_length(inside, n + 1) end
   self[place] = value
end

-- remove([place]): elements after it move down.
function methods:remove(place)
   local inside = contents[self]
   local n = length(inside)
   if place == nil and n == 0 then return end
   place = check_place(place or n)
   if place > n then return end
   for k = place, n do put(inside, k, value_at(inside, k + 1)) end
   set_length(inside, n - 1)
end

-- sort(compare): compare(a, b) returns whether a comes first.
function methods:sort(compare)
   if type(compare) ~= 'function' then error('compare function must be a lua function', 2) end
   local inside = contents[self]
   local boxes = {} -- because Lua's sort does not accept nil
   for place = 1, length(inside) do boxes[place] = { value_at(inside, place) } end
   table.sort(boxes, function(a, b) return compare(a[1], b[1]) end)
   for place, box in ipairs(boxes) do put(inside, place, box[1]) end
end

function methods:concat(separator, first, last)
   local texts = {}
   for place = first or 1, last or #self do texts[#texts + 1] = tostring(self[place]) end
   return table.concat(texts, separator)
end

function methods:concatstorage(...) return torch.CharStorage():string(self:concat(...)) end

function vec.__write(self, file)
   if are_shared(file) then return shared.write(shared.share(self), file) end
   file:writeLong(#self)
   for place = 1, #self do file:writeObject(self[place]) end
end

function vec.__read(self, file)
   if are_shared(file) then return attach_contents(self, shared.read(self, contents, file)) end
   for place = 1, file:readLong() do self[place] = file:readObject() end
end

function vec.__tostring(self)
   local lines = { ('tds.Vec[%d]{'):format(#self) }
   for place = 1, math.min(#self, SHOWN) do add_line(lines, ('%5d : '):format(place), self[place]) end
   if #self >= SHOWN then lines[#lines + 1] = '...' end
   lines[#lines + 1] = '}'
   return table.concat(lines, '\n')
end

local function new_vec(...)
   local n, from = select('#', ...), (...)
   if n ~= 1 or type(from) ~= 'table' then from = { ... } end
   if not has_numbers_only(from) then error('lua table with number keys expected', 3) end
   local self = empty_vec()
   for place, value in pairs(from) do self[place] = converted(value) end
   return self
end

tds.Vec = constructor(vec, new_vec)
tds.vec = tds.Vec

local counter = require 'tds.counter'
tds.AtomicCounter = constructor(counter.metatable, counter.new)
tds.atomic_counter = tds.AtomicCounter

-- The name of a hash in old files
class.metatype('tds_hash', { __factory = empty_hash })

return tds
