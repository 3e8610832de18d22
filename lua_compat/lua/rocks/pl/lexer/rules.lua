-- The tokens of plain text, Lua and C++: lists of { pattern, action }; the first match is used. An action receives the
-- text, the options and the results of string.find, and returns the token's kind and value.
local rules = {}

local function set(names)
   local t = {}
   for name in names:gmatch('%S+') do t[name] = true end
   return t
end

rules.lua_keywords = set[[and break do else elseif end false for function if in local nil not or repeat return then true
   until while]]
local cpp_keywords = set[[class break do sizeof else continue struct false for public void private protected goto if
   static const typedef enum char int bool long float true delete double while new namespace try catch switch case
   extern return default unsigned signed union volatile register short]]

local function symbol(text) return text, text end

-- A filter may omit spaces and comments.
function rules.space(text) return 'space', text end
function rules.comment(text) return 'comment', text end

local function preprocessor(text) return 'prepro', text end

local function number(text, options)
   if options and options.number then return 'number', tonumber(text) end
   return 'number', text
end

local function quoted(kind)
   return function(text, options)
      if options and options.string then return kind, text:sub(2, -2) end
      return kind, text
   end
end
local quoted_string, quoted_char = quoted('string'), quoted('char')

local function long_string(text, options, found)
   if not (options and options.string) then return 'string', text end
   local brackets = 3 + #(found[3] or '')
   return 'string', (text:sub(brackets, -brackets):gsub('^\n', ''))
end

local function word(keywords)
   return function(text) return keywords and keywords[text] and 'keyword' or 'iden', text end
end

-- Adds rules with one action for several patterns.
local function add(list, action, ...)
   for _, pattern in ipairs{ ... } do list[#list + 1] = { pattern, action } end
end

local function add_numbers(list, sign)
   local start = '^' .. sign
   add(list, number, start .. '%d+%.?%d*[eE][%+%-]?%d+', start .. '%d*%.%d+[eE][%+%-]?%d+', start .. '%d+%.?%d*',
      start .. '%d*%.%d+')
end

local HEXADECIMAL, WORD = '^0x[%da-fA-F]+', '^[%a_][%w_]*'
-- An empty string, one of backslashes only, and others: an even number of backslashes precedes the closing quote.
local STRINGS = { [[^(['"])%1]], [[^(['"])(\*)%2%1]], [[^(['"]).-[^\](\*)%2%1]] }
local CHARACTERS = { [[^'']], [[^'(\*)%1']], [[^'.-[^\](\*)%1']] }
local SIGN = '[%+%-]?'

local function beginning(keywords, sign, before_numbers)
   local list = {}
   add(list, rules.space, '^%s+')
   if before_numbers then add(list, preprocessor, before_numbers) end
   add(list, number, HEXADECIMAL)
   add(list, word(keywords), WORD)
   add_numbers(list, sign)
   return list
end

rules.plain = beginning(nil, SIGN)
add(rules.plain, quoted_string, unpack(STRINGS))
add(rules.plain, symbol, '^.')

rules.lua = beginning(rules.lua_keywords, '')
add(rules.lua, quoted_string, unpack(STRINGS))
add(rules.lua, rules.comment, '^%-%-%[(=*)%[.-%]%1%]', '^%-%-.-\n')
add(rules.lua, long_string, '^%[(=*)%[.-%]%1%]')
add(rules.lua, symbol, '^==', '^~=', '^<=', '^>=', '^%.%.%.', '^%.%.', '^.')

rules.cpp = beginning(cpp_keywords, '', '^#.-[^\\]\n')
add(rules.cpp, quoted_char, unpack(CHARACTERS))
add(rules.cpp, quoted_string, unpack(STRINGS))
add(rules.cpp, rules.comment, '^//.-\n', '^/%*.-%*/')
add(rules.cpp, symbol, '^==', '^!=', '^<=', '^>=', '^->', '^&&', '^||', '^%+%+', '^%-%-', '^%+=', '^%-=', '^%*=', '^/=',
   '^|=', '^%^=', '^::', '^.')

return rules
