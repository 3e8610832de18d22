-- Writes objects to files and reads them back: torch.File's writeObject and readObject, torch.save and torch.load.
local types = require 'torch.core.types'
local memory = require 'torch.core.memory'
local class = require 'torch.core.class'
local errors = require 'torch.core.errors'
local files = require 'torch.io.files'
local tensors = require 'torch.tensor.tensor'
local named_functions = require 'torch.core.named_functions'
local python = require('th.python').functions
local pcall = pcall

local File, read_bytes, write_bytes = files.methods, files.read_bytes, files.write_bytes
local why_no_functions = files.why_no_functions
local typename = class.typename
local records = memory.records

local NIL, NUMBER, STRING, TABLE, TORCH, BOOLEAN = 0, 1, 2, 3, 4, 5
local OLD_FUNCTION, LEGACY_FUNCTION, FUNCTION = 6, 7, 8

function File:writeBool(value) self:writeInt(value and 1 or 0) end
function File:readBool() return self:readInt() == 1 end

-- What writes and reads the elements of a file's storages, if not the file itself. It receives records, so torch.getenv
-- does not show it to scripts.
local storages_of = setmetatable({}, { __mode = 'k' })

-- What a file knows about the objects written or read through it.
local function session_of(self)
   local session = torch.getenv(self)
   if not session.written then
      session.written, session.count = {}, 0   -- object -> its number
      session.read = {}                        -- number -> object
      session.names = {}                       -- the path within the object, for messages
      session.upvalue_ids, session.upvalue_count = {}, 0
      session.upvalue_owners = {}
      torch.setenv(self, session)
   end
   return session
end

-- Closing a file drops those objects at once.
local close = File.close
function File:close()
   close(self)
   torch.setenv(self, {})
   return self
end

-- Whether an object that was written before is written as a reference (the default) or again in full.
function File:referenced(value)
   session_of(self).force = not value
   return self
end
function File:isReferenced() return not session_of(self).force end

-- The constructors of tensors and storages share their metatable, but are neither.
local is_prototype = {}
for code = 1, types.count do
   is_prototype[types[code].tensor_proto], is_prototype[types[code].storage_proto] = true, true
end

function File:isWritableObject(object)
   local kind = type(object)
   if object == nil then return NIL end
   local name = typename(object)
   if name and torch.factory(name) and not is_prototype[object] then return TORCH end
   if kind == 'table' then return TABLE
   elseif kind == 'number' then return NUMBER
   elseif kind == 'string' then return STRING
   elseif kind == 'boolean' then return BOOLEAN
   elseif kind == 'function' and not named_functions.is_of_c(object)
      and pcall(string.dump, object) then return FUNCTION end
end

local function method_of(object, name)
   local mt = class.getmetatable(typename(object))
   local method = mt and (mt['__' .. name] or mt[name])
   return type(method) == 'function' and method or nil
end

local UPVALUES = {} -- in the path of names: a function's list of upvalues

