-- Paragraphs as in later versions: dedent by the least indented line; wrapped lines do not exceed the width. (pl.text
-- has the functions of 2015.)
local text = require 'pl.text'
local utils = require 'pl.utils'

local paragraphs = { indent = text.indent }

function paragraphs.dedent(s)
   utils.assert_arg(1, s, 'string')
   local lines, margin = utils.split(s, '\n'), math.huge
   for _, line in ipairs(lines) do
      local first = line:find('%S')
      if first then margin = math.min(margin, first) end
   end
   for i, line in ipairs(lines) do lines[i] = line:sub(margin) end
   return table.concat(lines, '\n') .. '\n'
end

-- Words longer than a line get a line of their own, or are broken.
function paragraphs.wrap(s, width, break_words)
   width = width or 70
   local lines, line = {}, nil
   local function end_line()
      lines[#lines + 1] = line
      line = nil
   end
   for word in s:gmatch('%S+') do
      if line and #line + 1 + #word > width then end_line() end
      while break_words and #word > width do
         lines[#lines + 1] = word:sub(1, width)
         word = word:sub(width + 1)
      end
      if word ~= '' then line = line and line .. ' ' .. word or word end
   end
   end_line()
   if #lines == 0 then return { '' } end
   return setmetatable(lines, require 'pl.List')
end

function paragraphs.fill(s, width, break_words)
   return table.concat(paragraphs.wrap(s, width, break_words), '\n') .. '\n'
end

return paragraphs
