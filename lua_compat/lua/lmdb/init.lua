-- The package lmdb (lmdb.torch): values, serialized by torch.serialize, in LMDB databases, by Python's lmdb. The fields
-- mdb_env, mdb_txn, mdb_dbi and mdb_cursor contain numbers instead of pointers, which scripts can pass to
-- lmdb.errcheck.
require 'torch'
require 'xlua'
local ffi = require 'ffi'
local python = require('th.python').functions

lmdb = { verbose = true }

lmdb.C = {
   MDB_SUCCESS = 0, MDB_KEYEXIST = -30799, MDB_NOTFOUND = -30798, MDB_BAD_TXN = -30782,
   MDB_FIXEDMAP = 0x01, MDB_NOSUBDIR = 0x4000, MDB_NOSYNC = 0x10000, MDB_RDONLY = 0x20000, MDB_NOMETASYNC = 0x40000,
   MDB_WRITEMAP = 0x80000, MDB_MAPASYNC = 0x100000, MDB_NOTLS = 0x200000, MDB_NOLOCK = 0x400000,
   MDB_REVERSEKEY = 0x02, MDB_DUPSORT = 0x04, MDB_INTEGERKEY = 0x08, MDB_CREATE = 0x40000,
   MDB_NOOVERWRITE = 0x10, MDB_NODUPDATA = 0x20, MDB_CURRENT = 0x40, MDB_APPEND = 0x20000,
}

-- The ways to move a cursor, by LMDB's numbers; false: those for databases with several values per key, which this
-- package cannot create.
local MOVES = { [0] = 'first', false, false, false, 'current', false, 'last', false, 'next', false, false, 'next',
   'prev', false,
   'prev', 'set_key', 'set_key', 'set_range' }
for number, name in pairs{ [0] = 'FIRST', [4] = 'GET_CURRENT', [6] = 'LAST', [8] = 'NEXT', [11] = 'NEXT_NODUP',
   [12] = 'PREV',
   [14] = 'PREV_NODUP', [15] = 'SET', [16] = 'SET_KEY', [17] = 'SET_RANGE' } do
   lmdb.C['MDB_' .. name] = number
end
local C = lmdb.C

local TEXTS = { [C.MDB_KEYEXIST] = 'MDB_KEYEXIST: Key/data pair already exists',
   [C.MDB_NOTFOUND] = 'MDB_NOTFOUND: No matching key/data pair found',
      [C.MDB_BAD_TXN] = 'MDB_BAD_TXN: Transaction must abort, has a child, or is invalid' }

pcall(ffi.cdef, 'typedef struct { size_t mv_size; void *mv_data; } MDB_val;')

function lmdb.serialize(value)
   local text = torch.serialize(value)
   return text, #text
end

