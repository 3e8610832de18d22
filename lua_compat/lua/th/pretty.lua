-- trepl's print, for scripts and the prompt: plain tables are shown with their contents. Everything used here is kept
-- in locals, because the sandbox removes some of it from the globals.
local DEEPEST = 5
local stdout, metatable_of = io.stdout, debug.getmetatable
local plain_print, select, type = _G.print, select, type
local typename, isTensor, isStorage = torch.typename, torch.isTensor, torch.isStorage

-- as_env: prints like env, as a notebook does: objects of Torch's classes with their fields, strings without quotes
local pretty = { depth = DEEPEST, paint = function(text) return text end, as_env = false }

local function has_text(object)
   local metatable = metatable_of(object)
   return metatable and metatable.__tostring
end

-- Whether print shows an object's contents.
local function is_written_out(object)
   return type(object) == 'table' and (not has_text(object) or pretty.as_env and typename(object) ~= nil)
end

-- Sorts numbers first, then the rest by their text.
local function sorted_keys(t)
   local keys = {}
   for key in pairs(t) do keys[#keys + 1] = key end
   table.sort(keys, function(a, b)
      local numbers_a, numbers_b = type(a) == 'number', type(b) == 'number'
      if numbers_a and numbers_b then return a < b end
      if numbers_a ~= numbers_b then return numbers_a end
      return tostring(a) < tostring(b)
   end)
   return keys
end

-- A value on one line: a tensor or storage as its type and size, a string in quotes.
local function brief(value)
   local name = typename(value)
   if name and (isTensor(value) or isStorage(value)) then
      local size = isStorage(value) and tostring(value:size()) or table.concat(value:size():totable(), 'x')
      return pretty.paint(('%s - %s'):format(name:gsub('^torch%.', ''), size == '' and 'empty' or 'size: ' .. size),
         'object')
   end
   if type(value) == 'string' then return pretty.paint(pretty.as_env and value or '"' .. value .. '"', 'string') end
   return pretty.paint(tostring(value), type(value))
end

local function add_lines(lines, t, depth, seen)
   local indent = (' '):rep(depth * 4)
   if has_text(t) then
      for line in tostring(t):gmatch('[^\n]+') do lines[#lines + 1] = indent .. line end
   end
   if next(t) == nil then
      lines[#lines + 1] = indent .. '{}'
      return
   end
   seen[t] = true
   lines[#lines + 1] = indent .. '{'
   for _, key in ipairs(sorted_keys(t)) do
      local value = t[key]
      local start = ('%s  %s : '):format(indent, tostring(key))
      if not is_written_out(value) then
         lines[#lines + 1] = start .. brief(value)
      elseif seen[value] or depth + 1 >= pretty.depth or next(value) == nil then
         lines[#lines + 1] = start .. (next(value) == nil and '{}' or '{...}')
      else
         lines[#lines + 1] = start
         add_lines(lines, value, depth + 1, seen)
      end
   end
   lines[#lines + 1] = indent .. '}'
   seen[t] = nil
end

-- The text of a table, with nested tables down to pretty.depth.
function pretty.text(t)
   local lines = {}
   add_lines(lines, t, 0, {})
   return table.concat(lines, '\n')
end

-- The output of print. A table with its contents ends the line; other values are separated by tabs.
function pretty.line(n, ...)
   local pieces = {}
   for place = 1, n do
      local value = select(place, ...)
      local written_out = is_written_out(value) and pretty.depth > 0
      pieces[#pieces + 1] = written_out and pretty.text(value) or tostring(value)
      pieces[#pieces + 1] = (written_out or place == n) and '\n' or '\t'
   end
   return table.concat(pieces)
end

-- print, with plain tables written out. Calls without tables go to Lua's own print, which is as fast as before.
function pretty.print(...)
   local n = select('#', ...)
   for place = 1, n do
      if is_written_out((select(place, ...))) and pretty.depth > 0 then
         stdout:write(pretty.line(n, ...))
         return
      end
   end
   return plain_print(...)
end

return pretty
