-- The package matio: MATLAB files, by SciPy. Structures and cell arrays become tables; text becomes CharTensors or,
-- with matio.use_lua_strings, strings.
require 'torch'
local python = require('th.python').functions

local matio = { use_lua_strings = false }

-- load(path): a table of all variables; load(path, name): one; load(path, { name, ... }): a table of these.
function matio.load(path, names)
   local wanted = type(names) == 'string' and { names } or names or {}
   local values = torch.deserialize(python.matlab_load(path, matio.use_lua_strings, unpack(wanted)))
   if next(values) == nil and not names then
      print('No variables in this file')
      return
   end
   if type(names) == 'string' then return values[names] end
   return values
end

-- save(path, tensor): as the variable x; save(path, { name = value, ... })
function matio.save(path, data)
   if torch.isTensor(data) then data = { x = data } end
   if type(data) ~= 'table' then error('matio.save: a tensor or a table of variables is expected', 2) end
   local host = {}
   for name, value in pairs(data) do host[name] = torch.isTensor(value) and value:contiguous():clone() or value end
   python.matlab_save(path, torch.serialize(host))
end

return matio
