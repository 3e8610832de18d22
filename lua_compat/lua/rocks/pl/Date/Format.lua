-- Date formats: 'yyyy-mm-dd HH:MM:SS', with as many letters as digits (one: any number).
local class = require 'pl.class'
local parse_freely = require 'pl.Date.parsing'
local utils = require 'pl.utils'

local PARTS = { d = 'day', y = 'year', m = 'month', H = 'hour', M = 'min', S = 'sec' }

-- One or two letters; years have two or four.
local function is_count(letter, n)
   if letter == 'y' then return n == 2 or n == 4 end
   return n <= 2
end

return function(Date)
   local Format = class()

   -- Without a format, any common form is read.
   function Format:_init(text)
      if not text then
         self.fmt = '%Y-%m-%d %H:%M:%S'
         self.outf, self.plain = self.fmt, true
         return
      end
      local pattern, output, letters, used = {}, {}, {}, {}
      local place = 1
      while place <= #text do
         local character = text:sub(place, place)
         if PARTS[character] then
            if used[character] then error('field appeared twice: ' .. character, 4) end
            used[character] = true
            local run = text:match('^' .. character .. '+', place)
            if not is_count(character, #run) then error('wrong number of fields: ' .. character, 4) end
            pattern[#pattern + 1] = '(' .. (#run == 1 and '%d+' or ('%d'):rep(#run)) .. ')'
            output[#output + 1] = character == 'y' and #run == 4 and '%Y' or '%' .. character
            letters[#letters + 1] = character
            place = place + #run
         else
            pattern[#pattern + 1] = utils.escape(character)
            output[#output + 1] = character
            place = place + 1
         end
      end
      self.fmt, self.outf, self.vars = table.concat(pattern), table.concat(output), letters
   end

   -- Returns a date, or nil and an error.
   function Format:parse(text)
      utils.assert_string(1, text)
      if self.plain then return parse_freely(Date, text, self.us) end
      local captures = { text:match(self.fmt) }
      if #captures == 0 then return nil, 'cannot parse ' .. text end
      local t, today = {}, Date()
      for i, letter in ipairs(self.vars) do t[PARTS[letter]] = tonumber(captures[i]) end
      t.year, t.month, t.day = t.year or today:year(), t.month or today:month(), t.day or today:day()
      if t.year < 100 then t.year = t.year + (t.year < 35 and 2000 or 1999) end
      return Date(t)
   end

   -- date: a Date, or seconds.
   function Format:tostring(date)
      if type(date) == 'number' then return os.date(self.outf, date) end
      return os.date((date.utc and '!' or '') .. self.outf, date.time)
   end

   -- Whether the month comes before the day in 1/2/2015.
   function Format:US_order(yes) self.us = yes end

   return Format
end
