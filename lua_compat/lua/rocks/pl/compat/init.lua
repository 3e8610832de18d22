-- pl.compat: differences between versions of Lua.
local compat = {}

compat.lua51 = _VERSION == 'Lua 5.1'
compat.jit = tostring(assert):match('builtin') ~= nil
compat.jit52 = compat.jit and not loadstring('local goto = 1')
compat.dir_separator = package.config:sub(1, 1)
compat.is_windows = compat.dir_separator == '\\'
compat.load = load

-- The sandbox has neither function; a call then raises its error.
function compat.getfenv(f) return getfenv(f) end
function compat.setfenv(f, environment) return setfenv(f, environment) end

-- Runs a shell command. Returns whether it succeeded, and its exit status.
function compat.execute(command)
   local first, _, status = os.execute(command)
   if type(first) ~= 'number' then return not not first, status end
   if first > 255 then first = first / 256 end
   return first == 0, first
end

-- Lua 5.4's warn: '@on' and '@off' switch it; other texts are printed while it is on.
if not rawget(_G, 'warn') then
   local on = false
   rawset(_G, 'warn', function(first, ...)
      if select('#', ...) == 0 and (first == '@on' or first == '@off') then
         on = first == '@on'
      elseif on then
         io.stderr:write('Lua warning: ', first, ...)
         io.stderr:write('\n')
      end
   end)
end

return compat
