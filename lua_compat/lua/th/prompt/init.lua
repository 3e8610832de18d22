-- The prompt's Lua side: evaluates a typed line and prints its values. Called by lua_compat/runtime/state.py with a
-- flag for colours; returns the functions that Python calls.
local colored = ...

local completion = require 'th.prompt.completion'
local help = require 'th.prompt.help'
local lines = require 'th.prompt.lines'
local pretty = require 'th.pretty'

local COLORS = { number = 36, boolean = 34, string = 32, ['function'] = 35, object = 31, ['nil'] = 90, time = 90,
   heading = 34, error = 31 }
local function paint(text, kind)
   local color = COLORS[kind]
   return colored and color and ('\27[%dm%s\27[0m'):format(color, text) or text
end
pretty.paint = paint

help.general = [[
A line is Lua code. Its values are shown unless it ends with ';', then the time it took.
  TAB             completes names and, inside quotes, file names
  UP, DOWN, ^R    earlier lines, also those of earlier sessions
  ? NAME          shows help on a name, such as ? torch.randn
  $ COMMAND       runs a shell command
  _LAST _RESULTS  the last value, all values
  who()           shows your globals  import 'nn'     makes a package's names global
  setprintlevel(n)                    sets how deep tables are printed
  ^C              clears the line, or stops running code        ^D, exit   leaves]]

local function show(value)
   if value == nil then return end
   if type(value) == 'table' and not (debug.getmetatable(value) or {}).__tostring then
      print(value)
   elseif type(value) == 'string' then
      print(value)
   elseif torch.isTensor(value) or torch.isStorage(value) then
      print(value)
   else
      print(paint(tostring(value), type(value)))
   end
end

-- Runs a typed text; errors are printed, not raised.
local function evaluate(text)
   if lines.run_command(text) then return end
   local compiled, problem = lines.compile(text, '=stdin')
   if not compiled then return io.stderr:write(paint(problem, 'error'), '\n') end
   local timer = torch.Timer()
   lines.run(compiled, function(ok, ...)
      if not ok then
         io.stdout:flush()
         -- without the frame of the typed text, and without an empty heading
         local trace = (...):gsub('\n\tstdin:%d+: in main chunk.*$', ''):gsub('\nstack traceback:$', '')
         return io.stderr:write(paint(trace, 'error'), '\n')
      end
      if not lines.is_silent(text) then
         for place = 1, select('#', ...) do show((select(place, ...))) end
      end
      if colored then print(paint(('[%.4fs]'):format(timer:time().real), 'time')) end
   end)
end

return {
   state_address = lines.state_address,
   evaluate = function(text) evaluate(text) end, -- returns nothing: an action's result would be taken for an error
   complete = completion.names,
   is_whole = lines.is_whole,
}
