-- nn modules owned by Python, for lua_compat/lua_modules. Each has a number. Values are passed as a text that describes
-- them, with their tensors after it:
--   t  the next tensor      { }  a list      n  nil
-- A tensor comes from Python as type code, handle, address and elements of its memory, offset, dimensions, sizes...,
-- strides...; to Python only its handle is passed. Every action returns an error as text, or nil and its results.
local memory = require 'torch.core.memory'
local last_offset = require('torch.core.overlap').last_offset
local types = require 'torch.core.types'

local records = memory.records
local objects, count = {}, 0

-- Reads a tensor on Python's memory from the values, and returns the position after it.
local function tensor_at(values, place)
   local code, handle, address, elements, offset, nd = unpack(values, place, place + 5)
   local T = types[code]
   local sizes, strides = {}, {}
   for d = 1, nd do sizes[d], strides[d] = values[place + 5 + d], values[place + 5 + nd + d] end
   local ud, r = memory.new_tensor(T)
   if elements > 0 then
      local _, S = memory.new_storage(T, 0)
      memory.adopt(S, handle, address, 0, elements)
      memory.set_storage(r, S, offset, nd, sizes, strides)
   end
   return ud, place + 6 + 2 * nd
end

local function decoded(text, ...)
   local values, place, position = { ... }, 1, 0
   local function next_value()
      position = position + 1
      local letter = text:sub(position, position)
      if letter == 't' then
         local ud
         ud, place = tensor_at(values, place)
         return ud
      elseif letter == '{' then
         local list, n = {}, 0
         while text:sub(position + 1, position + 1) ~= '}' do
            n = n + 1
            list[n] = next_value()
         end
         position = position + 1
         return list
      end
   end
   return next_value()
end

