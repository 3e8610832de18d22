-- Routines of the libraries inside PyTorch and numpy, called by LuaJIT's FFI without the way through Python. Where the
-- library does not export them (macOS, ARM), what they compute goes through Python.
local ffi = require 'ffi'
local shared = require 'th.python'
local python = shared.functions

local library = {}

local function open(path)
   local found, namespace = pcall(ffi.load, path)
   return path ~= '' and found and namespace
end

local function routine_of(namespace, name, declaration, real)
   if not namespace then return nil end
   ffi.cdef(('%s __asm__("%s");'):format(declaration:format('th_' .. name):gsub('REAL', real or ''), name))
   local found, routine = pcall(function() return namespace['th_' .. name] end)
   return found and routine or nil
end

local loaded -- false: there is none

-- The routine of a name; nil where there is none. declaration: what it takes and gives, with %s for its name, which
-- scripts may declare, too, and REAL for the C type of the elements.
function library.routine(name, declaration, real)
   if loaded == nil then loaded = open(python.blas_library()) end
   return routine_of(loaded, name, declaration, real)
end

-- Numpy's routine for products, where that library is the faster one on this processor; nil elsewhere. name: BLAS's. It
-- computes with one thread.
function library.product(name, declaration, real)
   local path, prefix = python.product_library()
   return routine_of(open(path), prefix .. name .. '_64_', declaration, real)
end

-- Loading the library takes as long as much work in LuaJIT: work that is in place without it is first done there.
-- (Steps as long as a multiplication; a call counts for itself.)
local WORTH_LOADING, OF_CALL = 2 ^ 25, 64
local spent = 0

-- Whether the library is worth loading for so much more work, or is loaded already. That depends on what came before:
-- it is only for what has the same bits in LuaJIT.
function library.is_worth(work)
   if loaded or shared.pytorch then return true end
   spent = spent + work + OF_CALL
   return spent > WORTH_LOADING
end

-- Loading PyTorch takes as long as a thousand million steps of a loop. As long as it is not loaded, work that would go
-- there is done in LuaJIT, up to half as many: whether so many more are among them. (For what has the same bits in
-- both, as above.)
local MOST_INSTEAD = 2 ^ 29
local instead = 0
function library.saves_pytorch(steps)
   if shared.pytorch or instead + steps > MOST_INSTEAD then return false end
   instead = instead + steps
   return true
end

-- How many threads the routines are limited to in this thread: as many as the script has asked for, which PyTorch, once
-- it is loaded, sees to itself (nil).
local limit
local set_threads -- the routine that limits them; false: there is none

local function set_limit(wanted)
   if set_threads == nil then set_threads = library.routine('MKL_Set_Num_Threads_Local', 'int %s(int n)') or false end
   if not set_threads then return wanted == nil end
   set_threads(wanted and math.max(1, math.min(wanted, python.get_num_cores())) or 0)
   limit = wanted
   return true
end

-- Whether routines compute with as many threads as the script has asked for.
function library.counts_threads()
   local wanted = not shared.pytorch and shared.threads or nil
   return wanted == limit or set_limit(wanted)
end

-- Called when the script asks for another number.
function library.forget_threads()
   if limit then set_limit(nil) end
end

-- Whether one thread is all that the script has.
function library.computes_alone()
   if shared.threads and not shared.pytorch then return shared.threads == 1 end
   return python.computes_alone()
end

return library
