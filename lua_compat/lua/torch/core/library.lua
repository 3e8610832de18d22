-- Routines of the libraries inside PyTorch and NumPy, called through LuaJIT's FFI without going through Python. Where a
-- library does not export them (macOS, ARM), Python computes instead.
local ffi = require 'ffi'
local shared = require 'th.python'
local python = shared.functions

local library = {}

local function open(path)
   local found, namespace = pcall(ffi.load, path)
   return path ~= '' and found and namespace
end

local PARAMETERS = { c = 'const char *, ', v = 'const void *, ' }

local function routine_of(namespace, name, declaration, real)
   if not namespace then return nil end
   if not declaration:find ' ' then
      declaration = 'void %s(' .. declaration:gsub('.', PARAMETERS):sub(1, -3) .. ')'
   end
   ffi.cdef(('%s __asm__("%s");'):format(declaration:format('th_' .. name):gsub('REAL', real or ''), name))
   local found, routine = pcall(function() return namespace['th_' .. name] end)
   return found and routine or nil
end

local loaded -- false: not available

-- Returns the routine of that name; nil if there is none. declaration: its C declaration with %s for the name, because
-- scripts may declare it, too, and REAL for the elements' C type; or, if it returns nothing, a letter for each
-- parameter: c, a letter; v, a pointer.
function library.routine(name, declaration, real)
   if loaded == nil then
      loaded = open(python.blas_library())
      library.counts_threads()
   end
   return routine_of(loaded, name, declaration, real)
end

-- Returns NumPy's routine for matrix products where that library is the faster one on this processor, nil elsewhere.
-- name: its BLAS name. It computes with one thread.
function library.product(name, declaration)
   local path, prefix = python.product_library()
   return routine_of(open(path), prefix .. name .. '_64_', declaration)
end

-- Loading the library takes as long as this much work in LuaJIT, so work that LuaJIT can do is first done there. The
-- unit is one multiplication; a call counts as OF_CALL.
local WORTH_LOADING, WORTH_NUMPYS, OF_CALL = 2 ^ 25, 2 ^ 20, 64
local spent = 0

local numpys -- whether numpy's library computes; nil: not known yet
local function has_numpys()
   if numpys == nil then numpys = python.product_library() ~= '' end
   return numpys
end

-- Whether the library is loaded already, or worth loading for this much more work. The answer depends on earlier calls,
-- so it may only be used where LuaJIT computes the same bits, or the last ones do not count.
function library.is_worth(work)
   if loaded or shared.pytorch then return true end
   spent = spent + work + OF_CALL
   return spent > WORTH_LOADING
end

-- The same for what numpy's library, which loads faster, computes if it is the faster one.
function library.is_worth_for_products(work)
   return library.is_worth(work) or spent > WORTH_NUMPYS and has_numpys()
end

-- Loading PyTorch takes as long as 2^30 steps of a loop. Until it is loaded, LuaJIT takes over work meant for PyTorch,
-- up to half that amount in all threads together. This function returns whether `steps` more are within that budget.
-- (As above, only where both compute the same bits.)
local MOST_INSTEAD = 2 ^ 29
local instead -- a number that all threads add to
function library.saves_pytorch(steps)
   if shared.pytorch then return false end
   instead = instead or ffi.cast('double *', python.work_instead_of_pytorch())
   local sum = instead[0] + steps
   if sum > MOST_INSTEAD then return false end
   instead[0] = sum
   return true
end

-- The number of threads to which this thread's routines are limited: as many as the script asked for. nil once PyTorch
-- is loaded, which then applies the limit itself.
local limit
local set_threads -- the routine that limits them; false: not available

local function set_limit(wanted)
   if set_threads == nil then set_threads = library.routine('MKL_Set_Num_Threads_Local', 'int %s(int n)') or false end
   if not set_threads then return wanted == nil end
   set_threads(wanted and math.max(1, math.min(wanted, python.get_num_cores())) or 0)
   limit = wanted
   return true
end

-- Makes the routines use as many threads as the script asked for. Returns whether that is possible.
function library.counts_threads()
   local wanted = not shared.pytorch and shared.threads or nil
   return wanted == limit or loaded == nil or set_limit(wanted)
end

-- Called when the script asks for another number of threads.
function library.forget_threads()
   if limit then set_limit(nil) end
end

-- Whether the script is limited to one thread.
function library.computes_alone()
   if shared.threads and not shared.pytorch then return shared.threads == 1 end
   return python.computes_alone()
end

return library