-- The text of a value, and the handles of its tensors.
local function encoded(value)
   local text, handles = {}, {}
   local function add(item)
      if item == nil then text[#text + 1] = 'n'
      elseif torch.isTensor(item) then
         text[#text + 1] = 't'
         handles[#handles + 1] = memory.handle(records[item])
      elseif type(item) == 'table' then
         text[#text + 1] = '{'
         for _, inner in ipairs(item) do add(inner) end
         text[#text + 1] = '}'
      elseif type(item) == 'number' then
         add(torch.Tensor{ item })
      else
         error('a tensor or a table of tensors is expected as its result, not a ' .. torch.type(item), 0)
      end
   end
   add(value)
   return table.concat(text), unpack(handles)
end

-- Calls visit(path, key, tensor) for every tensor that a module holds, nearest first.
local function each_tensor(object, visit)
   local seen, level = { [object] = true }, { { '', object } }
   while #level > 0 do
      local deeper = {}
      for _, entry in ipairs(level) do
         local path, holder = entry[1], entry[2]
         local keys = {}
         for key in pairs(holder) do
            if type(key) == 'string' or type(key) == 'number' then keys[#keys + 1] = key end
         end
         table.sort(keys, function(a, b)
            if type(a) == type(b) then return a < b end
            return type(a) == 'number'
         end)
         for _, key in ipairs(keys) do
            local value, place = rawget(holder, key), path .. (path == '' and '' or '.') .. tostring(key)
            if torch.isTensor(value) then visit(place, key, value)
            elseif type(value) == 'table' and not seen[value] then
               seen[value] = true
               deeper[#deeper + 1] = { place, value }
            end
         end
      end
      level = deeper
   end
end

local function at(object, path)
   local value = object
   for key in path:gmatch('[^.]+') do
      local found = rawget(value, key)
      if found == nil then found = rawget(value, tonumber(key)) end
      value = found
      if value == nil then return nil end
   end
   return value
end

local function parameters_of(object)
   local parameters, gradients = object:parameters()
   return parameters or {}, gradients or {}
end

-- A copy that shares nothing with the object, without the results of its last computation.
local function cleared(object)
   local copy = object:clone()
   pcall(function() copy:clearState() end)
   return copy
end

local actions = {}

-- Runs Lua text and returns the names of the classes that it declares. folders: where it may require other files.
local function declare(text, name, ...)
   local places = {}
   for _, folder in ipairs{ ... } do places[#places + 1] = folder .. '/?.lua;' .. folder .. '/?/init.lua' end
   package.path = table.concat(places, ';') .. ';' .. package.path
   for _, needed in ipairs{ 'nn', 'nngraph' } do require(needed) end
   local names, real = {}, torch.class
   function torch.class(class_name, ...)
      names[#names + 1] = class_name
      return real(class_name, ...)
   end
   local chunk, problem = loadstring(text, name)
   local ok = chunk
   if chunk then ok, problem = pcall(chunk) end
   torch.class = real
   if not ok then error(problem, 0) end
   return table.concat(names, '\n')
end
actions.modules_declare = declare

-- Whether a class is known, if necessary after loading its package.
function actions.modules_know(typename)
   require 'nn'
   local package_name = typename:match('^([%w_-]+)%.')
   if package_name and not torch.getmetatable(typename) then pcall(require, package_name) end
   return torch.getmetatable(typename) ~= nil
end

function actions.modules_load(bytes)
   for _, needed in ipairs{ 'nn', 'nngraph' } do require(needed) end
   local object = torch.deserialize(bytes)
   count = count + 1
   objects[count] = { object = object, turn = 0, tensors = parameters_of(object) }
   return count
end

function actions.modules_release(...)
   for _, number in ipairs{ ... } do objects[number] = nil end
end

function actions.modules_save(number) return torch.serialize(cleared(objects[number].object)) end

function actions.modules_print(number) return tostring(objects[number].object) end

-- The paths of the parameters, and their handles.
function actions.modules_parameters(number)
   local entry = objects[number]
   local places, names, handles = {}, {}, {}
   each_tensor(entry.object, function(path, _, tensor) places[tensor] = places[tensor] or path end)
   for k, tensor in ipairs(entry.tensors) do
      names[k], handles[k] = places[tensor] or 'parameter' .. k, memory.handle(records[tensor])
   end
   return table.concat(names, '\n'), unpack(handles)
end

-- Moves a parameter, and everything else that views the same elements, to Python's memory.
function actions.modules_bind(number, k, ...)
   local entry = objects[number]
   local tensor, target = entry.tensors[k], (tensor_at({ ... }, 1))
   local r, new = records[tensor], records[target]
   local old, first, last = r.S, r.off, last_offset(r)
   local same = r.nd == new.nd
   for d = 1, 2 * r.nd do same = same and r[d] == new[d] end
   if not same then error('a parameter cannot change its size', 0) end
   if r.T ~= new.T then error('a parameter must be a ' .. r.T.tensor .. ', not a ' .. new.T.tensor, 0) end
   local moving = {}
   each_tensor(entry.object, function(_, _, other)
      local o = records[other]
      if other == tensor or o.S ~= old or o.nd == 0 then return end
      if o.off >= first and last_offset(o) <= last then moving[#moving + 1] = o end
   end)
   for _, o in ipairs{ r, unpack(moving) } do
      local sizes, strides = {}, {}
      for d = 1, o.nd do sizes[d], strides[d] = o[2 * d - 1], o[2 * d] end
      memory.set_storage(o, new.S, new.off + o.off - first, o.nd, sizes, strides)
   end
end

function actions.modules_typename(number) return objects[number].object:type() end

-- Converts the tensors; parameters become new ones.
function actions.modules_type(number, name)
   local entry = objects[number]
   entry.object:type(name)
   entry.tensors = parameters_of(entry.object)
end

-- The paths of the tensors that are neither parameters nor intermediate results, and their handles.
function actions.modules_state(number)
   local object = cleared(objects[number].object)
   local excluded = {}
   for _, list in ipairs{ parameters_of(object) } do
      for _, tensor in ipairs(list) do excluded[tensor] = true end
   end
   local _, gradients = parameters_of(object)
   for _, tensor in ipairs(gradients) do excluded[tensor] = true end
   local names, handles = {}, {}
   each_tensor(object, function(path, key, tensor)
      if excluded[tensor] or tensor:dim() == 0 or key == 'output' or key == 'gradInput' then return end
      excluded[tensor] = true
      names[#names + 1], handles[#handles + 1] = path, memory.handle(records[tensor])
   end)
   return table.concat(names, '\n'), unpack(handles)
end

-- Copies values to the tensor at a path. Returns whether there is one.
function actions.modules_set(number, path, ...)
   local tensor = at(objects[number].object, path)
   if not torch.isTensor(tensor) then return false end
   local value = tensor_at({ ... }, 1)
   tensor:resize(value:size()):copy(value)
   return true
end

function actions.modules_seed(seed) torch.manualSeed(seed) end

-- training: nil keeps the module's mode, because a class may have a third one, in which it was created. Returns the
-- number of this forward pass, the state of the generator before it (if kept), and the output.
function actions.modules_forward(number, training, keep, text, ...)
   local entry = objects[number]
   if training ~= nil and training ~= entry.training then
      if training then entry.object:training() else entry.object:evaluate() end
      entry.training = training
   end
   entry.turn = entry.turn + 1
   local random = keep and torch.getRNGState() or nil
   local output = entry.object:forward(decoded(text, ...))
   return entry.turn, random and memory.handle(records[random]) or 0, encoded(output)
end

-- ...: the input, the gradient of the output and the state of the generator. Returns the gradients of the input and of
-- the parameters. If another forward pass came in between, the one for this gradient is repeated on a copy, with the
-- same random numbers.
function actions.modules_backward(number, turn, with_parameters, text, ...)
   local entry = objects[number]
   local object = entry.object
   local input, gradient, random = unpack(decoded(text, ...))
   if turn ~= entry.turn then
      object = object:clone()
      local now = torch.getRNGState()
      torch.setRNGState(random)
      object:forward(input)
      torch.setRNGState(now)
   end
   local _, gradients = parameters_of(object)
   object:zeroGradParameters()
   local result
   if with_parameters or #gradients == 0 then result = object:backward(input, gradient, 1)
   else result = object:updateGradInput(input, gradient) end
   if result == nil then result = object.gradInput end
   return encoded{ { result }, with_parameters and gradients or {} }
end

return require 'th.api.answers'(actions)
