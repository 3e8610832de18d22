-- Objects of nn whose fields Python reads and changes, for lua_compat/legacy. Modules and tensors have numbers,
-- Python's positive, Lua's negative; a tensor's memory is PyTorch's and shared by both. Values are passed as a text
-- that describes them, with the values that it refers to after it:
--   n  nil      b B  false, true      d  a number      s  a string      m  a module, by its number
--   t  an unchanged tensor, by its number      { }  a list      h }  a table: key, value, ...
--   z Z  a LongStorage, another storage: its size and elements
--   T  another tensor, from Python: number, type code, handle, address and elements of its memory, offset, dimensions,
--      sizes..., strides...; to Python: number, handle
-- Every action returns an error as text, or nil and its results.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local types = require 'torch.core.types'
local functions = require('th.python').functions

local records = memory.records
local modules, tensors = {}, {}
local numbers = setmetatable({}, { __mode = 'k' })
local storages = setmetatable({}, { __mode = 'v' }) -- by the address of their memory
local last = 0
local call_python -- (what, number, name, text, ...) -> text, ...

local function address_of(S) return tonumber(ffi.cast('intptr_t', S.p)) - (S.base or 0) * S.T.size end

local function numbered(value, list)
   local number = numbers[value]
   if not number then
      last = last - 1
      number = last
      numbers[value] = number
   end
   list[number] = value -- again if Python had dropped it
   return number
end

-- The storage on PyTorch's memory: one for all tensors there, so that all see when it moves.
local function storage_at(T, handle, address, elements)
   local S = storages[address]
   if S and S.T == T and S.p and address_of(S) == address then
      functions.release(handle)
      return S
   end
   local _, new = memory.new_storage(T, 0)
   memory.adopt(new, handle, address, 0, elements)
   if not S then
      new.fixed, new.shared = nil, nil
      storages[address] = new
   end
   return new
end

-- The tensor that values describe from `place` on: its number, its type, where its elements lie, sizes and strides.
-- Returns it and its dimensions.
local function placed(values, place)
   local number, code, handle, address, elements, offset, nd = unpack(values, place, place + 6)
   place = place + 6
   local T = types[code]
   local ud = tensors[number]
   if not ud or records[ud].T ~= T then
      ud = memory.new_tensor(T)
      tensors[number], numbers[ud] = ud, number
   end
   local sizes, strides = {}, {}
   for d = 1, nd do sizes[d], strides[d] = values[place + d], values[place + nd + d] end
   if elements > 0 then
      memory.set_storage(records[ud], storage_at(T, handle, address, elements), offset, nd, sizes, strides)
   else
      memory.set_storage(records[ud], nil, 0, 0, {}, {})
   end
   return ud, nd
end

local function decoded(text, ...)
   local values, place, position = { ... }, 1, 0
   local function take(count)
      place = place + count
      return unpack(values, place - count, place - 1)
   end
   local function closing() return text:sub(position + 1, position + 1) == '}' end
   local function next_value()
      position = position + 1
      local letter = text:sub(position, position)
      if letter == 'd' or letter == 's' then return (take(1))
      elseif letter == 'b' then return false
      elseif letter == 'B' then return true
      elseif letter == 't' then return tensors[take(1)]
      elseif letter == 'm' then return modules[take(1)]
      elseif letter == 'T' then
         local ud, nd = placed(values, place)
         take(7 + 2 * nd)
         return ud
      elseif letter == 'z' then
         local count = take(1)
         return torch.LongStorage{ take(count) }
      elseif letter == 'Z' then
         local count = take(1)
         return torch.DoubleStorage{ take(count) }
      elseif letter == '{' then
         local list, n = {}, 0
         while not closing() do
            n = n + 1
            list[n] = next_value()
         end
         position = position + 1
         return list
      elseif letter == 'h' then
         local map = {}
         while not closing() do
            local key = next_value()
            map[key] = next_value()
         end
         position = position + 1
         return map
      end
   end
   local results, count = {}, 0
   while position < #text do
      count = count + 1
      results[count] = next_value()
   end
   return unpack(results, 1, count)
end

local function is_object(value)
   local typename = torch.typename(value)
   return type(value) == 'table' and typename ~= nil
end

