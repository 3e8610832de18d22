-- Errors in Torch7's wording, with the position and the names that Lua gives errors of functions written in C.
local type, tonumber, tostring, error, getinfo = type, tonumber, tostring, error, debug.getinfo
local calls = require 'torch.core.calls'
local errors = {}

local function escaped(character) return ('\\%d'):format(character:byte()) end

-- Text that may come from a file, for messages: line breaks and other control characters become Lua escapes.
function errors.shown(text) return (tostring(text):gsub('%c', escaped)) end

errors.described = type -- replaced by class.typename when classes are loaded

local OURS = getinfo(1, 'S').source:match('^(.*/)core/[^/]*$') -- the folder of code that is C in Torch7
local CONSTRUCTORS = OURS .. 'core/class.lua'

local function is_ours(source) return source:sub(1, #OURS) == OURS or source:find('^=torch[.:]') ~= nil end

-- How the script called the function that raises. Returns the position of the call, the function's name, whether it is
-- a method, the calling frame, and whether an operator made the call. Torch7 reaches torch.add and similar functions
-- (whose chunks overloads.lua names accordingly), constructors and operators through another C function, so Lua knows
-- neither position nor name for these.
local function call_of_script()
   local level, source = 1, OURS
   while true do
      local frame = getinfo(level + 1, 'Slf')
      if not frame or not is_ours(frame.source) then
         local call = getinfo(level, 'n')
         local is_operator = call.namewhat == 'metamethod'
         if source:find('^=torch%.') or source == CONSTRUCTORS or is_operator then
            return '', nil, nil, nil, is_operator
         end
         local known = frame and frame.currentline > 0
         local position = known and ('%s:%d: '):format(frame.short_src, frame.currentline) or ''
         return position, call.name, call.namewhat == 'method', frame
      end
      level, source = level + 1, frame.source
   end
end

-- Whether the script passed a nil explicitly. Decided from the bytecode: every call of that name in that line must pass
-- the argument.
local function was_given(index)
   local _, name, _, frame, is_operator = call_of_script()
   if is_operator then return true end
   if not (name and frame and frame.func and frame.currentline > 0) then return false end
   local fewest = calls.fewest_arguments(frame.func, frame.currentline, name)
   return fewest ~= nil and fewest >= index
end

-- index: a method's object counts as 1. where: the place in Torch7's C sources that its message names, or nil.
function errors.argument(index, message, where)
   if where then message = message .. ' at ' .. where end
   local position, name, method = call_of_script()
   if method then index = index - 1 end
   if index == 0 then error(("%scalling '%s' on bad self (%s)"):format(position, name, message), 0) end
   error(("%sbad argument #%d to '%s' (%s)"):format(position, index, name or '?', message), 0)
end

-- An argument of the wrong basic type. The message says 'got table', 'got userdata' for torch's objects, or 'got no
-- value' for a missing argument.
function errors.wrong_type(index, expected, value)
   local got = type(value)
   if value == nil then got = was_given(index) and 'nil' or 'no value' end
   errors.argument(index, ('%s expected, got %s'):format(expected, got))
end

-- An argument that is not an object of the expected class. For a value without a class, Torch7 names the Lua type whose
-- number equals the argument's position; so does this.
local TYPES = { 'boolean', 'userdata', 'number', 'string', 'table', 'function', 'userdata', 'thread' }
function errors.wrong_class(index, expected, value)
   local name = errors.described(value)
   if name == type(value) then name = TYPES[index] or 'no value' end
   errors.argument(index, ('%s expected, got %s'):format(expected, name))
end

function errors.raise(message, where)
   if where then message = message .. ' at ' .. where end
   error(call_of_script() .. message, 0)
end

-- Every number that becomes a size, a stride, an offset or an index into memory passes through one of the next two
-- functions. Lua's numbers are exact up to 2^53; NaN and the infinities have NaN as remainder.
local MOST = 2 ^ 53
errors.MOST = MOST

-- The number that Lua's C functions find in a value, if any; LuaJIT's 64-bit numbers are none to them.
local function number_in(value) return type(value) ~= 'cdata' and tonumber(value) or nil end
errors.number_in = number_in

-- Converts a value to a whole number; a fraction is dropped.
function errors.whole(value, position)
   local number = number_in(value)
   if not number then
      errors.wrong_type(position, 'number', value)
   end
   local whole = number >= 0 and number - number % 1 or 0 - (-number - -number % 1)
   if not (whole >= -MOST and whole <= MOST) then
      errors.argument(position, ('a whole number between -2^53 and 2^53 expected, got %s'):format(tostring(number)))
   end
   return whole
end

-- Raises unless value is a whole number of at least `least`. For numbers computed from checked ones.
function errors.check_whole(value, least, what)
   if type(value) ~= 'number' or value % 1 ~= 0 or value < least or value > MOST then
      error(('%s: a whole number from %s to 2^53 expected, got %s'):format(what, least == -MOST and '-2^53' or least,
         type(value) == 'number' and tostring(value) or type(value)), 0)
   end
end

return errors
