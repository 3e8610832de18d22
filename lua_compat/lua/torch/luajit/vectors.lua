-- Functions such as exp for many elements, by the vector library that PyTorch itself calls, so the bits are the same.
local templates = require 'torch.core.templates'
local library = require 'torch.core.library'
local no = require('torch.core.ways').no

-- enabled: tests turn it off
local vectors = { enabled = true }

-- Above this many elements, PyTorch's threads are faster.
vectors.MOST = 2 ^ 14

local DECLARATION = 'void %s(int64_t n, const REAL *x, REAL *y, int64_t mode)'
local MODE = 0x140102LL -- as in PyTorch: full precision, denormal numbers, no error handling
local NAMES = { exp = 'Exp', log = 'Ln', sin = 'Sin', cos = 'Cos', tan = 'Tan', asin = 'Asin', acos = 'Acos',
   atan = 'Atan', tanh = 'Tanh' }

local routines -- by type and function, found on the first call
local function find()
   local found = { Double = {}, Float = {} }
   for name, row in pairs{ Double = { 'vmd', 'double' }, Float = { 'vms', 'float' } } do
      local prefix, ctype = unpack(row)
      for f, ending in pairs(NAMES) do
         local routine = library.routine(prefix .. ending, DECLARATION, ctype)
         found[name][f] = routine and function(p, q, n) routine(n, q, p, MODE) end
      end
   end
   routines = found
end
templates.on_first_use(function()
   if not routines then find() end
end)

-- Returns a function(p, q, n) that writes f of n elements at q to p, which may be q; nil if Python has to compute.
function vectors.routine(T, f, n)
   local few = n <= vectors.MOST or library.saves_pytorch(n)
   if not vectors.enabled or not few or not T.real or not library.counts_threads() then
      return no 'no routine for so many elements'
   end
   if not routines then find() end
   return routines[T.host.name][f]
end

return vectors
