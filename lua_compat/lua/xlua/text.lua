-- Functions for strings and tables; those named string.* and table.* are available to every script.

-- The pieces between the matches of a pattern, without empty ones at the start and end.
function _G.string.split(text, pattern)
   local pieces, start = {}, 1
   while true do
      local first, last, piece = text:find('(.-)' .. pattern, start)
      if not first then break end
      if last < start then error('string.split: the pattern matches the empty string', 2) end
      if first > 1 or piece ~= '' then pieces[#pieces + 1] = piece end
      start = last + 1
   end
   if start <= #text then pieces[#pieces + 1] = text:sub(start) end
   return pieces
end

-- The value of a Lua expression: string.tosymbol('torch.Tensor').
function _G.string.tosymbol(expression)
   local chunk, problem = loadstring('return ' .. expression)
   if not chunk then error(problem, 2) end
   local ok, value = pcall(chunk)
   if not ok then error(value, 2) end
   if not value then error(('symbol "%s" does not exist'):format(expression), 2) end
   return value
end

-- Removes `length` (default 1) elements from `start` (default 1) on. Returns the list and the removed elements.
function _G.table.splice(list, start, length)
   start, length = start or 1, length or 1
   local kept, removed = {}, {}
   for i, element in ipairs(list) do
      local into = i >= start and i < start + length and removed or kept
      into[#into + 1] = element
   end
   return kept, removed
end

-- Keeps one element for each value of `hash` (default: the element itself): merge(later, earlier) of two, or the last
-- one.
function _G.table.prune(list, hash, merge)
   local place, pruned = {}, {}
   for _, element in ipairs(list) do
      local key = element
      if hash then key = hash(element) end
      local at = place[key]
      if not at then
         at = #pruned + 1
         place[key], pruned[at] = at, element
      else
         pruned[at] = merge and merge(element, pruned[at]) or element
      end
   end
   return pruned
end

local function value_text(value)
   if type(value) == 'table' then return xlua.table2string(value) end
   if type(value) ~= 'string' then return tostring(value) end
   value = value:gsub('\n', '\\n')
   if value:find('"') and not value:find("'") then return "'" .. value .. "'" end
   return '"' .. value:gsub('"', '\\"') .. '"'
end

local function key_text(key)
   if type(key) == 'string' and key:find('^[%a_][%w_]*$') then return key end
   return '[' .. value_text(key) .. ']'
end

-- A table as Lua source; with `newline`, one entry per line, as "key : value".
function xlua.table2string(t, newline)
   local entries, listed = {}, {}
   for i, value in ipairs(t) do
      entries[i], listed[i] = value_text(value), true
   end
   for key, value in pairs(t) do
      if not listed[key] then
         entries[#entries + 1] = key_text(key) .. (newline and ' : ' or '=') .. value_text(value)
      end
   end
   if newline then return '{\n   ' .. table.concat(entries, '\n   ') .. '\n}' end
   return '{' .. table.concat(entries, ',') .. '}'
end

-- Seconds in the two largest nonzero units: "1h2m", "350ms".
function xlua.formatTime(seconds)
   local milliseconds = math.floor(seconds * 1000)
   local units = { { 'D', 86400000 }, { 'h', 3600000 }, { 'm', 60000 }, { 's', 1000 }, { 'ms', 1 } }
   local text, shown = '', 0
   for _, unit in ipairs(units) do
      local count = math.floor(milliseconds / unit[2])
      milliseconds = milliseconds - count * unit[2]
      if count > 0 and shown < 2 then
         text, shown = text .. count .. unit[1], shown + 1
      end
   end
   return text == '' and '0ms' or text
end

-- The table of defaults, overridden by environment variables of the same names, which are converted to the default's
-- type.
function xlua.envparams(defaults)
   local parameters = {}
   for name, default in pairs(defaults) do
      local text = os.getenv(name)
      local value = text
      if text == nil then
         value = default
      elseif type(default) == 'number' then
         value = tonumber(text) or error(('%s=%s: a number is expected'):format(name, text), 2)
      elseif type(default) == 'boolean' then
         local lowered = text:lower()
         if lowered == 'true' or lowered == 'false' then value = lowered == 'true' end
      end
      parameters[name] = value
   end
   return parameters
end
