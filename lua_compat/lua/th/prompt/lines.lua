-- Typed texts, the prompt's lines and a notebook's cells: whether they are whole, what they mean, and running them.
local help = require 'th.prompt.help'

local lines = {}

-- Any thread of this state stands for it where Ctrl-C sets a hook (runtime/interrupts.py).
local any_thread = coroutine.create(function() end)
function lines.state_address() return (tostring(any_thread):match('0x%x+')) end

-- A function and which of its values is the first of the text's own.
local function code(chunk, first)
   jit.off(chunk, true) -- compiled loops do not see the hook by which Ctrl-C stops them
   return { chunk = chunk, first = first }
end

-- Compiles statements, then an expression (a part of one text, as its lines count) whose values are the text's; or
-- returns nil and the error. in_frame: tracebacks show where in the expression a function was called. (A call that ends
-- a function takes its frame: here a value stands before it.)
function lines.compile_expression(statements, expression, name, in_frame)
   local chunk, problem = loadstring(statements .. (in_frame and 'return nil, ' or 'return ') .. expression, name)
   if not chunk then return nil, problem end
   return code(chunk, in_frame and 2 or 1)
end

-- Compiles the text as an expression or as statements; or returns nil, the error, and whether more text could fix it.
function lines.compile(text, name, in_frame)
   local bare = text:gsub('^%s*=', '', 1)
   local expression, of_expression = lines.compile_expression('', bare, name, in_frame)
   if expression then return expression end
   local statements, problem = loadstring(bare, name)
   if statements then return code(statements, 1) end
   return nil, problem, (of_expression:match("near '<eof>'$") or problem:match("near '<eof>'$")) ~= nil
end

local function is_command(text) return text:match('^%s*[?$]') end

-- Whether a typed text can be run; false if it continues on the next line.
function lines.is_whole(text)
   if is_command(text) or text:match('^%s*$') then return true end
   local _, _, unfinished = lines.compile(text, '=stdin')
   return not unfinished
end

-- Whether the values of a typed text are to be shown.
function lines.is_silent(text) return text:match(';%s*$') ~= nil end

local function shell(command)
   io.stdout:flush()
   local pipe = assert(io.popen(command .. ' 2>&1'))
   local output = pipe:read('*a')
   pipe:close()
   io.write(output)
   _LAST = output
end

-- Runs a text that is not Lua: ? NAME, $ COMMAND, exit, nothing. Returns whether it was one.
function lines.run_command(text)
   local topic, command = text:match('^%s*%?%s*(.-)%s*$'), text:match('^%s*%$%s*(.*)$')
   if topic then
      print(help.text(topic))
   elseif command then
      shell(command)
   else
      local word = text:match('^%s*(%a+)%s*;?%s*$')
      if (word == 'exit' or word == 'quit') and (_G[word] == nil or _G[word] == os.exit) then os.exit(0) end
      return text:match('^%s*$') ~= nil
   end
   return true
end

-- Keeps the values of a typed text in _LAST and _RESULTS.
local function keep(...)
   for place = 1, select('#', ...) do
      local value = select(place, ...)
      if value ~= nil then
         _RESULTS[#_RESULTS + 1] = value
         _LAST = value
      end
   end
end

-- Runs compiled text and calls finish(true, values...), or finish(false, problem): what was raised, and the frames
-- above the text.
function lines.run(compiled, finish)
   local function report(message)
      local trace = debug.traceback(tostring(message), 2):gsub("\n\t%[C%]: in function 'raw_xpcall'.*$", '')
      return (trace:gsub('\n\t%[builtin#%d+%][^\n]*', ''))
   end
   local function finished(ok, ...)
      if not ok then return finish(false, ...) end
      keep(select(compiled.first, ...))
      return finish(true, select(compiled.first, ...))
   end
   return finished(xpcall(compiled.chunk, report))
end

return lines
