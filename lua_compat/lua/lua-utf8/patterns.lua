-- Lua's patterns over code points. A pattern becomes a chain of functions, built from its end to its start. Each takes
-- the current match and a character number, and returns the number after the whole match, or nil. As in Lua, an error
-- in a pattern is raised only when matching reaches it.
local text = require 'lua-utf8.text'
local properties_of = require('lua-utf8.properties').of
local byte, lower = string.byte, string.lower

local MOST_CAPTURES = 32
local patterns = {}

local UNFINISHED = false -- the end of a capture that is still open

local function code_of(character) return byte(character) end
local ESCAPE, ANY, OPEN, CLOSE, SET, SET_END = code_of '%', code_of '.', code_of '(', code_of ')', code_of '[',
   code_of ']'
local NOT, END, TO, STAR, PLUS, MAYBE = code_of '^', code_of '$', code_of '-', code_of '*', code_of '+', code_of '?'
local BALANCE, FRONTIER, ZERO, NINE = code_of 'b', code_of 'f', code_of '0', code_of '9'
local CLASSES = {}
for letter in ('acdglpstuwx'):gmatch('.') do CLASSES[letter] = true end

-- A test for a class of characters (%a; %A: its complement), or for the character after the %.
local function class_test(code)
   local character = code < 0x80 and string.char(code) or ''
   local letter = lower(character)
   if letter == 'z' then return function(c) return (c == 0) == (character == 'z') end end
   if not CLASSES[letter] then return function(c) return c == code end end
   if character == letter then return function(c) return properties_of(c).classes[letter] == true end end
   return function(c) return not properties_of(c).classes[letter] end
end

local function raise(message)
   return function(match)
      match.problem = match.problem or message
      return nil
   end
end

