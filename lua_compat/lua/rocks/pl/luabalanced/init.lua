-- pl.luabalanced: finds the ends of pieces of Lua source. Each function takes a text and a position, and returns the
-- piece (nil if there is none) and the position after it.
local balanced = {}

local CLOSING = { ['('] = ')', ['{'] = '}', ['['] = ']' }

-- The position after a quoted string.
local function after_quoted(text, place)
   local quote = text:sub(place, place)
   place = place + 1
   while true do
      place = assert(text:find('[' .. quote .. '\\]', place), 'syntax error')
      if text:sub(place, place) == quote then return place + 1 end
      place = place + 2
   end
end

-- The position after long brackets; nil if there are none.
local function after_long(text, place)
   local level = text:match('^%[(=*)%[', place)
   if not level then return nil end
   return assert(text:match('%]' .. level .. '%]()', place + #level + 2), 'syntax error: long string not terminated')
end

function balanced.match_string(text, place)
   place = place or 1
   local after
   if text:find('^["\']', place) then after = after_quoted(text, place) else after = after_long(text, place) end
   if not after then return nil, place end
   return text:sub(place, after - 1), after
end

-- Brackets with their contents.
function balanced.match_bracketed(text, place)
   local start = place or 1
   place = start
   if not CLOSING[text:sub(start, start)] then return nil, start end
   local open = {}
   repeat
      place = assert(text:find('[%(%{%[%)%}%]\"\']', place), 'syntax error: unbalanced')
      local character = text:sub(place, place)
      local _, after = balanced.match_string(text, place)
      if after > place then
         place = after
      else
         if CLOSING[character] then
            open[#open + 1] = CLOSING[character]
         else
            assert(table.remove(open) == character, 'syntax error: unbalanced')
         end
         place = place + 1
      end
   until #open == 0
   return text:sub(start, place - 1), place
end

function balanced.match_comment(text, place)
   place = place or 1
   if text:sub(place, place + 1) ~= '--' then return nil, place end
   local after = after_long(text, place + 2) or text:match('^[^\n]*\n?()', place + 2)
   return text:sub(place, after - 1), after
end

local WORD_OPERATORS = { ['and'] = true, ['or'] = true, ['not'] = true }

-- Whether a word at a position starts something new: what precedes it, ignoring comments, ends an expression.
local function begins_anew(text, start, end_before, last_word)
   local before = text:sub(start, end_before):match('(%S)%s*$')
   if not before then return false end
   return before:find('[%)}\'"%]]') ~= nil or before:find('[%w_]') ~= nil and not WORD_OPERATORS[last_word]
end

-- An expression ends before a closing bracket, a comma, a semicolon, an assignment, or a word after a value.
function balanced.match_expression(text, place)
   local start = place or 1
   place = start
   local last_word, comments_start, comments_end
   while place <= #text do
      local character = text:sub(place, place)
      local _, after = balanced.match_string(text, place)
      if after > place then
         place = after
      elseif text:find('^%-%-', place) then
         comments_start = place
         while text:find('^%-%-', place) do
            _, place = balanced.match_comment(text, place)
            place = text:match('^%s*()', place)
         end
         comments_end = place
      elseif CLOSING[character] then
         _, place = balanced.match_bracketed(text, place)
      elseif text:find('^[=<>~]=', place) then
         place = place + 2
      elseif character:find('[%)}%];,=]') then
         return text:sub(start, place - 1), place
      elseif character:find('[%w_]') then
         local word, after_word = text:match('^([%w_]+)()', place)
         local end_before = (comments_end == place and comments_start or place) - 1
         if place ~= start and not WORD_OPERATORS[word] and begins_anew(text, start, end_before, last_word) then
            return text:sub(start, place - 1), place
         end
         last_word, place = word, after_word
      else
         place = place + 1
      end
   end
   return text:sub(start), #text + 1
end

function balanced.match_namelist(text, place)
   place = place or 1
   local list = {}
   while true do
      local name, after = text:match((#list == 0 and '^' or '^%s*,%s*') .. '([%a_][%w_]*)%s*()', place)
      if not name then return list, place end
      list[#list + 1], place = name, after
   end
end

function balanced.match_explist(text, place)
   place = place or 1
   local list = {}
   repeat
      list[#list + 1], place = balanced.match_expression(text, place)
      local after = text:match('^%s*,%s*()', place)
      place = after or place
   until not after
   return list, place
end

-- Replaces pieces of source by what f(kind, piece) returns, if it does: kind is 'e' (code), 'c' (comment) or 's'
-- (string).
function balanced.gsub(text, f)
   local pieces, code_start, place = {}, 1, 1
   local function add(kind, piece)
      if piece ~= '' then pieces[#pieces + 1] = f(kind, piece) or piece end
   end
   while true do
      place = text:find('[%-\'"%[]', place)
      if not place then break end
      local kind = 's'
      local piece, after = balanced.match_string(text, place)
      if not piece then
         kind = 'c'
         piece, after = balanced.match_comment(text, place)
      end
      if piece then
         add('e', text:sub(code_start, place - 1))
         add(kind, piece)
         code_start, place = after, after
      else
         place = place + 1
      end
   end
   add('e', text:sub(code_start))
   return table.concat(pieces)
end

return balanced