local function bytes_of(text)
   local bytes = torch.ByteTensor(#text)
   if #text > 0 then ffi.copy(bytes:data(), text, #text) end
   return bytes
end

-- size bytes at data: LMDB's pointer, or a string, which says itself how long it is.
local function text_at(data, size)
   if type(data) == 'cdata' then return ffi.string(data, size) end
   if type(data) ~= 'string' then error('lmdb: a string or a pointer expected, got ' .. type(data), 3) end
   return data:sub(1, math.min(size or #data, #data))
end

-- Deserializes what torch.serialize wrote; other bytes, or all if `binary`, become a ByteTensor.
function lmdb.deserialize(data, size, binary)
   local text = text_at(data, size)
   if not binary then
      local ok, value = pcall(torch.deserialize, text)
      if ok then return value end
   end
   return bytes_of(text)
end

-- The memory that an MDB_val points to is kept as long as the MDB_val.
local anchors = setmetatable({}, { __mode = 'k' })

local function point(value, text)
   local memory = ffi.new('char[?]', #text + 1, text)
   anchors[value] = memory
   value[0].mv_size, value[0].mv_data = #text, memory
end

-- x as an MDB_val[1]: keys as text, other values serialized. Also returns its text.
function lmdb.MDB_val(value, x, is_key)
   value = value or ffi.new('MDB_val[1]')
   local text = is_key and tostring(x) or (lmdb.serialize(x))
   point(value, text)
   return value, text
end

local function text_of(value) return text_at(value[0].mv_data, tonumber(value[0].mv_size)) end

function lmdb.from_MDB_val(value, is_key, binary)
   if is_key then return text_of(value) end
   return lmdb.deserialize(value[0].mv_data, tonumber(value[0].mv_size), binary)
end

local function has(flags, flag) return bit.band(flags or 0, flag) ~= 0 end

-- The LMDB functions that the classes below call. Each returns LMDB's code, and a text if it is not the code's.
local calls = {}

local function status(problem) return problem and C.MDB_BAD_TXN or C.MDB_SUCCESS, problem end

function calls.mdb_get(transaction, _, key, data)
   local text = python.lmdb_get(transaction, text_of(key))
   if text == nil then return C.MDB_NOTFOUND end
   point(data, text)
   return C.MDB_SUCCESS
end

function calls.mdb_put(transaction, _, key, data, flags)
   local stored, problem = python.lmdb_put(transaction, text_of(key), text_of(data), not has(flags, C.MDB_NOOVERWRITE),
      has(flags, C.MDB_APPEND))
   if problem then return status(problem) end
   return stored and C.MDB_SUCCESS or C.MDB_KEYEXIST
end

function calls.mdb_txn_commit(transaction) return status(python.lmdb_end(transaction, true)) end

function calls.mdb_txn_abort(transaction) return status(python.lmdb_end(transaction, false)) end

function calls.mdb_cursor_get(cursor, key, data, how)
   local move = MOVES[tonumber(how)]
   if not move then return C.MDB_BAD_TXN, 'MDB_INCOMPATIBLE: Operation and DB incompatible' end
   local sets = move:find('^set')
   local is_there, found_key, found = python.lmdb_move(cursor, move, sets and text_of(key) or '', (key or data)
      and true or false)
   if not is_there then return C.MDB_NOTFOUND end
   if key and move ~= 'set_key' then point(key, found_key) end
   if data then point(data, found) end
   return C.MDB_SUCCESS
end

function calls.mdb_cursor_put(cursor, key, data, flags)
   local stored, problem = python.lmdb_cursor_put(cursor, text_of(key), text_of(data),
      not has(flags, C.MDB_NOOVERWRITE))
   if problem then return status(problem) end
   return stored and C.MDB_SUCCESS or C.MDB_KEYEXIST
end

function calls.mdb_cursor_del(cursor) return python.lmdb_delete(cursor) and C.MDB_SUCCESS or C.MDB_NOTFOUND end

-- Calls an LMDB function by name. Prints an error if lmdb.verbose is set. Returns LMDB's code.
function lmdb.errcheck(name, ...)
   local call = calls[name] or error(('lmdb.errcheck: th has no %s'):format(tostring(name)), 2)
   local code, problem = call(...)
   if code ~= C.MDB_SUCCESS and lmdb.verbose then
      print('Error in LMDB function ' .. name .. ' : ', problem or TEXTS[code])
   end
   return code
end

local Env = torch.class('lmdb.env')

local OPTIONS = { NOSUBDIR = 'boolean', NOMETASYNC = 'boolean', RDONLY = 'boolean', WRITEMAP = 'boolean',
   MAPASYNC = 'boolean',
   NOSYNC = 'boolean', NOTLS = 'boolean', NOLOCK = 'boolean', Path = 'string', Name = 'string', MapSize = 'number',
   Mode = 'number', MaxDBs = 'number', MaxReaders = 'number' }
local DEFAULTS = { MapSize = 2 ^ 40, Mode = 664, MaxDBs = 1, MaxReaders = 3, Name = 'Data' }
local MODE_BASE = 8

-- env{ Path = folder, MapSize = bytes, RDONLY = true... } or env(Path).
function Env:__init(given)
   if type(given) == 'string' then given = { Path = given } end
   if type(given) ~= 'table' or type(given.Path) ~= 'string' then
      error('lmdb.env: the argument Path is required', 3)
   end
   local flags = {}
   for name, value in pairs(given) do
      if not OPTIONS[name] then error(('lmdb.env: no argument %s'):format(tostring(name)), 3) end
      if type(value) ~= OPTIONS[name] then error(('lmdb.env: %s must be a %s'):format(name, OPTIONS[name]), 3) end
      if value == true then flags[#flags + 1] = name end
   end
   self.flags = table.concat(flags, ' ')
   for _, name in ipairs{ 'Path', 'Name', 'MapSize', 'Mode', 'MaxDBs', 'MaxReaders' } do
      self[name] = given[name] or DEFAULTS[name]
   end
end

local function opened(what, number, problem)
   if not number then error(('lmdb: %s: %s'):format(what, problem), 3) end
   return { [0] = number }
end

function Env:open()
   self.mdb_env = opened(self.Path, python.lmdb_open(self.Path, self.MapSize, self.flags,
      tonumber(tostring(self.Mode), MODE_BASE), self.MaxDBs, self.MaxReaders))
end

function Env:txn(...) return lmdb.txn(self, ...) end

function Env:reader_check() return python.lmdb_stale(self.mdb_env[0]) end

function Env:stat()
   local size, depth, branches, leaves, long, entries = python.lmdb_stat(self.mdb_env[0])
   return { psize = size, depth = depth, branch_pages = branches, leaf_pages = leaves, overflow_pages = long,
      entries = entries }
end

function Env:close()
   if self.mdb_env then
      python.lmdb_close(self.mdb_env[0])
      self.mdb_env = nil
   end
end

local Txn = torch.class('lmdb.txn')

-- read_only: without changes; parent: the enclosing transaction.
function Txn:__init(environment, read_only, parent)
   self.environment, self.read_only = environment, read_only or false
   self.mdb_txn = opened('a transaction', python.lmdb_begin(environment.mdb_env[0], not read_only,
      parent and parent.mdb_txn[0] or 0))
   self:dbi_open()
end

function Txn:dbi_open()
   self.mdb_dbi = { [0] = 0 }
   return C.MDB_SUCCESS
end

function Txn:commit()
   lmdb.errcheck('mdb_txn_commit', self.mdb_txn[0])
   self.mdb_txn = nil
end

function Txn:abort()
   if self.mdb_txn then
      lmdb.errcheck('mdb_txn_abort', self.mdb_txn[0])
      self.mdb_txn = nil
   end
end

-- After reset and renew, a reading transaction sees what has been written since.
function Txn:reset() lmdb.errcheck('mdb_txn_abort', self.mdb_txn[0]) end

function Txn:renew()
   self.mdb_txn = opened('a transaction', python.lmdb_begin(self.environment.mdb_env[0], not self.read_only, 0))
   return C.MDB_SUCCESS
end

function Txn:put(key, data, flag)
   self.mdb_key, self.mdb_data = lmdb.MDB_val(self.mdb_key, key, true), lmdb.MDB_val(self.mdb_data, data)
   return lmdb.errcheck('mdb_put', self.mdb_txn[0], self.mdb_dbi[0], self.mdb_key, self.mdb_data, flag or 0)
end

function Txn:cursor() return lmdb.cursor(self) end

-- The value of a key, or nil; binary: its bytes.
function Txn:get(key, binary)
   self.mdb_key = lmdb.MDB_val(self.mdb_key, key, true)
   self.mdb_data = self.mdb_data or ffi.new('MDB_val[1]')
   if lmdb.errcheck('mdb_get', self.mdb_txn[0], self.mdb_dbi[0], self.mdb_key, self.mdb_data) == C.MDB_NOTFOUND then
      return nil
   end
   return lmdb.from_MDB_val(self.mdb_data, false, binary or false)
end

function Txn:clear() self.mdb_key, self.mdb_data = nil, nil end

local Cursor = torch.class('lmdb.cursor')

function Cursor:__init(transaction)
   self.mdb_cursor = opened('a cursor', python.lmdb_cursor(transaction.mdb_txn[0]))
   self:first()
end

local function look(self, how)
   self.mdb_key, self.mdb_data = self.mdb_key or ffi.new('MDB_val[1]'), self.mdb_data or ffi.new('MDB_val[1]')
   return lmdb.errcheck('mdb_cursor_get', self.mdb_cursor[0], self.mdb_key, self.mdb_data, how or C.MDB_GET_CURRENT)
      ~= C.MDB_NOTFOUND
end

-- The key and value at the cursor, or after moving it; nil if there are none.
function Cursor:get(how, binary)
   if not look(self, how) then return nil end
   return lmdb.from_MDB_val(self.mdb_key, true), lmdb.from_MDB_val(self.mdb_data, false, binary or false)
end

function Cursor:getData(how, binary)
   if not look(self, how) then return nil end
   return lmdb.from_MDB_val(self.mdb_data, false, binary or false)
end

-- Moves to a key. Returns whether it exists.
function Cursor:set(key)
   self.mdb_key = lmdb.MDB_val(self.mdb_key, key, true)
   return lmdb.errcheck('mdb_cursor_get', self.mdb_cursor[0], self.mdb_key, nil, C.MDB_SET) ~= C.MDB_NOTFOUND
end

function Cursor:move(how)
   return lmdb.errcheck('mdb_cursor_get', self.mdb_cursor[0], nil, nil, how or C.MDB_GET_CURRENT) ~= C.MDB_NOTFOUND
end

function Cursor:put(key, data, flag)
   self.mdb_key, self.mdb_data = lmdb.MDB_val(self.mdb_key, key, true), lmdb.MDB_val(self.mdb_data, data)
   return lmdb.errcheck('mdb_cursor_put', self.mdb_cursor[0], self.mdb_key, self.mdb_data, flag or 0)
end

function Cursor:del(flag) return lmdb.errcheck('mdb_cursor_del', self.mdb_cursor[0], flag or 0) end

function Cursor:next() return self:move(C.MDB_NEXT) end

function Cursor:prev() return self:move(C.MDB_PREV) end

function Cursor:first() return self:move(C.MDB_FIRST) end

function Cursor:last() return self:move(C.MDB_LAST) end

function Cursor:close()
   if self.mdb_cursor then
      python.lmdb_close_cursor(self.mdb_cursor[0])
      self.mdb_cursor = nil
   end
   self.mdb_key, self.mdb_data = nil, nil
end

return lmdb
