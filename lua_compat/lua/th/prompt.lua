-- The prompt's Lua side: evaluates a typed line, completes a word, shows help on a name.
-- Called by lua_compat/cli/prompt.py with a flag for colors; returns the functions it calls.
local colored = ...

local pretty = require 'th.pretty'

local COLORS = { number = 36, boolean = 34, string = 32, ['function'] = 35, object = 31, ['nil'] = 90, time = 90,
   heading = 34, error = 31 }
local function paint(text, kind)
   local color = COLORS[kind]
   return colored and color and ('\27[%dm%s\27[0m'):format(color, text) or text
end
pretty.paint = paint

-- Lines

-- Compiles the text as an expression or as statements; or returns nil, the error, and whether more text could fix it.
local function compile(text)
   local bare = text:gsub('^%s*=', '', 1)
   local chunk, of_expression = loadstring('return ' .. bare, '=stdin')
   if chunk then return chunk end
   local statements, problem = loadstring(bare, '=stdin')
   if statements then return statements end
   return nil, problem, (of_expression:match("near '<eof>'$") or problem:match("near '<eof>'$")) ~= nil
end

local function is_command(text) return text:match('^%s*[?$]') end

-- Whether a typed text can be run; false if it continues on the next line.
local function is_whole(text)
   if is_command(text) or text:match('^%s*$') then return true end
   local _, _, unfinished = compile(text)
   return not unfinished
end

local function shell(command)
   io.stdout:flush()
   local pipe = assert(io.popen(command .. ' 2>&1'))
   local output = pipe:read('*a')
   pipe:close()
   io.write(output)
   _LAST = output
end

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

