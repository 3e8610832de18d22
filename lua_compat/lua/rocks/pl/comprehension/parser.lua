-- Parses comprehensions: OPERATION(OUTPUT for NAMES [= or in VALUES] ... if CONDITION ...); without a name and
-- parentheses, the operation is list.
local balanced = require 'pl.luabalanced'

-- The operation, the position where its output starts, and the position where everything ends.
local function operation_of(text)
   local name, start = text:match('^%s*([%a_][%w_]*)%s*%(()')
   if name then
      local inner, after = balanced.match_bracketed(text, start - 1)
      assert(inner, 'syntax error')
      if text:find('^%s*$', after) then return name, start, after - 1 end
   end
   return 'list', 1, #text + 1
end

-- The highest number among the parameters _1, _2 ..., ignoring strings and comments.
local function count_parameters(text)
   local code = {}
   balanced.gsub(text, function(kind, piece)
      if kind == 'e' then code[#code + 1] = piece end
   end)
   local most = 0
   for word in table.concat(code, ' '):gmatch('[%a_][%w_]*') do
      most = math.max(most, tonumber(word:match('^_(%d+)$') or 0))
   end
   return most
end

local function read_loop(text, place)
   local names, values, kind
   names, place = balanced.match_namelist(text, place)
   assert(#names > 0, 'syntax error: zero variables')
   for _, name in ipairs(names) do
      assert(not name:find('^__'), 'identifier ' .. name .. ' may not contain __ prefix')
   end
   local found, after = text:match('^(=)%s*()', place)
   if not found then found, after = text:match('^(in)%s+()', place) end
   if found then
      kind = found
      values, place = balanced.match_explist(text, after)
      assert(#values > 0, 'syntax error: zero expressions')
      assert(kind ~= '=' or #values == 2 or #values == 3,
         'syntax error: numeric for requires 2 or three expressions')
   end
   return { names = names, values = values, kind = kind }, place
end

return function(text)
   local parsed = { loops = {}, conditions = {}, parameters = count_parameters(text) }
   local place, last, output
   parsed.operation, place, last = operation_of(text)
   output, place = balanced.match_explist(text, place)
   parsed.output = table.concat(output, ', ')
   local function next_word(word)
      local after = text:match('^%s*' .. word .. '%s+()', place)
      place = after or place
      return after
   end
   while next_word('for') do
      parsed.loops[#parsed.loops + 1], place = read_loop(text, place)
   end
   assert(#parsed.loops > 0, 'syntax error: missing "for" clause')
   while next_word('if') do
      parsed.conditions[#parsed.conditions + 1], place = balanced.match_expression(text, place)
   end
   assert(place == last, 'syntax error: unrecognized ' .. text:sub(place))
   return parsed
end
