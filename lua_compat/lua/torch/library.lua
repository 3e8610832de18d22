-- Routines of the library inside PyTorch, called by LuaJIT's FFI without the way through Python. Where the library does not
-- export them (macOS, ARM), what they compute goes through Python.
local ffi = require 'ffi'
local shared = require 'th.python'
local python = shared.functions

local library = {}

local loaded -- false: there is none
local function load_library()
   if loaded == nil then
      local path = python.blas_library()
      local found, namespace = pcall(ffi.load, path)
      loaded = path ~= '' and found and namespace
   end
   return loaded
end

-- The routine of a name; nil where there is none. declaration: what it takes and gives, with %s for its name, which scripts
-- may declare, too, and REAL for the C type of the elements.
function library.routine(name, declaration, real)
   if not load_library() then return nil end
   ffi.cdef(('%s __asm__("%s");'):format(declaration:format('th_' .. name):gsub('REAL', real), name))
   local found, routine = pcall(function() return loaded['th_' .. name] end)
   return found and routine or nil
end

-- Whether routines compute with as many threads as the script has asked for: PyTorch sets their number when it is loaded.
function library.counts_threads() return shared.pytorch or not shared.threads end

return library
