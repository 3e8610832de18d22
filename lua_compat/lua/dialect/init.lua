-- Torch7's LuaJIT is built with LuaJIT's option for Lua 5.2 (LUAJIT_ENABLE_LUA52COMPAT), the one that runs here is
-- not: these files make up for it. Called by th/boot.lua with the folder of our Lua packages, before anything that
-- takes a function of Lua's library for itself, the function of th/c_stack.lua that gsub asks, and the globals of our
-- own files.
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
