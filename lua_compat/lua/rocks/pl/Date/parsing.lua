-- Reads dates in common forms: ISO 8601, 3/4/2015, 4 March 2015, each with or without a time.

local function number_within(text, least, most, what)
   local number = tonumber(text)
   if not number then error(("%snot a number: '%s'"):format(what, text), 0) end
   if number < least or number > most then
      error(('%s out of range: %s is not between %d and %d'):format(what, text, least, most), 0)
   end
   return number
end

-- Months by the first three letters of their names in the system's language.
local months
local function month_of(word)
   if not months then
      months = {}
      for month = 1, 12 do
         months[os.date('%b', os.time{ year = 2000, month = month, day = 1 }):lower():sub(1, 3)] = month
      end
   end
   return months[word] or error('not a month: ' .. word, 0)
end

-- Reads what follows the seconds: their fraction, and z or the offset from UTC (hours, minutes).
local function read_zone(rest, found)
   local fraction = rest:match('^%.%d+')
   if fraction and found.sec then
      found.sec = found.sec .. fraction
      rest = rest:sub(#fraction + 1)
   end
   if rest:find('z$') then
      found.zone = { 0, 0 }
      return
   end
   local sign, digits = rest:gsub(':', ''):match('^([%+%-])(%d+)')
   if not sign then return end
   if #digits == 2 then digits = digits .. '00' end
   local direction = sign == '-' and -1 or 1
   found.zone = { direction * tonumber(digits:sub(1, 2)), direction * tonumber(digits:sub(3, 4)) }
end

-- hh:mm[:ss], hh.mm[am|pm] or hhmm[ss]
local function read_time(word, found)
   local hour, minute, after = word:match('^(%d+):(%d+)()')
   if hour then
      local second, after_second = word:match('^:(%d+)()', after)
      found.hour, found.min, found.sec = hour, minute, second
      read_zone(word:sub(after_second or after), found)
      return
   end
   hour, minute = word:match('^(%d+)%.(%d+)')
   if hour then
      found.hour, found.min, found.half = hour, minute, word:match('[ap]m$')
      return
   end
   local digits, after_digits = word:match('^(%d+)()')
   if digits then
      found.hour, found.min = digits:sub(1, 2), digits:sub(3, 4)
      if #digits > 4 then found.sec = digits:sub(5, 6) end
      read_zone(word:sub(after_digits), found)
   end
end

-- The parts of a text, as strings.
local function read(text, month_first)
   local words = {}
   for word in text:gsub('T', ' '):lower():gmatch('%S+') do words[#words + 1] = word end
   local i, found = 1, {}
   local function word() return words[i] end
   local year_may_follow = true

   local first, second, after = (word() or ''):match('^(%d+)/(%d+)()')
   if first then
      found.day, found.month = first, second
      if month_first then found.day, found.month = second, first end
      found.year = word():match('^/(%d+)', after)
      i = i + 1
   else
      found.year, found.month, found.day = (word() or ''):match('^(%d+)%-(%d+)%-(%d+)')
      if found.year then i = i + 1 end
   end
   if word() and not found.year and word():find('^%d+$') then
      if #word() < 4 then
         found.day = word()
         i = i + 1
      else
         year_may_follow = false -- it would look like a time
      end
   end
   if word() and word():find('^%a+,*$') then
      found.month = month_of(word():sub(1, 3))
      year_may_follow = not found.year and year_may_follow
      i = i + 1
   end
   if word() and year_may_follow and not found.year and word():find('^%d+$') then
      found.year = word()
      i = i + 1
   end
   if word() then read_time(word(), found) end
   return found
end

local function date_of(Date, found)
   local today = Date()
   local t = {}
   t.day = found.day and number_within(found.day, 1, 31, 'day') or (found.month and 1 or today:day())
   t.month = found.month and number_within(found.month, 1, 12, 'month') or today:month()
   t.year = found.year and tonumber(found.year) or today:year()
   if t.year < 100 then t.year = t.year + (t.year < 35 and 2000 or 1900) end
   t.hour = found.hour and number_within(found.hour, 0, found.half and 12 or 24, 'hour') or 12
   if found.half == 'pm' then t.hour = t.hour + 12 end
   t.min = found.min and number_within(found.min, 0, 59, '') or 0
   t.sec = found.sec and number_within(found.sec, 0, 60, '') or 0 -- 60: a leap second
   local date = Date(t)
   if not found.zone then return date end
   local hours, minutes = unpack(found.zone)
   if hours ~= 0 then date:add{ hour = -hours } end
   if minutes ~= 0 then date:add{ min = -minutes } end
   date.utc = true
   return (hours ~= 0 or minutes ~= 0) and date:toLocal() or date
end

-- Returns a date, or nil and an error. month_first: 3/4 is the fourth of March.
return function(Date, text, month_first)
   local ok, result = pcall(function() return date_of(Date, read(text, month_first)) end)
   if ok then return result end
   return nil, result
end
