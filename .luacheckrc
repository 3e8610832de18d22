-- The Lua that th runs: LuaJIT, with the globals that Torch7's packages make.
std = 'luajit'
max_line_length = 120
max_string_line_length = false -- a line that ends inside a text
self = false -- methods keep Torch7's signatures
ignore = {
   '311', '331', -- a value that is set to nil or passed over
   '43', -- a local with the name of one outside
   '581', -- not (x > y): true of NaN, too
}
globals = {
   'torch', 'nn', 'nngraph', 'graph', 'image', 'optim', 'paths', 'sys', 'xlua', 'gnuplot', 'dok', 'cutorch', 'cudnn',
   'nnx', 'totem', 'inn', 'ccn2', 'unsup', 'hdf5', 'csvigo', 'loadcaffe', 'lmdb', 'cephes', 'randomkit', 'socket', 'signal',
   'tic_modules', 'xerror', 'include', '__threadid',
}
exclude_files = { 'tests/golden' }

-- What gives scripts their Lua: Lua 5.2's functions, and those of th's prompt.
local of_lua = {
   'arg', 'collectgarbage', 'coroutine', 'debug', 'dofile', 'exit', 'getmetatable', 'import', 'io', 'ipairs', 'load',
   'loaddefaultlibs', 'loadfile', 'loadstring', 'module', 'noColors', 'os', 'package', 'pairs', 'pcall', 'print',
   'python', 'rawlen', 'repl', 'require', 'setmetatable', 'setprintlevel', 'string', 'table', 'tostring', 'unpack',
   'who', 'xpcall', 'xprint', 'xrequire', '_LAST', '_RESULTS',
}
for _, folder in ipairs{ 'dialect', 'env', 'th', 'torch', 'trepl', 'xlua' } do
   files['lua_compat/lua/' .. folder] = { globals = of_lua }
end

-- Scripts as people write them, with globals of their own.
for _, folder in ipairs{ 'tests', 'benchmarks', 'examples' } do files[folder] = { allow_defined_top = true, ignore = { '1', '2', '4' } } end