local function encoder()
   local text, values, seen = {}, {}, {}
   local function put(letter, ...)
      text[#text + 1] = letter
      for i = 1, select('#', ...) do values[#values + 1] = (select(i, ...)) end
   end
   local function add(item)
      local kind = type(item)
      if kind == 'number' then put('d', item)
      elseif kind == 'string' then put('s', item)
      elseif kind == 'boolean' then put(item and 'B' or 'b')
      elseif torch.isTensor(item) then
         local number = numbered(item, tensors)
         local r = records[item]
         local handle = memory.resizable_handle(r)
         if r.S and not r.S.parent then storages[address_of(r.S)] = storages[address_of(r.S)] or r.S end
         put('T', number, handle)
      elseif torch.isStorage(item) then
         local letter = torch.typename(item) == 'torch.LongStorage' and 'z' or 'Z'
         put(letter, item:size(), unpack(item:totable()))
      elseif is_object(item) then put('m', numbered(item, modules))
      elseif kind == 'table' and not seen[item] then
         seen[item] = true
         if next(item) == nil or #item > 0 and next(item, #item) == nil then
            put '{'
            for i = 1, #item do add(item[i]) end
         else
            put 'h'
            for key, value in pairs(item) do
               if type(key) == 'string' or type(key) == 'number' then
                  add(key)
                  add(value)
               end
            end
         end
         put '}'
         seen[item] = nil
      else put 'n' end
   end
   return add, function() return table.concat(text), unpack(values) end
end

local function encoded(...)
   local add, finish = encoder()
   for i = 1, select('#', ...) do add((select(i, ...))) end
   return finish()
end

-- Converts indices from Python's counting from 0 to Lua's: a tensor, a table or a number.
local function shifted(indices)
   if torch.isTensor(indices) then return indices:clone():add(1) end
   if type(indices) == 'table' then
      local list = {}
      for i, inner in ipairs(indices) do list[i] = shifted(inner) end
      return list
   end
   return indices and indices + 1
end

local function of_pair(input) return { input[1], shifted(input[2]) } end

local taking_indices = setmetatable({}, { __mode = 'k' }) -- by object: its methods that take Python's indices

-- A PartialLinear counts from 1 in its own lookup table.
local function with_own_indices(object)
   for _, module in ipairs(object.network:listModules()) do
      for name in pairs(taking_indices[module] or {}) do module[name] = nil end
      taking_indices[module] = {}
   end
end

-- By class: the conversions of the input and of a criterion's target, and what is done to the object before the call.
local function target(class_name) return { class_name, nil, shifted } end
local INDICES = {}
for _, entry in ipairs{
   { 'nn.LookupTable', shifted }, { 'nn.Index', of_pair }, target 'nn.ClassNLLCriterion',
      target 'nn.ClassSimplexCriterion',
   target 'nn.SpatialClassNLLCriterion', target 'nn.MultiMarginCriterion', target 'nn.MultiLabelMarginCriterion',
   { 'nn.PartialLinear', nil, nil, with_own_indices },
} do INDICES[entry[1]] = { entry[2], entry[3], entry[4] } end

local METHODS = { 'updateOutput', 'updateGradInput', 'accGradParameters' }
local function with_indices(object)
   local change = INDICES[torch.typename(object)]
   if not change or taking_indices[object] then return object end
   local class, own = getmetatable(object), {}
   for _, name in ipairs(METHODS) do
      local method = class[name]
      if method then
         own[name] = function(self, input, other, ...)
            if change[3] then change[3](self) end
            return method(self, change[1] and change[1](input) or input, change[2] and change[2](other) or other, ...)
         end
         object[name] = own[name]
      end
   end
   taking_indices[object] = own
   return object
end

local actions = {}

function actions.legacy_start(callback)
   call_python = callback
   local elsewhere = {} -- a file in the program's folder is not one of our packages
   for place in package.path:gmatch '[^;]+' do
      if not place:find '^%./' then elsewhere[#elsewhere + 1] = place end
   end
   package.path = table.concat(elsewhere, ';')
   for _, name in ipairs{ 'nn', 'nngraph', 'optim' } do require(name) end
end

function actions.legacy_has(typename) return torch.getmetatable(typename) ~= nil end

-- An object without fields; the methods named in `overridden` are Python's.
function actions.legacy_empty(number, typename, overridden)
   local object = torch.factory(typename)()
   modules[number], numbers[object] = object, number
   with_indices(object)
   for name in overridden:gmatch '%S+' do
      object[name] = function(_, ...) return decoded(call_python('method', number, name, encoded(...))) end
   end
end

-- Runs an object's constructor; the fields are set in an existing object.
function actions.legacy_construct(number, default_type, typename, text, ...)
   torch.setdefaulttensortype(default_type)
   local class = nn
   for name in typename:gsub('^nn%.', ''):gmatch '[^.]+' do class = class[name] end
   local made, object = class(decoded(text, ...)), modules[number]
   for key, value in pairs(made) do object[key] = value end
   return encoded(object)
end

-- The class and the fields of an object, except functions.
function actions.legacy_fields(number)
   local add, finish = encoder()
   local object = with_indices(modules[number])
   for key, value in pairs(object) do
      if type(value) ~= 'function' then
         add(key)
         add(value)
      end
   end
   return torch.typename(object), finish()
end

-- Sets fields: key, value, ...; removes those named in `dropped`.
function actions.legacy_set(number, dropped, text, ...)
   local object = modules[number]
   for key in dropped:gmatch '%S+' do object[key] = nil end
   local pairs_of = { n = 0 }
   local function keep(...)
      pairs_of.n = select('#', ...); for i = 1, pairs_of.n do pairs_of[i] = (select(i, ...)) end
   end
   keep(decoded(text, ...))
   for i = 1, pairs_of.n, 2 do object[pairs_of[i]] = pairs_of[i + 1] end
end

-- Calls the class's own method, on behalf of Python's override. The first result is whether random numbers have been
-- drawn since the generator was seeded.
function actions.legacy_call(number, seed, name, text, ...)
   if seed then torch.manualSeed(seed) end
   local function with_drawn(...)
      if not seed then return encoded(false, ...) end
      local next_number = torch.random()
      torch.manualSeed(seed)
      return encoded(torch.random() ~= next_number, ...)
   end
   local object = modules[number]
   local own = (taking_indices[object] or {})[name] or getmetatable(object)[name]
   if not own then error(torch.typename(object) .. ' has no method ' .. name, 0) end
   return with_drawn(own(object, decoded(text, ...)))
end

function actions.legacy_text(number) return tostring(modules[number]) end

-- Runs a function of optim on the parameters, with a table of settings and one of state. Returns the parameters, the
-- losses and both tables.
function actions.legacy_optimize(name, evaluate, text, ...)
   local x, config, state = decoded(text, ...)
   if state == nil then state = config end
   local function function_of(point) return decoded(call_python('evaluate', evaluate, '', encoded(point))) end
   local best, losses = optim[name](function_of, x, config, state)
   return encoded(best, losses, config, state)
end

function actions.legacy_release(...)
   for _, number in ipairs{ ... } do modules[number], tensors[number] = nil, nil end
end

return require 'th.api.answers'(actions)
