-- Torch7's LuaJIT is built with the option for Lua 5.2 (LUAJIT_ENABLE_LUA52COMPAT); the one used here is not. These
-- files make up for it. th/boot.lua calls this, before anything captures a function of Lua's library, with the folder
-- of our Lua packages, the function of th/c_stack.lua that gsub asks, and the globals of our own files.
local folder, fits, own = ...
local loadfile, assert = loadfile, assert

local function part(name, ...) return assert(loadfile(folder .. '/dialect/' .. name .. '.lua'))(...) end

local call_method = part 'method'
part('library', call_method, fits)
part 'halves'
part 'processes'
part 'running'

local operand = part 'operand'
local comparisons, with_types_in_order = part('compare', operand, call_method)
part('length', operand, call_method, comparisons)
local source = part 'source'
part('chunks', source, part('comparisons', source), part 'lines', folder, own)
return with_types_in_order
