-- Typed texts (lines of the prompt, cells of a notebook): whether they are complete, what they mean, and how they are
-- run.
local help = require 'th.prompt.help'
local shortened = require 'th.traces'

local lines = {}

-- Any thread of this state can represent it when Ctrl-C sets a hook (runtime/interrupts.py).
local any_thread = coroutine.create(function() end)
function lines.state_address() return (tostring(any_thread):match('0x%x+')) end

-- A compiled text, and the index of its first value that belongs to the text.
local function code(chunk, first)
   jit.off(chunk, true) -- compiled loops do not check the hook that Ctrl-C sets
   return { chunk = chunk, first = first }
end

-- Compiles statements followed by an expression (in one text, so that line numbers are right) whose values are the
-- text's. Returns nil and the error if it fails. in_frame: tracebacks show where in the expression a function was
-- called. (A tail call would drop that frame, so a value is put before the expression.)
function lines.compile_expression(statements, expression, name, in_frame)
   local chunk, problem = loadstring(statements .. (in_frame and 'return nil, ' or 'return ') .. expression, name)
   if not chunk then return nil, problem end
   return code(chunk, in_frame and 2 or 1)
end

-- Compiles a text as an expression or as statements. Returns nil, the error, and whether the text is incomplete if it
-- fails.
function lines.compile(text, name, in_frame)
   local bare = text:gsub('^%s*=', '', 1)
   local expression, of_expression = lines.compile_expression('', bare, name, in_frame)
   if expression then return expression end
   local statements, problem = loadstring(bare, name)
   if statements then return code(statements, 1) end
   return nil, problem, (of_expression:match("near '<eof>'$") or problem:match("near '<eof>'$")) ~= nil
end

-- The name that a text asks for help on: ? NAME or NAME?, if it does.
local function topic_of(text) return text:match('^%s*%?%s*(.-)%s*$') or text:match('^%s*([%w_.:]+)%s*%?%s*$') end

local function is_command(text) return text:match('^%s*%$') or topic_of(text) end

-- Whether a typed text can be run; false if it continues on the next line.
function lines.is_whole(text)
   if is_command(text) or text:match('^%s*$') then return true end
   local _, _, unfinished = lines.compile(text, '=stdin')
   return not unfinished
end

-- Whether the values of a typed text are not shown: it ends with a semicolon.
function lines.is_silent(text) return text:match(';%s*$') ~= nil end

local function shell(command)
   io.stdout:flush()
   local pipe = assert(io.popen(command .. ' 2>&1'))
   local output = pipe:read('*a')
   pipe:close()
   io.write(output)
   _LAST = output
end

-- Runs a text that is not Lua: ? NAME, NAME?, $ COMMAND, exit, or nothing. Returns whether it was one.
function lines.run_command(text)
   local topic, command = topic_of(text), text:match('^%s*%$%s*(.*)$')
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

-- Stores the values of a typed text in _LAST and _RESULTS.
local function keep(...)
   for place = 1, select('#', ...) do
      local value = select(place, ...)
      if value ~= nil then
         _RESULTS[#_RESULTS + 1] = value
         _LAST = value
      end
   end
end

-- Runs a compiled text and calls finish(true, values...) or finish(false, problem), where problem is the error and the
-- stack frames above the text.
function lines.run(compiled, finish)
   local function report(message) return (debug.traceback(tostring(message), 2)) end
   local function finished(ok, ...)
      if not ok then return finish(false, (shortened((...)):gsub('\n\t%[builtin#%d+%][^\n]*', ''))) end
      keep(select(compiled.first, ...))
      return finish(true, select(compiled.first, ...))
   end
   return finished(xpcall(compiled.chunk, report))
end

return lines