local function keep_and_show(silent, ...)
   for place = 1, select('#', ...) do
      local value = select(place, ...)
      if value ~= nil then
         _RESULTS[#_RESULTS + 1] = value
         _LAST = value
      end
      if not silent then show(value) end
   end
end

-- Help

-- The names of a function's parameters from the first-th on, in parentheses.
local function parameters_of(f, first)
   local info, names = debug.getinfo(f, 'u'), {}
   for place = first, info.nparams do names[#names + 1] = debug.getlocal(f, place) end
   if info.isvararg then names[#names + 1] = '...' end
   return ('(%s)'):format(table.concat(names, ', '))
end

-- The comment above a function in its source, and the names of its parameters.
local function about_function(f)
   local info = debug.getinfo(f, 'S')
   if info.what == 'C' then return 'a built-in function' end
   local lines = { 'function' .. parameters_of(f, 1) }
   local path = info.source:match('^@(.*)')
   local file = path and io.open(path)
   if file then
      local above, number = {}, 0
      for line in file:lines() do
         number = number + 1
         if number >= info.linedefined then break end
         local comment = line:match('^%s*%-%-%s?(.*)')
         if comment then above[#above + 1] = comment else above = {} end
      end
      file:close()
      for _, line in ipairs(above) do lines[#lines + 1] = '  ' .. line end
      lines[#lines + 1] = ('  defined in %s:%d'):format(path:match('[^/]*/[^/]*$') or path, info.linedefined)
   end
   return table.concat(lines, '\n')
end

-- The value of a dotted name; nil where there is none.
local function resolve(name)
   local value = _G
   for part in name:gmatch('[^.:]+') do
      local ok, inner = pcall(function() return value[part] end)
      if not ok then return nil end
      value = inner
   end
   return value
end

-- What a file of th/help says on a name: its arguments, '' where they are read from the code, and a sentence.
local function entry(file, name)
   for line in require('th.help.' .. file):gmatch('[^\n]+') do
      local word, rest = line:match('^(%S+) (.*)')
      if word == name then
         local arguments, sentence = rest:match('^(%b()) (.*)')
         return arguments or '', sentence or rest
      end
   end
end

-- A class's own name in th/help: Tensor for torch.FloatTensor.
local function short_name(class)
   local own = class:match('[%w_]+$')
   return own:match('^%u%l+(Tensor)$') or own:match('^%u%l+(Storage)$') or own
end

-- What th/help says on a function or class of torch or nn, or on a method of one of their classes or objects.
local function described(name)
   local owner, own = name:match('^(.+)[.:]([%w_]+)$')
   if not owner then return end
   if owner == 'torch' or owner == 'nn' then return entry(owner, owner == 'torch' and short_name(own) or own) end
   local holder = resolve(owner)
   local class = torch.typename(holder)
   local metatable = class and torch.getmetatable(class) or type(holder) == 'table' and getmetatable(holder)
   while metatable do
      local typename = rawget(metatable, '__typename')
      if typename and typename:match('^torch%.') or typename and typename:match('^nn%.') then
         local arguments, sentence = entry('methods', short_name(typename) .. '.' .. own)
         if not sentence and typename:match('Tensor$') then arguments, sentence = entry('torch', own) end
         if sentence then return arguments, sentence end
      end
      metatable = getmetatable(metatable)
   end
end

-- A class's arguments, as its constructor names them.
local function arguments_of(class)
   local init = class.__init
   return type(init) == 'function' and parameters_of(init, 2) or '()'
end

local function methods_of(metatable)
   local names = {}
   while metatable do
      for name, value in pairs(metatable) do
         if type(name) == 'string' and type(value) == 'function' and not name:match('^__') then names[name] = true end
      end
      metatable = debug.getmetatable(metatable)
   end
   local sorted = {}
   for name in pairs(names) do sorted[#sorted + 1] = name end
   table.sort(sorted)
   return sorted
end

local HELP = [[
A line is Lua code. Its values are shown unless it ends with ';', then the time it took.
  TAB             completes names and, inside quotes, file names
  UP, DOWN, ^R    earlier lines, also those of earlier sessions
  ? NAME          shows help on a name, such as ? torch.randn
  $ COMMAND       runs a shell command
  _LAST _RESULTS  the last value, all values
  who()           shows your globals  import 'nn'     makes a package's names global
  setprintlevel(n)                    sets how deep tables are printed
  ^C              clears the line, or stops running code        ^D, exit   leaves]]

local function help(name)
   if name == '' then return print(HELP) end
   local value = resolve(name)
   if value == nil and name:match('^nn%f[%W]') and rawget(_G, 'nn') == nil then
      require 'nn'
      print("nn is loaded now (require 'nn')")
      value = resolve(name)
   end
   if value == nil then
      return print(('no help: there is nothing called %s'):format(name))
   end
   local class_name = type(value) == 'table' and torch.typename(value) == nil and getmetatable(value)
      and rawget(getmetatable(value), '__typename')
   local arguments, sentence = described(name)
   if class_name then
      if not arguments or arguments == '' then arguments = arguments_of(getmetatable(value)) end
      print(paint(('%s%s: a class'):format(class_name, arguments), 'heading'))
      if sentence then print('  ' .. sentence) end
      print('  methods: ' .. table.concat(methods_of(getmetatable(value)), ' '))
   elseif type(value) == 'function' and sentence then
      if arguments == '' then arguments = parameters_of(value, name:match(':') and 2 or 1):gsub('^%(self,? ?', '(') end
      print(paint(name .. ' ' .. arguments, 'heading'))
      print('  ' .. sentence)
   elseif type(value) == 'function' then
      print(paint(name, 'heading') .. ': ' .. about_function(value))
   elseif type(value) == 'table' and not torch.typename(value) then
      local names = {}
      for key in pairs(value) do names[#names + 1] = tostring(key) end
      table.sort(names)
      print(paint(('%s: a table of %d'):format(name, #names), 'heading'))
      print('  ' .. table.concat(names, ' '))
   else
      print(paint(('%s: %s'):format(name, torch.typename(value) or type(value)), 'heading'))
   end
end

-- Runs one typed text; an error is printed, not raised.
local function evaluate(text)
   local topic, command = text:match('^%s*%?%s*(.-)%s*$'), text:match('^%s*%$%s*(.*)$')
   if topic then return help(topic) end
   if command then return shell(command) end
   if text:match('^%s*$') then return end
   local word = text:match('^%s*(%a+)%s*;?%s*$')
   if (word == 'exit' or word == 'quit') and (_G[word] == nil or _G[word] == os.exit) then os.exit(0) end
   local chunk, problem = compile(text)
   if not chunk then return io.stderr:write(paint(problem, 'error'), '\n') end
   jit.off(chunk, true) -- compiled loops do not see the hook by which Ctrl-C stops them
   local timer = torch.Timer()
   local silent = text:match(';%s*$')
   local function report(message)
      -- without the frames below the typed text, and without an empty heading
      local trace = debug.traceback(tostring(message), 2):gsub("\n\t%[C%]: in function 'raw_xpcall'.*$", '')
      return (trace:gsub('\n\tstdin:%d+: in main chunk.*$', ''):gsub('\n\t%[builtin#%d+%][^\n]*', '')
         :gsub('\nstack traceback:$', ''))
   end
   local function finish(ok, ...)
      if not ok then
         io.stdout:flush()
         return io.stderr:write(paint((...), 'error'), '\n')
      end
      keep_and_show(silent, ...)
      if colored then print(paint(('[%.4fs]'):format(timer:time().real), 'time')) end
   end
   finish(xpcall(chunk, report))
end

-- Completion

local function add_keys(found, value, prefix, methods_only)
   local seen = 0
   while type(value) == 'table' and seen < 20 do
      for key, held in pairs(value) do
         if type(key) == 'string' and key:match('^[%a_][%w_]*$') and key:sub(1, #prefix) == prefix
            and (prefix:sub(1, 2) == '__' or not key:match('^__'))
            and (not methods_only or type(held) == 'function') then
            found[key] = true
         end
      end
      local metatable = debug.getmetatable(value)
      local index = metatable and rawget(metatable, '__index')
      value = type(index) == 'table' and index or metatable
      seen = seen + 1
   end
end

-- The names that complete ``word`` (such as torch.ran or t:si), one per line.
local function complete(word)
   local path, separator, prefix = word:match('^(.*)([.:])([%w_]*)$')
   local found = {}
   if path then
      local value = resolve(path)
      local start = value
      if type(value) == 'string' then start = string
      elseif type(value) == 'userdata' then start = debug.getmetatable(value) end
      add_keys(found, start, prefix, separator == ':')
   else
      add_keys(found, _G, word)
      for keyword in ('and break do else elseif end false for function if in local nil not or repeat return then true '
         .. 'until while'):gmatch('%a+') do
         if keyword:sub(1, #word) == word then found[keyword] = true end
      end
   end
   local names = {}
   for name in pairs(found) do names[#names + 1] = (path and path .. separator or '') .. name end
   table.sort(names)
   return table.concat(names, '\n')
end

-- Any thread of this state stands for it where Ctrl-C sets a hook (runtime/interrupts.py).
local any_thread = coroutine.create(function() end)

return {
   state_address = function() return (tostring(any_thread):match('0x%x+')) end,
   evaluate = function(text) evaluate(text) end, -- an action's result would be an error
   complete = complete,
   is_whole = is_whole,
}
