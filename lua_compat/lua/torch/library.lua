-- Routines of the libraries inside PyTorch and numpy, called by LuaJIT's FFI without the way through Python. Where the library does not
-- export them (macOS, ARM), what they compute goes through Python.
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
   ffi.cdef(('%s __asm__("%s");'):format(declaration:format('th_' .. name):gsub('REAL', real), name))
   local found, routine = pcall(function() return namespace['th_' .. name] end)
   return found and routine or nil
end

local loaded -- false: there is none

-- The routine of a name; nil where there is none. declaration: what it takes and gives, with %s for its name, which scripts
-- may declare, too, and REAL for the C type of the elements.
function library.routine(name, declaration, real)
   if loaded == nil then loaded = open(python.blas_library()) end
   return routine_of(loaded, name, declaration, real)
end

-- Numpy's product of matrices, where that library is the faster one on this processor; nil elsewhere. letter: that of the type
-- in BLAS's names. It computes with one thread.
function library.product(letter, declaration, real)
   local path, prefix = python.product_library()
   return routine_of(open(path), prefix .. letter .. 'gemm_64_', declaration, real)
end

-- Whether routines compute with as many threads as the script has asked for: PyTorch sets their number when it is loaded.
function library.counts_threads() return shared.pytorch or not shared.threads end

-- Whether one thread is all that the script has.
function library.computes_alone()
   if shared.threads and not shared.pytorch then return shared.threads == 1 end
   return python.computes_alone()
end

return library
