-- Formatting of numbers. For a number exactly halfway between two of the wanted precision, Torch7's LuaJIT rounds away
-- from zero (0.125 as %.2f: 0.13), the current one to even (0.12). Numbers in concatenations and in io.write are
-- formatted as by LuaJIT itself.
local type, tonumber, select, unpack = type, tonumber, select, unpack
local abs, floor, fmod, log10, huge = math.abs, math.floor, math.fmod, math.log10, math.huge
local gmatch, gsub, match, sub, plain_format = string.gmatch, string.gsub, string.match, string.sub, string.format
local plain_tostring = tostring

local EXACT = 22 -- powers of ten up to this one are exact

-- The decimal exponent of a positive number.
local function exponent(a)
   local e = floor(log10(a))
   if abs(e) <= EXACT then
      if 10 ^ e > a then return e - 1 end
      if 10 ^ (e + 1) <= a then return e + 1 end
   end
   return e
end

-- Whether a positive number is halfway between two numbers with this many decimal places (negative: before the point).
-- Its next digit is then 5, and the last: it is an odd multiple of 2^-(places + 1).
local function is_half(a, places)
   if places >= 0 then return a * 2 ^ (places + 1) % 2 == 1 end
   local unit = 10 ^ -places
   return fmod(a, unit) == unit / 2
end

-- v formatted as in Torch7 if that differs from LuaJIT, else nil. The conversion writes `digits` digits after the point
-- or, if `significant`, in all.
local TINY = 1e-100 -- half of the last of 99 digits, which are the most, is larger
local function written(v, conversion, digits, significant)
   local a = abs(v)
   if not (a > 0 and a < huge) then return nil end
   -- of numbers below 1e-152, LuaJIT's %f writes others
   if a < TINY and not significant then return plain_format(conversion, v * 0) end
   local places = significant and digits - 1 - exponent(a) or digits
   if not is_half(a, places) then return nil end
   if places <= 0 then
      local half = 10 ^ -places / 2
      return plain_format(conversion, v < 0 and v - half or v + half)
   end
   -- The last two digits of v are 25 or 75. For 75, rounding to even is rounding away from zero.
   local text = plain_format(conversion, v)
   local mantissa, rest = match(text, '^([^eE]*)(.*)$')
   return gsub(mantissa, '2(%D*)$', '3%1') .. rest
end

-- The conversions in a format that write numbers with digits.
local function conversions_of(text)
   local found, argument = {}, 0
   for first, point, precision, kind, following in gmatch(text, '()%%[-+ #0]*%d*(%.?)(%d*)(.?)()') do
      if kind ~= '%' then
         argument = argument + 1
         local conversion = sub(text, first, following - 1)
         local one = { argument = argument + 1, first = first, last = following - 1, conversion = conversion }
         local digits = tonumber(precision) or point == '' and 6 or 0
         if kind == 'f' or kind == 'F' then one.digits = digits
         elseif kind == 'e' or kind == 'E' then one.digits, one.significant = digits + 1, true
         elseif kind == 'g' or kind == 'G' then one.digits, one.significant = digits > 0 and digits or 1, true
         elseif kind == 's' then one.digits, one.significant, one.conversion, one.text = 14, true, '%.14g',
            conversion end
         if one.digits then found[#found + 1] = one end
      end
   end
   return #found > 0 and found
end

-- Cached by format.
local MOST = 500
local known, count = {}, 0
local function conversions(text)
   local found = known[text]
   if found == nil then
      if count == MOST then known, count = {}, 0 end
      found = conversions_of(text)
      known[text], count = found, count + 1
   end
   return found
end

function string.format(...)
   local text = ...
   local found = type(text) == 'string' and conversions(text)
   if not found then return plain_format(...) end
   local n = select('#', ...)
   local values
   for i = #found, 1, -1 do -- backwards, so that the other positions stay valid
      local one = found[i]
      local value = one.argument <= n and select(one.argument, ...)
      if type(value) == 'string' and not one.text then value = tonumber(value) end
      local result = type(value) == 'number' and written(value, one.conversion, one.digits, one.significant)
      if result then
         values = values or { ... }
         values[one.argument] = result
         text = sub(text, 1, one.first - 1) .. (one.text or '%s') .. sub(text, one.last + 1)
      end
   end
   if values then return plain_format(text, unpack(values, 2, n)) end
   return plain_format(...)
end

function tostring(...)
   local value = ...
   local text = type(value) == 'number' and written(value, '%.14g', 14, true)
   if text then return text end
   return plain_tostring(...)
end
