-- Converts simple patterns to Lua patterns.
local pattern = { BRACKETS = { ['<'] = '>', ['('] = ')', ['{'] = '}', ['['] = ']' } }

local FIELDS = {
   v = '([%a_][%w_]*)',
   i = '([+%-%d]%d*)',
   f = '([%+%-%d]%d*%.?%d*[eE]?[%+%-]?%d*)',
   o = '([%a_][%w_%-]*)',
   r = '(%S.*)',
   p = '([%a]?[:]?[\\/%.%w_]+)',
}
local LUA_CLASSES = 'acdlpuwxs'

function pattern.custom(letter, lua_pattern) FIELDS[letter] = lua_pattern end

-- The parts of a pattern: { literal = character }, { space = true } or { kind = letter, name = name }.
local function parts_of(spec, named)
   local parts, place = {}, 1
   local function read(with)
      local capture, after = spec:match('^' .. with .. '()', place)
      if capture then place = after end
      return capture
   end
   while place <= #spec do
      if read('(%s+)') then
         parts[#parts + 1] = { space = true }
      elseif place == #spec and read('(%$)') then
         parts[#parts + 1] = { kind = 'r', name = named and 'rest' or nil }
      else
         local kind = read('%$(%S)')
         parts[#parts + 1] = kind and { kind = kind, name = read('{(%a+)}') } or { literal = read('(.)') }
      end
   end
   return parts
end

-- Whether a part starts or ends with a word character.
local function is_wordlike(part)
   if not part then return false end
   if part.kind then return part.kind:find('[vifadxlu]') ~= nil end
   return part.literal ~= nil and part.literal:find('[%w_]') ~= nil
end

local function field_pattern(kind, quote_place)
   if FIELDS[kind] then return FIELDS[kind] end
   if kind == 'q' then return '(["\'])(.-)%' .. quote_place end
   if pattern.BRACKETS[kind] then return '(%b' .. kind .. pattern.BRACKETS[kind] .. ')' end
   if LUA_CLASSES:find(kind:lower(), 1, true) then return '(%' .. kind .. '+)' end
end

-- Returns the Lua pattern, the fields (names or numbers) and their kinds ('Q': the quote before a quoted field); or nil
-- and an error. options.at_start: match only at the start of a line.
function pattern.create(spec, options)
   if type(spec) ~= 'string' then error('argument 1 must be string', 2) end
   local named = spec:find('{%a+}') ~= nil
   local parts = parts_of(spec, named)
   local fields, kinds, made = {}, {}, { options and options.at_start and '^' or '' }
   local function add_field(name, kind)
      fields[#fields + 1] = name or #fields + 1
      kinds[fields[#fields]] = kind
   end
   for i, part in ipairs(parts) do
      if part.space then
         local between_words = is_wordlike(parts[i - 1]) and is_wordlike(parts[i + 1])
         made[#made + 1] = between_words and '%s+' or '%s*'
      elseif part.literal then
         made[#made + 1] = part.literal:gsub('[%-%.%+%[%]%(%)%^%%%?%*%$]', '%%%0')
      else
         if part.kind == 'q' then add_field(part.name, part.name and 'q' or 'Q') end
         add_field(part.name, part.kind)
         local lua_pattern = field_pattern(part.kind, #fields - 1)
         if not lua_pattern then return nil, 'unknown format type or character class' end
         made[#made + 1] = lua_pattern
      end
   end
   return table.concat(made), fields, kinds
end

return pattern