-- The test of a set whose [ is at `at`, and the position after its ]; nil if it does not end.
local function set_test(pattern, at)
   local place, wanted = at + 1, true
   if pattern[place] == NOT then place, wanted = place + 1, false end
   local tests, first = {}, true
   while first or pattern[place] ~= SET_END do
      first = false
      local code = pattern[place]
      if not code then return nil end
      if code == ESCAPE then
         if not pattern[place + 1] then return nil end
         tests[#tests + 1] = class_test(pattern[place + 1])
         place = place + 2
      elseif pattern[place + 1] == TO and pattern[place + 2] and pattern[place + 2] ~= SET_END then
         local last = pattern[place + 2]
         tests[#tests + 1] = function(c) return code <= c and c <= last end
         place = place + 3
      else
         tests[#tests + 1] = function(c) return c == code end
         place = place + 1
      end
   end
   return function(c)
      for i = 1, #tests do
         if tests[i](c) then return wanted end
      end
      return not wanted
   end, place + 1
end

-- Links of the chain: each takes its successor.
local links = {}

function links.one(follows, test)
   return function(match, i)
      if i <= match.count and test(match.codes[i]) then return follows(match, i + 1) end
   end
end

function links.maybe(follows, test)
   return function(match, i)
      return i <= match.count and test(match.codes[i]) and follows(match, i + 1) or follows(match, i)
   end
end

function links.most(follows, test, least)
   return function(match, i)
      local codes, count, last = match.codes, match.count, i
      while last <= count and test(codes[last]) do last = last + 1 end
      for behind = last, i + least, -1 do
         local found = follows(match, behind)
         if found then return found end
      end
   end
end

function links.fewest(follows, test)
   return function(match, i)
      while true do
         local found = follows(match, i)
         if found then return found end
         if i > match.count or not test(match.codes[i]) then return nil end
         i = i + 1
      end
   end
end

function links.open(follows, number)
   return function(match, i)
      match.first[number], match.last[number] = i, UNFINISHED
      return follows(match, i)
   end
end

function links.close(follows, number)
   return function(match, i)
      local before = match.last[number]
      match.last[number] = i - 1
      local found = follows(match, i)
      if not found then match.last[number] = before end
      return found
   end
end

function links.place(follows, number)
   return function(match, i)
      match.first[number], match.last[number] = i, nil
      return follows(match, i)
   end
end

function links.again(follows, number)
   return function(match, i)
      local first, last = match.first[number], match.last[number]
      if not last then return follows(match, i) end
      for place = first, last do
         if match.codes[i] ~= match.codes[place] then return nil end
         i = i + 1
      end
      return follows(match, i)
   end
end

function links.balance(follows, opening, closing)
   return function(match, i)
      local codes, depth = match.codes, 1
      if codes[i] ~= opening then return nil end
      for place = i + 1, match.count do
         if codes[place] == closing then
            depth = depth - 1
            if depth == 0 then return follows(match, place + 1) end
         elseif codes[place] == opening then
            depth = depth + 1
         end
      end
   end
end

function links.frontier(follows, test)
   return function(match, i)
      if not test(match.codes[i - 1] or 0) and test(match.codes[i] or 0) then return follows(match, i) end
   end
end

function links.ends(follows)
   return function(match, i)
      if i > match.count then return follows(match, i) end
   end
end

local SUFFIXES = { [MAYBE] = { links.maybe }, [STAR] = { links.most, 0 }, [PLUS] = { links.most, 1 },
   [TO] = { links.fewest } }

-- The links of a pattern as a list of { link, arguments... }, the number of its captures, and the error at the end of
-- the list, if any.
local function parsed(pattern, place)
   local list, captures, open = {}, 0, {}
   local closed = {}
   local function add(...) list[#list + 1] = { ... } end
   while pattern[place] do
      local code, follower = pattern[place], pattern[place + 1]
      local test, behind
      if code == OPEN then
         if captures == MOST_CAPTURES then return list, captures, 'too many captures' end
         captures = captures + 1
         if follower == CLOSE then
            add(links.place, captures)
            closed[captures] = true
            place = place + 2
         else
            add(links.open, captures)
            open[#open + 1] = captures
            place = place + 1
         end
      elseif code == CLOSE then
         local number = table.remove(open)
         if not number then return list, captures, 'invalid pattern capture' end
         add(links.close, number)
         closed[number] = true
         place = place + 1
      elseif code == END and not follower then
         add(links.ends)
         place = place + 1
      elseif code == ESCAPE and follower == BALANCE then
         if not pattern[place + 3] then
            return list, captures, "malformed pattern (missing arguments to '%b')"
         end
         add(links.balance, pattern[place + 2], pattern[place + 3])
         place = place + 4
      elseif code == ESCAPE and follower == FRONTIER then
         if pattern[place + 2] ~= SET then return list, captures, "missing '[' after '%f' in pattern" end
         test, behind = set_test(pattern, place + 2)
         if not test then return list, captures, "malformed pattern (missing ']')" end
         add(links.frontier, test)
         place, test = behind, nil
      elseif code == ESCAPE and follower and follower >= ZERO and follower <= NINE then
         local number = follower - ZERO
         if not closed[number] then return list, captures, ('invalid capture index %%%d'):format(number) end
         add(links.again, number)
         place = place + 2
      elseif code == ESCAPE then
         if not follower then return list, captures, "malformed pattern (ends with '%')" end
         test, behind = class_test(follower), place + 2
      elseif code == SET then
         test, behind = set_test(pattern, place)
         if not test then return list, captures, "malformed pattern (missing ']')" end
      elseif code == ANY then
         test, behind = function() return true end, place + 1
      else
         test, behind = function(c) return c == code end, place + 1
      end
      if test then
         local suffix = SUFFIXES[pattern[behind]]
         if suffix then
            add(suffix[1], test, suffix[2])
            behind = behind + 1
         else
            add(links.one, test)
         end
         place = behind
      end
   end
   return list, captures, nil, #open > 0
end

local function accept(_, i) return i end


-- The chain of a pattern, the number of its captures, whether it is anchored (anchors: whether ^ means that), and
-- whether a capture is unfinished, which is an error if captures are wanted; nil if it is not UTF-8.
function patterns.compile(bytes, anchors)
   local pattern = text.codes(bytes)
   if not pattern then return nil end
   local anchored = anchors and pattern[1] == NOT
   local list, captures, problem, unfinished = parsed(pattern, anchored and 2 or 1)
   local chain = problem and raise(problem) or accept
   for k = #list, 1, -1 do chain = list[k][1](chain, list[k][2], list[k][3]) end
   return chain, captures, anchored, unfinished
end

-- A new match over a string; nil if it is not UTF-8.
function patterns.over(bytes)
   local codes, places, count = text.codes(bytes)
   return codes and { bytes = bytes, codes = codes, places = places, count = count, first = {}, last = {} }
end

-- Characters first to last of the string.
function patterns.part(match, first, last)
   return match.bytes:sub(match.places[first], match.places[last + 1] - 1)
end

-- A capture: a string, or a character number.
function patterns.capture(match, number)
   local first, last = match.first[number], match.last[number]
   if last == nil then return first end
   return patterns.part(match, first, last)
end

-- All captures, starting with a number.
function patterns.captures(match, count, number)
   number = number or 1
   if number > count then return end
   return patterns.capture(match, number), patterns.captures(match, count, number + 1)
end

return patterns
