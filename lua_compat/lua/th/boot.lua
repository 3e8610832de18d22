-- The environment of every script: protected calls that turn Python's exceptions into strings, os.exit, require.
-- Called by lua_compat/runtime/state.py with the function that finds Python's functions by name, whether PyTorch is
-- loaded, the folder of the Lua packages, the table arg, and the requested way, or 'any' if ways are watched
-- (torch/core/ways.lua), and what Python gets in place of -0, of which lupa makes the whole number 0. Returns the
-- function that Python runs scripts with.
local select = select
local find, pytorch_is_loaded, folder, script_arguments, way, negative_zero = ...

local raw_pcall, raw_xpcall, raw_resume = xpcall, xpcall, coroutine.resume -- raw_pcall has a handler, too
local raw_wrap, setmetatable = coroutine.wrap, setmetatable
local type, error, tonumber, modf = type, error, tonumber, math.modf
local metatable_of = debug.getmetatable
local PYTHON_OBJECT = metatable_of(python.none)
local first_userdata = newproxy(true) -- at the state's end, finalisers are called from the newest to the oldest

-- Raises LuaJIT's limits on compiled code. By default it discards all of it after 1000 traces or half a megabyte; a
-- script that trains a net with many kinds of layers has more than twice as many. (Memory is allocated as needed.) A
-- layer's call, from one loop to the next, has more constants than a trace's default of 500.
jit.opt.start('maxtrace=20000', 'maxmcode=40960', 'maxirconst=1000')

-- What is loaded before the script stays: the collector would traverse it again and again.
local collect = collectgarbage
collect 'stop'

-- Python's functions, looked up when they are first called: some load PyTorch, which takes more than a second.
-- shared.names: the names of all of them, in the sandbox. shared.pytorch: whether PyTorch is loaded; Lua then leaves to
-- it what PyTorch computes faster.
local shared = { pytorch = pytorch_is_loaded, watched = way ~= nil, negative_zero = negative_zero }
local as_function, rawset = python.as_function, rawset
find = as_function(find)
local functions = setmetatable({}, { __index = function(self, name)
   local f, loaded = find(name)
   shared.pytorch = loaded
   f = f and as_function(f)
   rawset(self, name, f)
   return f
end })
shared.functions = functions

-- What our files do when they are loaded, or when one of their functions is first called, is done once: LuaJIT does not
-- compile it. With it, a start would take a fifth longer.
local jit_is_on, jit_on, jit_off = jit.status, jit.on, jit.off
local function loaded_by(was_on, ok, ...)
   if was_on then jit_on() end
   if ok then return ... end
   error((...), 0)
end
local function as_it_is(problem) return problem end
local function run_once(f)
   return f and function(...)
      local was_on = jit_is_on()
      jit_off()
      return loaded_by(was_on, raw_pcall(f, as_it_is, ...))
   end
end

shared.run_once = run_once

