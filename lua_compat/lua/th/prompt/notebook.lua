-- A notebook's Lua side: runs cells, and shows their values and the output of the package itorch. Called by
-- lua_compat/runtime/state.py with a function that takes a message of the notebook's protocol as JSON, one that returns
-- a line typed into the page or None, and a text that is unique to this kernel. Returns the functions that Python
-- calls.
local publish, ask, session = ...

require 'itorch'
local channel = require 'itorch.channel'
local class = require 'torch.core.class'
local completion = require 'th.prompt.completion'
local help = require 'th.prompt.help'
local lines = require 'th.prompt.lines'
local pretty = require 'th.pretty'
local results = require 'itorch.results'

help.general = [[
A cell is Lua code. The value of an expression is shown unless the cell ends with ';'.
  TAB             completes names and, inside quotes, file names
  ? NAME          shows help on a name, such as ? torch.randn; SHIFT-TAB shows it next to the code
  $ COMMAND       runs a shell command
  _LAST _RESULTS  the last value, all values
  who()           shows your globals  import 'nn'     makes a package's names global
  itorch.image itorch.audio itorch.video itorch.html itorch.svg itorch.Plot itorch.help]]

pretty.depth, pretty.as_env = 4, true
io.stdout:setvbuf('line')
channel.open(python.as_function(publish), session)

-- Allows a cell that defines a class to be run again.
local new_class = torch.class
function torch.class(name, ...)
   if type(name) == 'string' then class.forget(name) end
   return new_class(name, ...)
end

-- A text as a terminal would show it after moves within its line: a page treats a backspace as a deletion.
local function line_of(text)
   local cells, place = {}, 1
   for character in text:gmatch('[^\r\n]') do
      if character == '\b' then
         place = place - 1
      else
         cells[place], place = character, place + 1
      end
   end
   return table.concat(cells)
end

-- A progress bar may be drawn a thousand times per second, and each drawing would be a message.
local draw, drawn, last = xlua.progress, 0, 0
function xlua.progress(current, goal)
   local now = sys.clock()
   local begins = current <= last
   last = current
   if not begins and current < goal and now - drawn < 1 then return end
   drawn = now
   local pieces, write = {}, io.write
   io.write = function(...) for _, piece in ipairs{ ... } do pieces[#pieces + 1] = piece end end
   local ok, problem = pcall(draw, current, goal)
   io.write = write
   if not ok then error(problem, 0) end
   local text = table.concat(pieces)
   local line = line_of(text)
   if line ~= '' then io.write('\r', line, text:find('\n') and '\n' or '') end
   io.flush()
end

-- stdin is typed into the page: a line whenever none is left of the call's last one.
ask = python.as_function(ask)
local function typed(...)
   local formats, values, left = { ... }, {}, ''
   if #formats == 0 then formats[1] = '*l' end
   for place, format in ipairs(formats) do
      local line = left ~= '' and left or ask()
      if not line then return unpack(values, 1, place) end
      left = ''
      local kind = tostring(format):gsub('^%*', ''):sub(1, 1)
      if type(format) == 'number' then
         line, left = line:sub(1, format), line:sub(format + 1)
      elseif kind == 'n' then
         local number, rest = line:match('^%s*(%S+)(.*)$')
         line, left = tonumber(number), rest or ''
      elseif kind == 'L' then
         line = line .. '\n'
      elseif kind ~= 'l' and kind ~= 'a' then
         error("bad argument #" .. place .. " to 'read' (invalid format)", 2)
      end
      values[place] = line
   end
   return unpack(values, 1, #formats)
end
local function next_typed() return typed('*l') end

local libraries, stdin, methods = _G.io, io.stdin, getmetatable(io.stdin).__index
local read, lines_of, read_file, lines_of_file = io.read, io.lines, methods.read, methods.lines
function libraries.read(...) return (io.input() == stdin and typed or read)(...) end
function libraries.lines(...)
   if select('#', ...) > 0 or io.input() ~= stdin then return lines_of(...) end
   return next_typed
end
function methods.read(file, ...)
   if file == stdin then return typed(...) end
   return read_file(file, ...)
end
function methods.lines(file, ...) return file == stdin and next_typed or lines_of_file(file, ...) end

-- Compiles a cell. If it is neither an expression nor statements, it may be statements whose last lines are an
-- expression; the cell's values are then those of that.
local function compile(text, name)
   local compiled, problem = lines.compile(text, name, true)
   if compiled then return compiled end
   for place = #text, 1, -1 do
      if text:sub(place, place) == '\n' then
         local split = lines.compile_expression(text:sub(1, place), text:sub(place + 1), name, true)
         if split then return split end
      end
   end
   return nil, problem
end

-- Runs a cell. Returns an error's text with a traceback, or nil.
local function run(text, number, silent)
   if lines.run_command(text) then return end
   local name = ('In [%d]'):format(number)
   local compiled, problem = compile(text, '=' .. name)
   if not compiled then return problem end
   return lines.run(compiled, function(ok, ...)
      if not ok then
         local trace, main = ..., ('\n\tIn [%d]:%%d+: in main chunk'):format(number):gsub('[%[%]]', '%%%0')
         local _, last = trace:find(main)
         return last and trace:sub(1, last) or (trace:gsub('\nstack traceback:$', ''))
      end
      local data = not silent and not lines.is_silent(text) and results.data(...)
      if data then channel.result(data) end
   end)
end

-- The same for Lua, help, or a shell command.
local function run_cell(...)
   local _, problem = pcall(run, ...)
   return problem ~= nil and tostring(problem) or nil
end

return {
   state_address = lines.state_address,
   run_cell = run_cell,
   complete = completion.names,
   is_whole = lines.is_whole,
   help = function(name) return help.resolve(name) ~= nil and help.text(name) or nil end,
}