local function place(names)
   local shown = {}
   for i, name in ipairs(names) do
      if name ~= UPVALUES and names[i - 1] ~= UPVALUES then shown[#shown + 1] = errors.shown(name) end
   end
   return table.concat(shown, '.')
end

local function write_text(self, text)
   self:writeInt(#text)
   write_bytes(self, text)
end

local function same(object) return object end

local function write_function(self, session, f, hook)
   f = named_functions.written(f)
   local upvalues = {}
   for i = 1, math.huge do
      local name, value = debug.getupvalue(f, i)
      if not name then break end
      local key = tostring(debug.upvalueid(f, i))
      local id = session.upvalue_ids[key]
      if not id then
         id = session.upvalue_count + 1
         session.upvalue_count, session.upvalue_ids[key] = id, id
      end
      upvalues[i] = { name = name, id = id, value = value }
   end
   write_text(self, string.dump(f))
   self:writeObject(upvalues, UPVALUES, hook)
end

local function write_torch_object(self, session, object, hook)
   local name = typename(object)
   write_text(self, 'V ' .. class.version(object))
   write_text(self, name)
   local write = method_of(object, 'write')
   if write then
      write(object, self)
   elseif type(object) == 'table' then
      local fields = {}
      for key, value in pairs(object) do
         if self:isWritableObject(value) then
            fields[key] = value
         else
            print(('$ Warning: cannot write object field <%s> of <%s> %s'):format(errors.shown(key), name,
               place(session.names)))
         end
      end
      self:writeObject(fields, name, hook)
   else
      error(('<%s> is a non-serializable Torch object %s'):format(name, place(session.names)), 0)
   end
end

local function write_table(self, session, object, hook)
   local size = 0
   for _ in pairs(object) do size = size + 1 end
   self:writeInt(size)
   local in_upvalues = session.names[#session.names - 1] == UPVALUES
   for key, value in pairs(object) do
      self:writeObject(key, nil, hook)
      local name = (type(key) == 'string' or type(key) == 'number') and tostring(key) or nil
      if in_upvalues and name == 'value' and type(object.name) == 'string' then name = object.name end
      self:writeObject(value, name, hook)
   end
end

-- name: what messages call the object; hook(object): returns what to write in its place.
function File:writeObject(object, name, hook)
   hook = hook or same
   local session = session_of(self)
   local original = object
   object = hook(object)
   if object == nil then return self:writeInt(NIL) end
   local names = session.names
   names[#names + 1] = name or '<?>'
   local kind = self:isWritableObject(object)
   if not kind then error(('Unwritable object <%s> at %s'):format(type(object), place(names)), 0) end
   self:writeInt(kind)
   if kind == NUMBER then
      self:writeDouble(object)
   elseif kind == BOOLEAN then
      self:writeBool(object)
   elseif kind == STRING then
      write_text(self, object)
   else
      local number = not session.force and session.written[original]
      if number then
         self:writeInt(number)
      else
         number = session.count + 1
         session.count = number
         if not session.force then session.written[original] = number end
         self:writeInt(number)
         if kind == FUNCTION then write_function(self, session, object, hook)
         elseif kind == TORCH then write_torch_object(self, session, object, hook)
         else write_table(self, session, object, hook) end
      end
   end
   names[#names] = nil
end

-- Returns the function and whether it is that of the bytecode. If the bytecode cannot be loaded, the function is one
-- that raises an error when called.
local function load_function(bytecode)
   local f, problem = loadstring(bytecode)
   if f then return f, true end
   io.stderr:write(('Warning: Failed to load function from bytecode: %s\n'):format(errors.shown(problem)))
   return function() error('this function was saved by another Lua and could not be loaded: ' .. problem, 2) end, false
end

local function read_text(self) return read_bytes(self, self:readInt()) end

local function read_function(self, session, kind, number)
   if not session.makes_functions then
      local problem = why_no_functions(self)
      if problem then error(problem, 0) end
      session.makes_functions = true
   end
   local f, is_loaded = load_function(read_text(self))
   if number and not session.force then session.read[number] = f end
   local upvalues = self:readObject()
   if not is_loaded then return f end -- its upvalues are not those of the file
   for i, upvalue in ipairs(upvalues) do
      if kind ~= FUNCTION then
         debug.setupvalue(f, i, upvalue)
      else
         debug.setupvalue(f, i, upvalue.value)
         local owner = upvalue.id and session.upvalue_owners[upvalue.id]
         if owner then
            pcall(debug.upvaluejoin, f, i, owner.f, owner.i)
         elseif upvalue.id then
            session.upvalue_owners[upvalue.id] = { f = f, i = i }
         end
      end
   end
   return f
end

local function read_torch_object(self, session, number)
   local text = read_text(self)
   local version, name = tonumber(text:match('^V (.*)$')), nil
   if version then
      name = read_text(self)
   else
      version, name = 0, text -- written before versions existed
   end
   local factory = torch.factory(name) -- scripts replace torch.factory to load unknown classes
   if not factory then error(('unknown Torch class <%s>'):format(errors.shown(name)), 0) end
   local object = factory(self)
   if not session.force then session.read[number] = object end
   local read = method_of(object, 'read')
   if read then
      read(object, self, version)
   elseif type(object) == 'table' then
      for key, value in pairs(self:readObject()) do object[key] = value end
   else
      error(('Cannot load object class <%s>'):format(errors.shown(name)), 0)
   end
   return object
end

function File:readObject()
   local session = session_of(self)
   local kind = self:readInt()
   if kind == NIL then return nil
   elseif kind == NUMBER then return self:readDouble()
   elseif kind == BOOLEAN then return self:readBool()
   elseif kind == STRING then return read_text(self)
   elseif kind == OLD_FUNCTION then return read_function(self, session, kind) end
   if kind ~= TABLE and kind ~= TORCH and kind ~= FUNCTION and kind ~= LEGACY_FUNCTION then
      error('unknown object', 0)
   end
   local number = self:readInt()
   local known = session.read[number]
   if known ~= nil and not session.force then return known end
   if kind == TORCH then return read_torch_object(self, session, number) end
   if kind ~= TABLE then return read_function(self, session, kind, number) end
   local object = {}
   if not session.force then session.read[number] = object end
   for _ = 1, self:readInt() do
      local key = self:readObject()
      object[key] = self:readObject()
   end
   return object
end

-- Tensors: dimensions, sizes, strides, offset, storage. Storages: the number of elements, then the elements.

local function install(T)
   local tensor, store = T.tensor_metatable, T.storage_metatable

   function tensor:write(file)
      local r = tensors.check(self, 1, T)
      file:writeInt(r.nd)
      file:writeLong(tensors.long_storage(tensors.sizes_of(r), r.nd))
      file:writeLong(tensors.long_storage(tensors.strides_of(r), r.nd))
      file:writeLong(r.off + 1)
      file:writeObject(memory.storage_of(r))
   end

   function tensor:read(file)
      local r = tensors.check(self, 1, T)
      local nd = file:readInt()
      if nd < 0 then error(('a tensor of %d dimensions in the file'):format(nd), 0) end
      local sizes = tensors.long_list(file:readLong(nd))
      local strides = tensors.long_list(file:readLong(nd))
      local offset = file:readLong() - 1
      local owner = file:readObject()
      local S = owner and records[owner]
      if owner ~= nil and not memory.is_storage(S, T) then
         error(('a %s in the file has no %s'):format(T.tensor, T.storage), 0)
      end
      local last = offset + 1
      for d = 1, nd do
         if sizes[d] < 1 or strides[d] < 0 then last = math.huge end
         last = last + (sizes[d] - 1) * strides[d]
      end
      if nd > 0 and (offset < 0 or not S or last > S.n) then
         error(('a %s in the file reaches outside its storage'):format(T.tensor), 0)
      end
      if not S then offset = 0 end
      memory.set_storage(r, S, offset, nd, sizes, strides)
   end

   function store:write(file)
      local S = records[self]
      file:writeLong(S.n)
      local storages = storages_of[file]
      if storages and S.n > 0 then
         storages.write(file, S)
      elseif T.device then
         local owner = memory.new_storage(T.host, S.n)
         file['write' .. T.host.name](file, owner:copy(self))
      else
         file['write' .. T.name](file, self)
      end
   end

   function store:read(file)
      local n = file:readLong()
      local S = records[self]
      local storages = storages_of[file]
      if storages and n > 0 then return storages.read(file, S, n) end
      memory.resize_storage(S, n)
      if T.device then
         local owner = memory.new_storage(T.host, n)
         file['read' .. T.host.name](file, owner)
         self:copy(owner)
      else
         file['read' .. T.name](file, self)
      end
   end
end
for code = 1, types.count do install(types[code]) end

local function check_mode(mode, accepted, text)
   if mode ~= nil and not accepted[mode] then error(text .. ' expected for mode', 3) end
end
local function check_referenced(referenced)
   if referenced ~= nil and type(referenced) ~= 'boolean' then
      error('true or false (or nil) expected for referenced', 3)
   end
   return referenced == nil or referenced
end

function torch.save(filename, object, mode, referenced)
   check_mode(mode, { binary = true, ascii = true }, '"binary" or "ascii" (or nil)')
   referenced = check_referenced(referenced)
   -- Written to a temporary file beside it, which replaces it when complete; nil: written directly (to a device, for
   -- example).
   local beside = type(filename) == 'string' and python.save_begin(filename) or nil
   local ok, problem = pcall(function()
      local file = torch.DiskFile(beside or filename, 'w')
      file[mode or 'binary'](file)
      file:referenced(referenced)
      file:writeObject(object)
      file:close()
   end)
   if beside then python.save_end(beside, ok) end
   if not ok then error(problem, 0) end
   if beside then python.note_written(filename) end
end

-- mode: 'b32' and 'b64' are binary files from machines with 32-bit and 64-bit longs.
function torch.load(filename, mode, referenced)
   check_mode(mode, { binary = true, ascii = true, b32 = true, b64 = true },
      '"binary", "b32", "b64" or "ascii" (or nil)')
   referenced = check_referenced(referenced)
   local file = torch.DiskFile(filename, 'r')
   if mode == 'ascii' then file:ascii() else file:binary() end
   if mode == 'b32' then file:longSize(4) elseif mode == 'b64' then file:longSize(8) end
   file:referenced(referenced)
   local object = file:readObject()
   file:close()
   return object
end

-- Captured here, because a script may replace any of them in the table torch.
local MemoryFile = class.getconstructortable('torch.MemoryFile')

local function to_storage(object, mode)
   local file = MemoryFile()
   file[mode or 'binary'](file)
   file:writeObject(object)
   local bytes = file:storage()
   bytes:resize(bytes:size() - 1) -- without the terminating zero
   file:close()
   return bytes
end
torch.serializeToStorage = to_storage

function torch.serialize(object, mode) return to_storage(object, mode):string() end

-- bytes: a CharStorage or a CharTensor.
local CharStorage, CharTensor = class.getconstructortable('torch.CharStorage'),
   class.getconstructortable('torch.CharTensor')
local isStorage = torch.isStorage
local function from_storage(bytes, mode)
   if isStorage(bytes) then bytes = CharTensor(bytes) end
   local n = bytes:nElement()
   local ended = CharStorage(n + 1)
   CharTensor(ended, 1, n):copy(bytes)
   ended[n + 1] = 0
   local file = MemoryFile(ended)
   file[mode or 'binary'](file)
   local object = file:readObject()
   file:close()
   return object
end
torch.deserializeFromStorage = from_storage

function torch.deserialize(text, mode)
   if type(text) ~= 'string' then
      error("bad argument #1 to '?' (expecting number or torch.CharTensor or torch.CharStorage)", 0)
   end
   return from_storage(CharStorage():string(text), mode)
end

torch.saveobj, torch.loadobj = torch.save, torch.load

-- From now on storages.write(file, record) writes the elements of a file's storages, and storages.read(file, record, n)
-- reads n elements into an empty storage.
local function elements_by(file, storages) storages_of[file] = storages end
local function are_elements_shared(file) return storages_of[file] ~= nil end

return { elements_by = elements_by, are_elements_shared = are_elements_shared }