-- Our files as compiled by one thread, loaded by later threads: compiling them is most of the cost of a state.
local compiled = functions.compiled_file
local plain_loadfile, load, dump, sub = loadfile, load, string.dump, string.sub
-- Bytecode loses the sizes of constructors, and tensors' records would grow key by key.
local makes_records = { ['torch/core/memory.lua'] = true, ['torch/core/blocks.lua'] = true }
local function load_own(path, environment)
   local is_kept = compiled and not makes_records[sub(path, #folder + 2)]
   local code = is_kept and compiled(path)
   if code then return load(code, '@' .. path, 'b', environment) end
   local chunk, problem = plain_loadfile(path, nil, environment)
   if chunk and is_kept then functions.keep_compiled_file(path, dump(chunk)) end
   return chunk, problem
end
function loadfile(path, mode, environment)
   if mode or type(path) ~= 'string' or sub(path, 1, #folder + 1) ~= folder .. '/' then
      return plain_loadfile(path, mode, environment)
   end
   local chunk, problem = load_own(path, environment)
   return run_once(chunk), problem
end

local c_stack = assert(loadfile(folder .. '/th/c_stack.lua'))()
local fits = c_stack.fits_coroutine
c_stack.begin()

-- Protected calls. Python's exceptions arrive as Python objects; scripts expect strings. KeyboardInterrupt and
-- SystemExit (os.exit) are not errors: they go through every pcall.
local function readable(problem)
   if type(problem) == 'userdata' and metatable_of(problem) == PYTHON_OBJECT then
      local text, fatal = functions.message(problem)
      if fatal then return problem, true end
      return text
   end
   return problem
end

local function failed(problem)
   local text, fatal = readable(problem)
   if fatal then error(text, 0) end
   return false, text
end

-- Preserves the number of values: for a function without results pcall returns just true.
local function finish(ok, ...)
   if ok then return true, ... end
   return failed(...)
end

-- An error whose level is that of a function below is one of that function's caller: LuaJIT's own has one level less.
local find_text, getinfo, match = string.find, debug.getinfo, string.match
local function of_caller(problem)
   local text = type(problem) == 'string' and match(problem, '^th/boot%.lua:%d+: (.*)')
   if not text then return problem end
   local level, frame, below = 2, nil, false
   repeat
      level = level + 1
      frame = getinfo(level, 'Sl')
      local is_ours = frame and frame.source == '@th/boot.lua'
      below = below or is_ours
   until not frame or below and not is_ours
   return (frame and frame.currentline > 0 and frame.short_src .. ':' .. frame.currentline .. ': ' or '') .. text
end

-- Rewords an error in the words of Torch7's LuaJIT: called where it was raised, at a level of the stack (of a thread).
local in_its_words
local function raised(problem)
   local text = in_its_words(of_caller(problem), 2) -- of the function that called this one
   return text
end

function pcall(f, ...) return finish(raw_pcall(f, raised, ...)) end

local function finish_resumed(thread, ok, ...)
   if ok then return true, ... end
   return failed(in_its_words((...), nil, thread))
end

function coroutine.resume(thread, ...)
   if type(thread) ~= 'thread' then return raw_resume(thread) end
   if not fits() then return false, 'C stack overflow' end
   return finish_resumed(thread, raw_resume(thread, ...))
end

function coroutine.wrap(f)
   if type(f) ~= 'function' then return raw_wrap(f) end
   local resume = raw_wrap(f)
   return function(...)
      if not fits() then error('C stack overflow', 2) end
      return resume(...)
   end
end

local function finish_handled(ok, ...)
   if not ok then
      local stop = ...
      if type(stop) == 'userdata' and metatable_of(stop) == PYTHON_OBJECT then error(stop, 0) end
   end
   return ok, ...
end

-- A handler that is given readable errors, and what it is made from, as long as something else keeps that: one that is
-- used again and again is made once. (A new function for each call would end LuaJIT's traces.)
local last = setmetatable({}, { __mode = 'v' })
local function readable_handler(handler)
   local function of_readable(problem)
      -- the stack then has no room for the calls below
      if type(problem) == 'string' and find_text(problem, 'stack overflow', 1, true) then return handler(problem) end
      local text, fatal = readable(problem)
      if fatal then return text end
      text = in_its_words(of_caller(text), 2)
      return handler(text)
   end
   last.handler, last.of_readable = handler, of_readable
   return of_readable
end

function xpcall(f, handler, ...)
   local of_readable = handler == last.handler and last.of_readable or readable_handler(handler)
   return finish_handled(raw_xpcall(f, of_readable, ...))
end

-- A profile that the script has not stopped is written at its end.
local loaded = package.loaded
local function end_profile()
   local profiler = loaded['jit.p']
   if type(profiler) == 'table' and profiler.stop then profiler.stop() end
end

local stdout, flush_file, type_of_file = io.stdout, io.stdout.flush, io.type
local function flush()
   if type_of_file(stdout) == 'file' then flush_file(stdout) end
end

function os.exit(code)
   if code == nil or code == true then code = 0
   elseif code == false then code = 1
   else
      code = tonumber(code) or error(("bad argument #1 to 'exit' (number expected, got %s)"):format(type(code)), 2)
      code = code > -2 ^ 31 and code < 2 ^ 31 and modf(code) or 0 -- as C's int
   end
   end_profile()
   flush()
   functions.exit(code)
end

assert(loadfile(folder .. '/th/files.lua'))(shared)
local own, fill_own = assert(loadfile(folder .. '/th/own.lua'))(folder)
in_its_words = assert(loadfile(folder .. '/dialect/init.lua'))(folder, c_stack.fits_callback, own)
setfenv(1, own) -- of what follows

-- require: the script's folder, the folder it is run from, our packages, LUA_PATH (or Lua's usual places), then where
-- LuaRocks and Torch7's installer put packages in plain Lua, and last our own of those that came with Torch7.
local script_folder = tostring(script_arguments[0]):match('^(.*)/[^/]*$') or '.'
local home = os.getenv('HOME') or '.'
local searched = {}
local function search(...)
   for _, place in ipairs{ ... } do searched[#searched + 1] = place .. '/?.lua;' .. place .. '/?/init.lua' end
end
search(script_folder, '.', folder)
searched[#searched + 1] = package.path
search(home .. '/.luarocks/share/lua/5.1', '/usr/local/share/lua/5.1', '/usr/share/lua/5.1',
   home .. '/torch/install/share/lua/5.1', folder .. '/rocks')
package.path = table.concat(searched, ';')

package.preload['th.python'] = function() return shared end

local function copy_of_arguments()
   local copy = {}
   for index, value in pairs(script_arguments) do copy[index] = value end
   return copy
end
_G.arg = copy_of_arguments()

-- The arguments of a script, which one before it may have changed.
local function arguments()
   local given = _G.arg
   return unpack(type(given) == 'table' and given or copy_of_arguments())
end

local function with_traceback(problem)
   if type(problem) == 'table' then
      local metatable = metatable_of(problem)
      if not (metatable and metatable.__tostring) then
         return '(error object is a table value)'
      end
   end
   return (debug.traceback(tostring(problem), 2))
end

-- Calls f(...); returns an uncaught error as text with a traceback, or nil.
local shortened = assert(loadfile(folder .. '/th/traces.lua'))()
local function guarded(f, ...)
   local ok, problem = xpcall(f, with_traceback, ...)
   if not ok then return shortened(problem) end
end

-- th loads Torch and its small companions, Penlight's names (not in the sandbox) and trepl's globals before the script
-- starts: ours, even if there is a folder torch next to the script.
local function load_torch(sandboxed)
   local path = package.path
   package.path = ('%s/?.lua;%s/?/init.lua'):format(folder, folder)
   for _, name in ipairs{ 'torch', 'paths', 'sys', 'xlua' } do
      local loaded_package = require(name)
      if not sandboxed then rawset(own, name, loaded_package) end
   end
   package.path = path
   require 'th.require'
   if not sandboxed then require 'th.penlight' end
   require 'th.trepl'
   if way and way ~= 'any' then require('torch.core.ways').only(way) end
end

local actions = {}

-- Finds all of Python's functions that have these names now.
function actions.find_all(names)
   shared.names = names
   for _, name in ipairs(names) do local _ = functions[name] end
end

function actions.start(sandboxed)
   if not sandboxed then fill_own() end
   if sandboxed then shared.number_of = assert(loadfile(folder .. '/th/addresses.lua'))() end
   local problem = guarded(load_torch, sandboxed)
   collect('restart', -1) -- as if a cycle had just ended
   return problem
end

function actions.file(path)
   local chunk, problem = loadfile(path)
   if not chunk then return problem end
   return guarded(chunk, arguments())
end

function actions.string(code, name)
   local chunk, problem = loadstring(code, name)
   if not chunk then return problem end
   return guarded(chunk, arguments())
end

-- Whether `require` would find a package.
function actions.finds(package_name)
   return (package.loaded[package_name] or package.preload[package_name]
      or package.searchpath(package_name, package.path) or package.searchpath(package_name, package.cpath)) ~= nil
end

function actions.require(package_name)
   return guarded(function()
      local loaded = require(package_name)
      if type(loaded) == 'table' and rawget(_G, package_name) == nil then _G[package_name] = loaded end
   end)
end

-- Runs source text and keeps its results for `result`, as one Torch7 object { n = how many, values... }.
local result
function actions.keep_result(code, name)
   local chunk, problem = loadstring(code, name)
   if not chunk then return problem end
   local serialize = torch.serialize -- the script may replace it
   return guarded(function()
      local function serialized(...) return serialize{ n = select('#', ...), ... } end
      result = serialized(chunk(arguments()))
   end)
end

function actions.result() return result end

-- Adds the functions of one of our files as actions: the prompt's, or those that watch the globals.
function actions.add(file, ...)
   return guarded(function(...)
      for name, action in pairs(assert(loadfile(folder .. '/th/' .. file))(...) or {}) do actions[name] = action end
   end, ...)
end

-- Called at the end of the script: ends the pools of threads that it has not terminated.
function actions.finish()
   local pools = package.loaded['threads.threads']
   local problem = pools and guarded(pools.finish) or nil
   return problem or guarded(end_profile)
end

-- Makes the end of the state the end of the process, with an exit code, once the finalisers of the script have been
-- called: to free its objects, one by one, would take a tenth of a small script's time.
function actions.end_process(code)
   local ffi = require 'ffi'
   ffi.cdef 'int th_fflush(void *) __asm__("fflush"); void th_exit(int) __asm__("_exit");'
   local flush_all, exit = ffi.C.th_fflush, ffi.C.th_exit
   local function when_finalised(userdata, rounds)
      metatable_of(userdata).__gc = function()
         if rounds > 0 then return when_finalised(newproxy(true), rounds - 1) end
         flush_all(nil)
         exit(code)
      end
   end
   when_finalised(first_userdata, 8) -- finalisers may make what has some: LuaJIT calls them in ten rounds
end

actions.flush = flush

function actions.ways_taken() return require('torch.core.ways').lines() end
function actions.report_of_ways(of_threads)
   local ways = require 'torch.core.ways'
   ways.add(of_threads)
   return ways.report()
end

function actions.collect()
   collectgarbage()
   collectgarbage() -- the second finds what finalisers of the script have kept
   if package.loaded['torch.core.memory'] then
      require('torch.core.blocks').release_spares()
      require('torch.core.collection').release()
   end
end

return function(action, ...)
   c_stack.begin() -- another thread may have called this one before
   return actions[action](...)
end
