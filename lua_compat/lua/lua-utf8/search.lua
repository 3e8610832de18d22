-- find, match, gmatch and gsub of lua-utf8: positions are character numbers.
local text, patterns = require 'lua-utf8.text', require 'lua-utf8.patterns'
local type, error, find_bytes, sub, concat = type, error, string.find, string.sub, table.concat

local search = {}

local INVALID, UNFINISHED = 'invalid UTF-8 code', 'unfinished capture'

-- Converts a string or number to a string, as Lua's functions do; an error names the function that was called.
local function string_argument(value, number, name)
   local kind = type(value)
   if kind == 'string' then return value end
   if kind == 'number' then return tostring(value) end
   error(("bad argument #%d to '%s' (string expected, got %s)"):format(number, name,
      value == nil and 'no value' or kind), 3)
end

-- The first character of a search; a negative start counts from the end. nil after the end.
local function first_of(start, count)
   start = text.from_start(start or 1, count)
   if start > count + 1 then return nil end
   return start < 1 and 1 or start
end

-- Where the chain first matches, from a character on: the first character of the match and the one after it.
local function hold(match, chain, first, anchored)
   for i = first, anchored and first or match.count + 1 do
      local behind = chain(match, i)
      if match.problem then return nil end
      if behind then return i, behind end
   end
end

-- Finds a plain string; characters are counted by their first bytes.
local function find_plain(bytes, part, start)
   local all = text.characters(bytes)
   local first = first_of(start, #all)
   if not first then return nil end
   local at = find_bytes(bytes, part, #concat(all, '', 1, first - 1) + 1, true)
   if not at then return nil end
   local number = #text.characters(sub(bytes, 1, at - 1)) + 1
   return number, number + #text.characters(part) - 1
end

-- Where the pattern matches from a position on: the match, the number of captures, the first position and the one after
-- it; nil if it does not.
local function found(bytes, pattern, start)
   local match = patterns.over(bytes)
   local chain, captures, anchored, unfinished = patterns.compile(pattern, true)
   if not match or not chain then error(INVALID, 3) end
   local first = first_of(start, match.count)
   if not first then return nil end
   local behind
   first, behind = hold(match, chain, first, anchored)
   if match.problem then error(match.problem, 3) end
   if not first then return nil end
   if unfinished then error(UNFINISHED, 3) end
   return match, captures, first, behind
end

function search.find(bytes, pattern, start, plain)
   bytes, pattern = string_argument(bytes, 1, 'find'), string_argument(pattern, 2, 'find')
   if plain or not find_bytes(pattern, '[%^%$%*%+%?%.%(%[%%%-]') then return find_plain(bytes, pattern, start) end
   local match, captures, first, behind = found(bytes, pattern, start)
   if not match then return nil end
   return first, behind - 1, patterns.captures(match, captures)
end

-- The results of match and gmatch: the captures, or the whole match if there are none.
local function found_values(match, captures, first, behind)
   if captures == 0 then return patterns.part(match, first, behind - 1) end
   return patterns.captures(match, captures)
end

function search.match(bytes, pattern, start)
   bytes, pattern = string_argument(bytes, 1, 'match'), string_argument(pattern, 2, 'match')
   local match, captures, first, behind = found(bytes, pattern, start)
   if not match then return nil end
   return found_values(match, captures, first, behind)
end

function search.gmatch(bytes, pattern)
   bytes, pattern = string_argument(bytes, 1, 'gmatch'), string_argument(pattern, 2, 'gmatch')
   local match = patterns.over(bytes)
   local chain, captures, _, unfinished = patterns.compile(pattern, false)
   if not match or not chain then error(INVALID, 2) end
   local place = 1
   return function()
      local first, behind = hold(match, chain, place, false)
      if match.problem then error(match.problem, 2) end
      if not first then return nil end
      if unfinished then error(UNFINISHED, 2) end
      place = behind == first and behind + 1 or behind
      return found_values(match, captures, first, behind)
   end
end

-- The parts of a replacement: strings, and numbers of captures (0: the whole match); or nil and the error.
local function replacement_parts(replacement, captures)
   local parts, place = {}, 1
   while true do
      local at = find_bytes(replacement, '%', place, true)
      if not at then break end
      parts[#parts + 1] = sub(replacement, place, at - 1)
      local follower = sub(replacement, at + 1, at + 1)
      local number = tonumber(follower)
      if follower == '%' then
         parts[#parts + 1] = '%'
      elseif not number then
         return nil, "invalid use of '%' in replacement string"
      elseif number > captures and not (number == 1 and captures == 0) then
         return nil, 'invalid capture index'
      else
         parts[#parts + 1] = captures == 0 and 0 or number
      end
      place = at + 2
   end
   parts[#parts + 1] = sub(replacement, place)
   return parts
end

-- A function that returns the replacement of a match, or nil for none; or nil and the error.
local function replacer(replacement, captures)
   local kind = type(replacement)
   if kind == 'function' then
      return function(match, first, behind) return replacement(found_values(match, captures, first, behind)) end
   elseif kind == 'table' then
      return function(match, first, behind) return replacement[(found_values(match, captures, first, behind))] end
   end
   local parts, problem
   return function(match, first, behind)
      if not parts then parts, problem = replacement_parts(tostring(replacement), captures) end
      if not parts then
         match.problem = problem
         return nil
      end
      local pieces = {}
      for k, part in ipairs(parts) do
         if part == 0 then
            part = patterns.part(match, first, behind - 1)
         elseif type(part) == 'number' then
            part = patterns.capture(match, part)
         end
         pieces[k] = part
      end
      return concat(pieces)
   end
end

local function wants_captures(replacement)
   return type(replacement) == 'function' or type(replacement) == 'table' or find_bytes(replacement, '%%[1-9]')
end

local REPLACES = { string = true, number = true, ['function'] = true, table = true }

function search.gsub(bytes, pattern, replacement, most)
   bytes, pattern = string_argument(bytes, 1, 'gsub'), string_argument(pattern, 2, 'gsub')
   if not REPLACES[type(replacement)] then
      error("bad argument #3 to 'gsub' (string/function/table expected)", 2)
   end
   local match = patterns.over(bytes)
   local chain, captures, anchored, unfinished = patterns.compile(pattern, true)
   if not match or not chain then error(INVALID, 2) end
   local replace = replacer(replacement, captures)
   local pieces, count, place = {}, 0, 1
   while count < (most or match.count + 1) do
      local behind = chain(match, place)
      if behind then
         count = count + 1
         if unfinished and wants_captures(replacement) then error(UNFINISHED, 2) end
         local value = replace(match, place, behind)
         if value and type(value) ~= 'string' and type(value) ~= 'number' then
            match.problem = ('invalid replacement value (a %s)'):format(type(value))
         end
         pieces[#pieces + 1] = value or patterns.part(match, place, behind - 1)
      end
      if match.problem then error(match.problem, 2) end
      if behind and behind > place then
         place = behind
      elseif place <= match.count then
         pieces[#pieces + 1] = patterns.part(match, place, place)
         place = place + 1
      else
         break
      end
      if anchored then break end
   end
   pieces[#pieces + 1] = patterns.part(match, place, match.count)
   return concat(pieces), count
end

return search
