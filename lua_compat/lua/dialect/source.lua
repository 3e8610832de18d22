-- Rewrites Torch7's Lua for the LuaJIT used here: Torch7 builds LuaJIT with the option for Lua 5.2, this one is built
-- without it. Source text is changed slightly before it is compiled; line numbers are kept:
--
-- - #x looks up __len in a table's metatable. It becomes false^x, a power whose first operand has our metatable
--   (dialect/length.lua). ^ binds what follows it as tightly as #, so the operand need not be found.
-- - A ( that starts a line is a call where it can be one. LuaJIT reports it as ambiguous, with the line.
-- - break may stand in the middle of a block (do break end), and ; between any statements (superfluous ones go).
-- - goto can be a name.
--
-- (dialect/comparisons.lua rewrites comparisons.) Strings and comments are not changed. Text that cannot be split into
-- tokens is left unchanged, so that LuaJIT reports what is wrong with it.
local byte, find, match, sub, concat = string.byte, string.find, string.match, string.sub, table.concat
local ipairs, select = ipairs, select

local source = {}

local NEWLINE, RETURN, QUOTE, APOSTROPHE, HASH = 10, 13, 34, 39, 35
local MINUS, DOT, ZERO, NINE, COLON = 45, 46, 48, 57, 58
local LEFT_BRACKET, BACKSLASH, UNDERSCORE, LETTER_Z = 91, 92, 95, 122
local LENGTH = 'false^'

local WORD, NUMBER, STRING, SYMBOL = 1, 2, 3, 4

-- Where the code starts: LuaJIT skips a byte order mark, and a first line that starts with #.
local function beginning(text)
   local start = sub(text, 1, 3) == '\239\187\191' and 4 or 1
   if byte(text, start) == HASH then start = find(text, '[\r\n]', start) or #text + 1 end
   return start
end

-- The position after the quoted string that starts at `at`; nil if it does not end in its line.
local function behind_quoted(text, at)
   local stops = byte(text, at) == QUOTE and '[\\\r\n"]' or "[\\\r\n']"
   local place = at + 1
   while true do
      place = find(text, stops, place)
      if not place then return nil end
      local code = byte(text, place)
      if code == QUOTE or code == APOSTROPHE then return place + 1 end
      if code ~= BACKSLASH then return nil end
      local escaped = byte(text, place + 1)
      if escaped == LETTER_Z then -- skips all white space that follows
         place = find(text, '[^ \t\r\n\v\f]', place + 2) or #text + 1
      elseif (escaped == RETURN or escaped == NEWLINE) and match(text, '^[\r\n]', place + 2)
         and byte(text, place + 2) ~= escaped then
         place = place + 3 -- a line break of two characters
      else
         place = place + 2
      end
   end
end

-- The position after the long bracket that starts at `at`; nil if it does not end, false if there is none.
local function behind_long(text, at)
   local level = match(text, '^%[(=*)%[', at)
   if not level then return false end
   local _, last = find(text, ']' .. level .. ']', at + #level + 2, true)
   return last and last + 1
end

-- The position after the comment that starts at `at`; nil if a long one does not end.
local function behind_comment(text, at)
   local long = behind_long(text, at + 2)
   if long ~= false then return long end
   return find(text, '[\r\n]', at + 2) or #text + 1
end

-- The positions of all # operators; nil if the text cannot be read.
local function length_operators(text)
   local places, place = {}, beginning(text)
   while true do
      place = find(text, '[#"\'%-%[]', place)
      if not place then return places end
      local code = byte(text, place)
      if code == HASH then
         places[#places + 1] = place
         place = place + 1
      elseif code == MINUS then
         place = byte(text, place + 1) == MINUS and behind_comment(text, place) or place + 1
      elseif code == LEFT_BRACKET then
         local long = behind_long(text, place)
         if long == nil then return nil end
         place = long or place + 1
      else
         place = behind_quoted(text, place)
         if not place then return nil end
      end
   end
end

-- The text with its # operators rewritten; the same text if it has none.
function source.with_lengths(text)
   if not find(text, '#', 1, true) then return text end
   local places = length_operators(text)
   if not places or #places == 0 then return text end
   local pieces, done = {}, 1
   for _, place in ipairs(places) do
      -- return#x: the preceding word must not become longer
      local parted = place > 1 and match(text, '^[%w_\128-\255]', place - 1)
      pieces[#pieces + 1] = sub(text, done, place - 1)
      pieces[#pieces + 1] = parted and ' ' .. LENGTH or LENGTH
      done = place + 1
   end
   pieces[#pieces + 1] = sub(text, done)
   return concat(pieces)
end

local function is_word_start(code)
   return code >= 97 and code <= 122 or code >= 65 and code <= 90 or code == UNDERSCORE or code >= 128
end

-- The position after a number: letters, digits and points, and a sign after the exponent's letter.
local function behind_number(text, at)
   local exponent = match(text, '^0[xX]', at) and '[pP]' or '[eE]'
   local place = at
   while true do
      local _, last = find(text, '^[%w_%.\128-\255]+', place)
      if not last then return place end
      place = last + 1
      if not (match(text, '^[+-]', place) and find(sub(text, last, last), exponent)) then return place end
      place = place + 1
   end
end

-- The kind of the token that starts at `at`, and the position after it; nil if there is none.
local function token_at(text, at)
   local code = byte(text, at)
   if is_word_start(code) then return WORD, select(2, find(text, '^[%w_\128-\255]+', at)) + 1 end
   if code >= ZERO and code <= NINE then return NUMBER, behind_number(text, at) end
   if code == QUOTE or code == APOSTROPHE then return STRING, behind_quoted(text, at) end
   if code == LEFT_BRACKET then
      local long = behind_long(text, at)
      if long ~= false then return STRING, long end
   elseif code == DOT then
      if match(text, '^%.%d', at) then return NUMBER, behind_number(text, at) end
      return SYMBOL, select(2, find(text, '^%.+', at)) + 1
   elseif code == COLON and byte(text, at + 1) == COLON then
      return SYMBOL, at + 2
   end
   return SYMBOL, at + 1
end

-- The position of the first token from `at` on, skipping comments and white space; nil if a comment does not end.
local function next_token_place(text, at)
   while true do
      at = find(text, '[^ \t\r\n\v\f]', at)
      if not at then return #text + 1 end
      if not (byte(text, at) == MINUS and byte(text, at + 1) == MINUS) then return at end
      at = behind_comment(text, at)
      if not at then return nil end
   end
end

-- The tokens of a text: four lists with the kind, the first position, the position after it, and the text (empty for a
-- string); nil if the text cannot be read.
local function tokens_of(text)
   local kinds, starts, ends, words = {}, {}, {}, {}
   local place, count = next_token_place(text, beginning(text)), 0
   while place and place <= #text do
      local kind, behind = token_at(text, place)
      if not behind then return nil end
      count = count + 1
      kinds[count], starts[count], ends[count] = kind, place, behind
      words[count] = kind == STRING and '' or sub(text, place, behind - 1)
      place = next_token_place(text, behind)
   end
   if place then return kinds, starts, ends, words end
end
source.tokens, source.WORD, source.STRING, source.SYMBOL = tokens_of, WORD, STRING, SYMBOL

local function set(...)
   local members = {}
   for _, member in ipairs{ ... } do members[member] = true end
   return members
end

local KEYWORDS = set('and', 'break', 'do', 'else', 'elseif', 'end', 'false', 'for', 'function', 'goto', 'if', 'in',
   'local', 'nil', 'not', 'or', 'repeat', 'return', 'then', 'true', 'until', 'while')
source.KEYWORDS = KEYWORDS
local ENDS_BLOCK = set('end', 'else', 'elseif', 'until')
local STARTS_BLOCK = set('do', 'then', 'else', 'repeat')
local BLOCKS = set('chunk', 'function', 'if', 'for', 'while', 'repeat', 'do')
local OPENS = { ['('] = true, ['['] = true, ['{'] = true }
local CLOSES = { [')'] = true, [']'] = true, ['}'] = true }

-- Tokens after which goto can only be a name: inside an expression, or where a name is declared.
local BEFORE_A_NAME = set('.', ':', '=', '(', '{', '[', ',', '+', '-', '*', '/', '%', '^', '#', '<', '>', '..', '~',
   'and', 'or', 'not', 'function', 'local', 'for', 'in', 'return', 'if', 'while', 'until', 'elseif', 'goto')

-- The replacements for a break, for a goto where a name is expected, and for one where none can be; and the tokens used
-- instead, which are invalid there, to find out whether an error is about a replacement.
local BREAK, GOTO, NO_OPERAND, NO_OPERATOR = 'do break end', '::', 'in', 'until'
local REFUSED = { [BREAK] = 'in', [GOTO] = 'in', [NO_OPERAND] = 'then', [NO_OPERATOR] = 'local' }
local STANDS_FOR = { ['do'] = 'break', [GOTO] = 'goto', [NO_OPERAND] = 'goto', [NO_OPERATOR] = 'goto' }

-- Rewrites statements for LuaJIT without the option: break anywhere, superfluous semicolons, goto as a name. Returns
-- the same text if nothing changes, nil if it cannot be read. refused: a replacement that is itself replaced by a token
-- that is invalid there.
function source.with_statements(text, refused)
   local kinds, starts, ends, words = tokens_of(text)
   if not kinds then return nil end
   local becomes, changed = {}, false
   local function put(place, what) becomes[place], changed = what == refused and REFUSED[what] or what, true end

   -- For each open block or bracket: its kind, whether a return in it has had its semicolon, and whether only the
   -- condition or range before its then or do has been read.
   local open, returned, header = { 'chunk' }, { false }, { false }
   local function enter(what, begins_with_header)
      open[#open + 1] = what
      returned[#open], header[#open] = false, begins_with_header or false
   end
   local function leave()
      if #open > 1 then open[#open] = nil end
   end
   local parameters_follow = false -- the next ( starts a function's parameters
   local fresh = true -- a statement may start here

   for place, word in ipairs(words) do
      local was_fresh, before = fresh, words[place - 1]
      local in_label = before == '::' and words[place - 3] ~= '::'
      local among_statements = BLOCKS[open[#open]] and not (header[#open] or BEFORE_A_NAME[before] or in_label)
      fresh = false
      if kinds[place] == WORD and KEYWORDS[word] then
         if word == 'function' then
            enter('function')
            parameters_follow = true
         elseif word == 'if' or word == 'for' or word == 'while' then
            enter(word, true)
         elseif word == 'repeat' or (word == 'do' and not header[#open]) then
            enter(word)
         elseif word == 'do' or word == 'then' then
            header[#open] = false
         elseif word == 'end' or word == 'until' then
            leave()
         elseif word == 'return' then
            returned[#open] = 'values'
         elseif word == 'else' or word == 'elseif' then
            returned[#open], header[#open] = false, word == 'elseif'
         elseif word == 'break' then
            local after = words[place + 1] == ';' and place + 2 or place + 1
            if among_statements and words[after] and not ENDS_BLOCK[words[after]] then
               put(place, BREAK)
            end
         elseif word == 'goto' then
            local a_name_follows = kinds[place + 1] == WORD and not KEYWORDS[words[place + 1]]
            if BEFORE_A_NAME[before] or in_label then
               put(place, NO_OPERAND)
            elseif not among_statements then
               put(place, NO_OPERATOR)
            elseif not a_name_follows then
               put(place, GOTO)
            end
         end
         fresh = STARTS_BLOCK[word] or false
      elseif kinds[place] == SYMBOL and OPENS[word] then
         enter(word == '(' and parameters_follow and 'parameters' or word)
         if word == '(' then parameters_follow = false end
      elseif kinds[place] == SYMBOL and CLOSES[word] then
         fresh = open[#open] == 'parameters'
         leave()
      elseif word == '::' then
         fresh = words[place - 2] == '::'
      elseif word == ';' and BLOCKS[open[#open]] and not header[#open] then
         if returned[#open] == 'values' then
            returned[#open] = 'done'
         elseif was_fresh and returned[#open] ~= 'done' then
            put(place, ' ')
         end
         fresh = true
      end
   end
   if not changed then return text end

   local pieces, done = {}, 1
   for place, start in ipairs(starts) do
      if becomes[place] then
         pieces[#pieces + 1] = sub(text, done, start - 1)
         pieces[#pieces + 1] = becomes[place]
         done = ends[place]
      end
   end
   pieces[#pieces + 1] = sub(text, done)
   return concat(pieces)
end

-- Whether a token may be followed by the ( of a call.
local function can_be_called(kind, word)
   if kind == STRING then return true end
   if kind == WORD then return not KEYWORDS[word] end
   return CLOSES[word] or false
end

-- The number of line ends between two positions; two different line-end characters in a row count as one.
local function line_ends(text, from, to)
   local count = 0
   while true do
      from = find(text, '[\r\n]', from)
      if not from or from >= to then return count end
      count = count + 1
      local code, follower = byte(text, from, from + 1)
      from = from + ((follower == NEWLINE or follower == RETURN) and follower ~= code and 2 or 1)
   end
end

-- Puts calls whose ( starts one of the given lines (a set) on one line with the called expression. Returns two texts:
-- with the ( one line higher, and with the expression lower. Neither has all lines right, but together they determine
-- them (dialect/lines.lua). nil if the text cannot be read.
function source.joined(text, lines)
   local kinds, starts, ends, words = tokens_of(text)
   if not kinds then return nil end
   local higher, lower = {}, {}
   local done, line, counted = 1, 1, 1
   for place = 2, #starts do
      local start, before = starts[place], place - 1
      if words[place] == '(' and kinds[place] == SYMBOL and can_be_called(kinds[before], words[before])
         and find(sub(text, ends[before], start - 1), '[\r\n]') then
         line, counted = line + line_ends(text, counted, start), start
         if lines[line] then
            local gap, callee_ends = sub(text, ends[before], start - 1), ends[before] - 1
            higher[#higher + 1] = sub(text, done, callee_ends) .. '(' .. gap
            if kinds[before] == STRING then -- f 'x' becomes f ('x')
               local called_ends = ends[before - 1] - 1
               lower[#lower + 1] = sub(text, done, called_ends) .. '(' .. sub(text, called_ends + 1, callee_ends)
               lower[#lower + 1] = gap .. ')('
            else
               lower[#lower + 1] = sub(text, done, starts[before] - 1) .. gap
               lower[#lower + 1] = sub(text, starts[before], callee_ends) .. '('
            end
            done = start + 1
         end
      end
   end
   local rest = sub(text, done)
   return concat(higher) .. rest, concat(lower) .. rest
end

-- The replacement for a break or goto that an error of a rewritten text may be about, or nil.
function source.stand_in(problem)
   local token = match(problem, "near '(.*)'$")
   return STANDS_FOR[token] and (token == 'do' and BREAK or token)
end

-- LuaJIT's error for a rewritten text, in terms of the original. If the same error names the token that replaces
-- `stand_in` when that is refused, the error is about the stand-in.
function source.message(problem, stand_in, refused)
   local before, token = match(problem, "^(.*near ')(.*)'$")
   if refused == before .. REFUSED[stand_in] .. "'" then return before .. STANDS_FOR[token] .. "'" end
   return problem
end

return source
