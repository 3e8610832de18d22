-- Rewrites source text so that comparisons look up the metatables of both operands: a < b becomes not
-- not(false^5e-324)(a,(b)), a call of the function that dialect/compare.lua provides for that number. Line numbers are
-- kept. Called with the table of dialect/source.lua. Returns a function of a text; it returns the text unchanged if
-- there is nothing to rewrite or it cannot be read.
local source = ...
local concat, sub = table.concat, string.sub
local tokens_of, KEYWORDS = source.tokens, source.KEYWORDS
local WORD, STRING, SYMBOL = source.WORD, source.STRING, source.SYMBOL

local CODES = { ['<'] = '5e-324', ['<='] = '1e-323', ['>'] = '1.5e-323', ['>='] = '2e-323' }
local EQUALITIES = { ['=='] = true, ['~='] = true }
local TIGHTER = { ['..'] = true, ['+'] = true, ['-'] = true, ['*'] = true, ['/'] = true, ['%'] = true, ['^'] = true,
   ['#'] = true }
local OPENS = { ['('] = true, ['['] = true, ['{'] = true, ['do'] = true, ['if'] = true, ['repeat'] = true }
local CLOSES = { [')'] = true, [']'] = true, ['}'] = true, ['end'] = true, ['until'] = true }
local VALUES = { ['nil'] = true, ['true'] = true, ['false'] = true, ['...'] = true }

return function(text)
   local kinds, starts, ends, words = tokens_of(text)
   if not kinds then return text end
   local before, after, becomes, changed = {}, {}, {}, false

   -- For each open bracket or block: the token at which the operand of a comparison starts (nil: the next possible
   -- one), the comparison that waits for its right operand, whether the bracket or function is inside an expression,
   -- and whether it follows something that can be called.
   local begins, waiting, within, callables, depth = {}, {}, { false }, {}, 1
   local complete = false -- the last token ends an operand
   local callable = false -- a ( that follows would call it
   local function finish(last)
      if waiting[depth] then
         after[last] = (after[last] or '') .. '))'
         waiting[depth] = nil
      end
   end
   local function separate(last)
      finish(last)
      begins[depth], complete = nil, false
   end
   local function open(is_within)
      depth = depth + 1
      begins[depth], waiting[depth], within[depth], callables[depth] = nil, nil, is_within, complete and callable
      complete = false
   end

   local place, member = 1, false
   while words[place] do
      local word, symbol, last = words[place], kinds[place] == SYMBOL, place - 1
      local keyword = kinds[place] == WORD and KEYWORDS[word]
      local behind = place
      if symbol and words[place + 1] == '=' and starts[place + 1] == ends[place]
         and (word == '<' or word == '>' or word == '=' or word == '~') then
         word, behind = word .. '=', place + 1
      end
      if member then
         member = false
      elseif symbol and (CODES[word] or EQUALITIES[word]) then
         finish(last)
         local first = begins[depth]
         if not first then return text end
         if CODES[word] then
            before[first] = ' not not(false^' .. CODES[word] .. ')(' .. (before[first] or '')
            becomes[place], waiting[depth], changed = behind, true, true
         end
         complete = false
      elseif symbol and (word == '.' or word == ':') then
         member = true
      elseif (symbol or keyword) and CLOSES[word] then
         separate(last)
         complete, callable = within[depth], word == ')' or word == ']' or callables[depth]
         if depth == 1 then return text end
         depth = depth - 1
         if not complete then begins[depth] = nil end
      elseif symbol and OPENS[word] then
         if complete and not callable then -- the next statement, which must not become a call
            if waiting[depth] then after[last] = '));' .. (after[last] or '') end
            waiting[depth] = nil
            separate(last)
         end
         if not begins[depth] then begins[depth] = place end
         open(true)
      elseif word == 'function' and keyword then
         if complete then separate(last) end
         if not begins[depth] then begins[depth] = place end
         open(true)
      elseif keyword and OPENS[word] then
         separate(last)
         open(false)
      elseif symbol and TIGHTER[word] or word == 'not' and keyword then
         if not begins[depth] then begins[depth] = place end
         complete = false
      elseif keyword and not VALUES[word] or symbol and not VALUES[word] then
         separate(last) -- and, or, commas, statements
      else
         if complete and kinds[place] == WORD then separate(last) end -- the next statement
         if not begins[depth] then begins[depth] = place end
         callable = kinds[place] == WORD and not keyword or kinds[place] == STRING and complete and callable
         complete = true
      end
      place = behind + 1
   end
   separate(place - 1)
   if not changed then return text end

   local pieces, done = {}, 1
   local function put(piece)
      if piece then pieces[#pieces + 1] = piece end
   end
   for token, start in ipairs(starts) do
      if start >= done then -- otherwise the = belongs to an operator
         put(sub(text, done, start - 1))
         put(before[token])
         put(becomes[token] and ',(' or sub(text, start, ends[token] - 1))
         put(after[token])
         done = ends[becomes[token] or token]
      end
   end
   put(sub(text, done))
   return concat(pieces)
end
