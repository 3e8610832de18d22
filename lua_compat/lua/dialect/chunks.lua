-- load, loadstring, loadfile, dofile and the files that require finds: Lua source is first rewritten by
-- dialect/source.lua. Called with the table of dialect/source.lua, the functions of dialect/comparisons.lua and
-- dialect/lines.lua, and the folder of our own packages and their globals; our packages need no rewriting and are
-- loaded unchanged.
local source, with_comparisons, merged_lines, own_folder, own_globals = ...
own_folder = own_folder .. '/'

local plain_load, plain_loadfile, open, stdin = load, loadfile, io.open, io.stdin
local searchpath, package = package.searchpath, package
local type, error, pcall, tostring, concat = type, error, pcall, tostring, table.concat
local tonumber, dump = tonumber, string.dump
local byte, find, format, match, sub = string.byte, string.find, string.format, string.match, string.sub
local BYTECODE = 27
local AMBIGUOUS = ":(%d+): ambiguous syntax %(function call x new statement%) near '%('$"

-- Compiles a text in which the ( of a call may start a line. Returns the function, or nil and the error.
local function compile_joined(text, name, mode, environment)
   local chunk, problem = plain_load(text, name, mode, environment)
   local lines, higher, lower = {}, nil, nil
   while not chunk do
      local line = tonumber(match(problem, AMBIGUOUS))
      if not line or lines[line] then return nil, problem end
      lines[line] = true
      higher, lower = source.joined(text, lines)
      if not lower then return nil, problem end
      chunk, problem = plain_load(lower, name, mode, environment)
   end
   local twin = higher and plain_load(higher, name, mode, environment)
   local with_lines = twin and merged_lines(dump(twin), dump(chunk))
   return with_lines and plain_load(with_lines, name, nil, environment) or chunk
end

-- Whether any text has named a metamethod for comparisons. From then on, texts are rewritten so that comparisons find
-- it. Until then LuaJIT's own comparisons are used, which are faster in the interpreter.
local compared = false

-- Compiles a text with comparisons that look up metatables; nil if it has none, or does not compile.
local function compile_compared(text, name, mode, environment)
   local with_statements = source.with_statements(text)
   local changed = with_statements and with_comparisons(with_statements)
   if changed and changed ~= with_statements then return (compile_joined(changed, name, mode, environment)) end
end

-- Compiles a text. Returns the function, or nil and the error in terms of the original text. name: as for load.
local function compile(text, name, mode, environment)
   if byte(text) == BYTECODE then return plain_load(text, name, mode, environment) end
   local with_lengths = source.with_lengths(text)
   compared = compared or find(text, '__l[te]%f[^%w_]') ~= nil
   local chunk_compared = compared and compile_compared(with_lengths, name, mode, environment)
   if chunk_compared then return chunk_compared end
   local chunk, problem = plain_load(with_lengths, name, mode, environment)
   if chunk and not find(text, 'goto', 1, true) then return chunk end
   local with_statements = source.with_statements(with_lengths)
   if not with_statements or (chunk and with_statements == with_lengths) then return chunk, problem end
   chunk, problem = compile_joined(with_statements, name, mode, environment)
   if chunk then return chunk end
   if with_lengths ~= text then -- an error about # must not name its replacement
      local of_text, problem_of_text = compile_joined(source.with_statements(text), name, mode, environment)
      if not of_text then problem = problem_of_text end
   end
   local stand_in = source.stand_in(problem)
   if not stand_in then return nil, problem end
   local _, refused = compile_joined(source.with_statements(text, stand_in), name, mode, environment)
   return nil, source.message(problem, stand_in, refused)
end

-- Concatenates the pieces that a function returns, up to nil or an empty one.
local function gathered(read)
   local pieces = {}
   while true do
      local piece = read()
      if piece == nil or piece == '' then return concat(pieces) end
      if type(piece) ~= 'string' and type(piece) ~= 'number' then error('reader function must return a string', 0) end
      pieces[#pieces + 1] = piece
   end
end

function load(text, name, mode, environment)
   if type(text) == 'function' then
      local ok, all = pcall(gathered, text)
      if not ok then return nil, all end
      return compile(all, name or '=(load)', mode, environment)
   end
   if type(text) == 'number' then text = tostring(text) end
   if type(text) ~= 'string' or (name ~= nil and type(name) ~= 'string')
      or (mode ~= nil and type(mode) ~= 'string') then
      return plain_load(text, name, mode, environment)
   end
   return compile(text, name or text, mode, environment)
end

loadstring = load

function loadfile(path, mode, environment)
   local file = stdin
   if path ~= nil then
      if type(path) ~= 'string' then return plain_loadfile(path, mode, environment) end
      if sub(path, 1, #own_folder) == own_folder then return plain_loadfile(path, mode, environment or own_globals) end
      file = open(path, 'rb')
   end
   local text = file and file:read('*a')
   if path ~= nil and file then file:close() end
   if not text then return plain_loadfile(path, mode, environment) end -- returns the reason
   return compile(text, path and '@' .. path or '=stdin', mode, environment)
end
local loadfile = loadfile

local function results(...) return ... end

-- Not a tail call: code that inspects the stack expects a function between the file and the caller of dofile.
function dofile(path)
   local chunk, problem = loadfile(path)
   if not chunk then error(problem, 0) end
   return results(chunk())
end

-- Replaces LuaJIT's loader of Lua files.
package.loaders[2] = function(name)
   local path, missing = searchpath(name, package.path)
   if not path then return missing end
   local chunk, problem = loadfile(path)
   if not chunk then error(format("error loading module '%s' from file '%s':\n\t%s", name, path, problem), 0) end
   return chunk
end
