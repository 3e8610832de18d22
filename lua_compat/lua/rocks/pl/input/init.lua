-- pl.input: words, numbers and fields of lines.
local utils = require 'pl.utils'

local input = {}

-- All matches of a pattern in the lines that a function returns, optionally converted.
function input.alltokens(next_line, pattern, convert)
   local line, place = next_line(), 1
   return function()
      while line do
         local first, last = line:find(pattern, place)
         if first then
            place = last + 1
            local token = line:sub(first, last)
            if convert then token = convert(token) end
            return token
         end
         line, place = next_line(), 1
      end
   end
end

-- A function that returns one line after another: of a text, of an object with the method read, or of stdin.
function input.create_getter(source)
   if not source then return io.read end
   if type(source) ~= 'string' then
      if not source.read then error('not a file-like object') end
      return function() return source:read() end
   end
   local i, lines = 0, utils.split(source, '\n')
   return function()
      i = i + 1
      return lines[i]
   end
end

function input.numbers(source)
   return input.alltokens(input.create_getter(source), utils.patterns.FLOAT, tonumber)
end

function input.words(source) return input.alltokens(input.create_getter(source), '%w+') end

-- A pattern that captures the wanted fields, by number.
local function pattern_of(wanted, delimiter)
   local spaces = not delimiter or delimiter == ' '
   local separator = spaces and '%s+' or delimiter
   local field = '[^' .. (spaces and '%s' or delimiter) .. ']*'
   local is_wanted, last = {}, 0
   for _, index in pairs(wanted) do is_wanted[index], last = true, math.max(last, index) end
   local fields = {}
   for i = 1, last do fields[i] = is_wanted[i] and '(' .. field .. ')' or field end
   return (spaces and '%s*' or '') .. table.concat(fields, separator)
end

-- The fields as numbers; or nil and the one that is not a number, unless texts are kept.
local function as_numbers(fields, keep_texts)
   for i = 1, #fields do
      local number = tonumber(fields[i])
      if number == nil and not keep_texts then return nil, fields[i] end
      fields[i] = number or fields[i]
   end
   return fields
end

-- Iterates over the fields of lines. which: their number, or a list of field numbers. options: no_fail (texts are
-- kept), no_convert.
function input.fields(which, delimiter, source, options)
   options = options or {}
   local next_line = input.create_getter(source)
   if type(which) ~= 'table' then
      local all = {}
      for i = 1, which do all[i] = i end
      which = all
   end
   local pattern, line_number = pattern_of(which, delimiter), 0
   return function()
      while true do
         local line = next_line()
         line_number = line_number + 1
         if not line then return nil end
         local fields, wrong = { line:match(pattern) }, nil
         if not options.no_convert then fields, wrong = as_numbers(fields, options.no_fail) end
         if not fields then
            utils.quit('line ' .. line_number .. ": cannot convert '" .. wrong .. "' to number")
         end
         if #fields > 0 then return unpack(fields) end
      end
   end
end

return input
