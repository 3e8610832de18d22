-- Runs the code blocks of a page, one after the other in the same globals, as a reader would type them.
-- usage: th documentation.lua FOLDER COUNT; FOLDER/N.lua is a block. Prints a line "BLOCK N", then what block N prints
-- and the globals that it set.
for _, package in ipairs{ 'nn', 'optim', 'image', 'nngraph' } do require(package) end
local folder, count = arg[1], tonumber(arg[2])

-- Lua's own print: trepl's shows tables
function print(...)
   local texts = {}
   for k = 1, select('#', ...) do texts[k] = tostring((select(k, ...))) end
   io.write(table.concat(texts, '\t'), '\n')
end

local function told(x)
   local kind = torch.type(x)
   if kind == 'function' or kind == 'userdata' or kind == 'thread' then return kind end
   if kind == 'table' then
      local keys = {}
      for key, value in pairs(x) do keys[#keys + 1] = tostring(key) .. ' ' .. torch.type(value) end
      table.sort(keys)
      return '{' .. table.concat(keys, ', ') .. '}'
   end
   local ok, text = pcall(tostring, x)
   return ok and text or 'cannot be printed: ' .. text
end

-- The statements of a block that shows a session: lines behind a prompt. nil if it shows none.
local function session(text)
   local statements = {}
   for line in text:gmatch('[^\n]+') do
      local typed = line:match('^%s*th> ?(.*)$') or line:match('^%s*> ?(.*)$')
      if typed then statements[#statements + 1] = (typed:gsub('^%s*=', 'return ')) end
   end
   return #statements > 0 and statements or nil
end

local function show(ok, ...)
   if not ok then return print('error: ' .. tostring((...))) end
   for k = 1, select('#', ...) do print(told((select(k, ...)))) end
end

local function run(text)
   local chunk, problem = loadstring('return ' .. text, '=block')
   if not chunk then chunk, problem = loadstring(text, '=block') end
   if not chunk then return print('does not parse: ' .. problem) end
   show(xpcall(chunk, function(message) return message end))
end

local seen = {}
for name in pairs(_G) do seen[name] = _G[name] end
for number = 1, count do
   local file = io.open(('%s/%d.lua'):format(folder, number))
   local text = file:read('*a')
   file:close()
   io.write('\nBLOCK ', number, '\n')
   torch.setdefaulttensortype('torch.DoubleTensor')
   torch.manualSeed(number)
   math.randomseed(number)
   for _, statement in ipairs(session(text) or { text }) do run(statement) end
   local names = {}
   for name, value in pairs(_G) do
      if not rawequal(seen[name], value) then names[#names + 1] = name end
   end
   table.sort(names)
   for _, name in ipairs(names) do
      seen[name] = _G[name]
      print(name .. ' = ' .. told(_G[name]))
   end
   io.stdout:flush()
end
