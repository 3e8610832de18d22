-- Other functions of torch: queries about objects, threads, clocks, and the inclusion of files.
local ffi = require 'ffi'
local attached = require 'torch.core.attached'
local memory = require 'torch.core.memory'
local device_pointers = require 'torch.core.device_pointers'
local errors = require 'torch.core.errors'
local class = require 'torch.core.class'
local library = require 'torch.core.library'
local shared = require 'th.python'
local python = shared.functions

local records, typename = memory.records, class.typename

_G.string.gfind = string.gmatch

function torch.type(object) return typename(object) or type(object) end

function torch.isTensor(object)
   local r = records[object]
   if r then return r.nd ~= nil end
   local name = typename(object)
   return (name and name:find('torch.*Tensor') and true) or false
end

function torch.isStorage(object)
   local r = records[object]
   if r then return r.nd == nil and r.n ~= nil end
   local name = typename(object)
   return (name and name:find('torch.*Storage') and true) or false
end

function torch.totable(object)
   if torch.isTensor(object) or torch.isStorage(object) then return object:totable() end
   error('obj must be a Storage or a Tensor', 2)
end

-- A pointer to the first element; asnumber: as an FFI integer.
function torch.data(object, asnumber)
   if not object then return nil end
   local pointer = object:data()
   return asnumber and (device_pointers.address(pointer) or ffi.cast('intptr_t', pointer)) or pointer
end

-- Tables associated with an object, kept as long as the object.
local environments = setmetatable({}, { __mode = 'k' })
function torch.setenv(object, environment)
   if type(object) == 'function' then return setfenv(object, environment) end
   local own = attached.find(object)
   if own then own.environment = environment else environments[object] = environment end
end
function torch.getenv(object)
   if type(object) == 'function' then return getfenv(object) end
   local own = attached.find(object)
   return own and own.environment or environments[object] or {}
end

function torch.setnumthreads(n)
   shared.threads = errors.whole(n, 1) -- may exceed the number of cores
   library.forget_threads()
   python.set_num_threads(shared.threads)
end
function torch.getnumthreads() return shared.threads or python.get_num_threads() end
function torch.getnumcores() return python.get_num_cores() end

function torch.tic() return python.wall_clock() end
function torch.toc(start) return python.wall_clock() - start end

function torch.isatty(file) return python.is_terminal(file == io.stdin and 0 or file == io.stderr and 2 or 1) end

-- The collector tracks tensor memory by itself; this function exists for scripts that call it.
function torch.setheaptracking(enabled) torch._heaptracking = enabled end
function torch.updateerrorhandlers() end
function torch.updatethreadlocals() end

-- The folder of a package.
function torch.packageLuaPath(name)
   if not name then return (torch.packageLuaPath('torch'):match('^(.*)/')) end
   for place in package.path:gmatch('[^;]+') do
      local path = place:gsub('%?', (name:gsub('%.', '/')))
      local file = io.open(path)
      if file then
         file:close()
         return path:match('^(.*)/')
      end
   end
end

function torch.include(package_name, file) dofile(torch.packageLuaPath(package_name) .. '/' .. file) end

-- Runs a file in the folder of the calling script.
function include(file)
   local source = debug.getinfo(2, 'S').source
   local folder = source:match('^@(.*)/[^/]*$') or '.'
   dofile(file:sub(1, 1) == '/' and file or folder .. '/' .. file)
end

function torch.multinomialAliasSetup(probabilities, state)
   state = type(state) == 'table' and state or {}
   state[1], state[2] = torch.multinomialAliasSetup_(probabilities, unpack(state))
   return state
end

function torch.multinomialAlias(output, state)
   torch.getmetatable(state[2]:type()).multinomialAlias_(output, state[1], state[2])
   return output
end
