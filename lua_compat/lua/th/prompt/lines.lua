-- Typed texts, the prompt's lines and a notebook's cells: whether they are whole, what they mean, and running them.
local help = require 'th.prompt.help'

local lines = {}

-- Any thread of this state stands for it where Ctrl-C sets a hook (runtime/interrupts.py).
local any_thread = coroutine.create(function() end)
function lines.state_address() return (tostring(any_thread):match('0x%x+')) end

-- Compiles the text as an expression or as statements; or returns nil, the error, and whether more text could fix it.
function lines.compile(text, name)
   local bare = text:gsub('^%s*=', '', 1)
   local chunk, of_expression = loadstring('return ' .. bare, name)
   if chunk then return chunk end
   local statements, problem = loadstring(bare, name)
   if statements then return statements end
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

-- Calls finish(true, values...), or finish(false, problem): what was raised, and the frames above the typed text.
function lines.run(chunk, finish)
   jit.off(chunk, true) -- compiled loops do not see the hook by which Ctrl-C stops them
   local function report(message)
      local trace = debug.traceback(tostring(message), 2):gsub("\n\t%[C%]: in function 'raw_xpcall'.*$", '')
      return (trace:gsub('\n\t%[builtin#%d+%][^\n]*', ''))
   end
   local function finished(ok, ...)
      if ok then keep(...) end
      return finish(ok, ...)
   end
   return finished(xpcall(chunk, report))
end

return lines
