-- The package rex_pcre (Lrexlib): Perl's regular expressions, by Python's re. A pattern is a string, or made by
-- rex.new; flags are letters: i, m, s, x.
local python = require('th.python').functions

local rex = {}
local Pattern = {}
Pattern.__index = Pattern

function rex.new(pattern, flags)
   flags = type(flags) == 'string' and flags or ''
   return setmetatable({ text = pattern, flags = flags, groups = python.pattern_check(pattern, flags) }, Pattern)
end

local function made(pattern, flags) return type(pattern) == 'string' and rex.new(pattern, flags) or pattern end

-- The first and last position of a match, and the text of each group, or false.
local function search(pattern, text, start)
   local places = { python.pattern_find(text, pattern.text, pattern.flags, start) }
   if not places[1] then return nil end
   local groups = {}
   for group = 1, pattern.groups do
      local first, last = places[2 * group + 1], places[2 * group + 2]
      groups[group] = first > 0 and text:sub(first, last) or false
   end
   return places[1], places[2], groups
end

local function from(text, start)
   start = start or 1
   if start < 0 then start = math.max(1, #text + start + 1) end
   return math.max(1, start)
end

function rex.find(text, pattern, start, flags)
   pattern = made(pattern, flags)
   local first, last, groups = search(pattern, text, from(text, start))
   if first then return first, last, unpack(groups, 1, pattern.groups) end
end

function rex.match(text, pattern, start, flags)
   pattern = made(pattern, flags)
   local first, last, groups = search(pattern, text, from(text, start))
   if not first then return nil end
   if pattern.groups == 0 then return text:sub(first, last) end
   return unpack(groups, 1, pattern.groups)
end

-- Iterates over matches: first, last, groups. After an empty match it advances by a character.
local function matches(text, pattern)
   local place = 1
   return function()
      if place > #text + 1 then return nil end
      local first, last, groups = search(pattern, text, place)
      if not first then return nil end
      place = last >= first and last + 1 or first + 1
      return first, last, groups
   end
end

function rex.gmatch(text, pattern, flags)
   pattern = made(pattern, flags)
   local next_match = matches(text, pattern)
   return function()
      local first, last, groups = next_match()
      if not first then return nil end
      if pattern.groups == 0 then return text:sub(first, last) end
      return unpack(groups, 1, pattern.groups)
   end
end

function rex.count(text, pattern, flags)
   local count = 0
   for _ in matches(text, made(pattern, flags)) do count = count + 1 end
   return count
end

-- The pieces between matches, each with the groups of the match after it (or the match if there are none).
function rex.split(text, pattern, flags)
   pattern = made(pattern, flags)
   local next_match, place, ended = matches(text, pattern), 1, false
   return function()
      if ended then return nil end
      local first, last, groups = next_match()
      if not first then
         ended = true
         return text:sub(place)
      end
      local piece = text:sub(place, first - 1)
      place = last + 1
      if pattern.groups == 0 then return piece, text:sub(first, last) end
      return piece, unpack(groups, 1, pattern.groups)
   end
end

local function replaced(by, whole, groups, count)
   local value
   if type(by) == 'string' then
      return (by:gsub('%%(.)', function(letter)
         if letter == '0' then return whole end
         if letter:find('%d') then return groups[tonumber(letter)] or (letter == '1' and count == 0 and whole) or '' end
         return letter
      end))
   elseif type(by) == 'table' then
      value = by[count > 0 and groups[1] or whole]
   else
      if count == 0 then groups = { whole } end
      value = by(unpack(groups, 1, math.max(1, count)))
   end
   return value and tostring(value) or whole
end

-- Replaces (at most `most`) matches. Returns the text, the number of matches, and the number of replacements.
function rex.gsub(text, pattern, by, most, flags)
   pattern = made(pattern, flags)
   local pieces, place, count = {}, 1, 0
   for first, last, groups in matches(text, pattern) do
      if most and count >= most then break end
      count = count + 1
      pieces[#pieces + 1] = text:sub(place, first - 1)
      pieces[#pieces + 1] = replaced(by, text:sub(first, last), groups, pattern.groups)
      place = last + 1
   end
   pieces[#pieces + 1] = text:sub(place)
   return table.concat(pieces), count, count
end

function Pattern:find(text, start) return rex.find(text, self, start) end

function Pattern:match(text, start) return rex.match(text, self, start) end

function Pattern:tfind(text, start)
   local first, last, groups = search(self, text, from(text, start))
   if first then return first, last, groups end
end

return rex
