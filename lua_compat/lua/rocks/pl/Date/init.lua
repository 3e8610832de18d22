-- pl.Date: dates. time: seconds since 1970; tab: year, month, day, hour, min, sec ...; utc: whether tab is in UTC.
local class = require 'pl.class'
local utils = require 'pl.utils'

local Date = class()

-- Completes a table: coarser parts than those given are today's, finer ones are the first.
local function completed(t)
   if not (t.year and t.month) then
      local today = os.date('*t')
      if not t.year and not t.month and not t.day then
         t.day = today.day
         t.month = today.month
      else
         t.month = t.month or (t.day and today.month or 1)
      end
      t.year = t.year or today.year
   end
   t.day = t.day or 1
   return t
end

-- Date(): now; Date(seconds [, utc]); Date'utc'; Date(date); Date{ year = ... }; Date(year, month, day ...)
function Date:_init(t, ...)
   local n = select('#', ...)
   if n > 2 or (n == 2 and type(t) == 'number') then
      local month, day, hour, minute, second = ...
      t = { year = t, month = month, day = day, hour = hour, min = minute, sec = second }
   end
   if n == 1 then self.utc = (...) == true end
   if t == nil or t == 'utc' then
      self.utc = t == 'utc'
      self:set(os.time())
   elseif type(t) == 'number' then
      if self.utc == nil then self.utc = true end
      self:set(t)
   elseif type(t) == 'table' and getmetatable(t) == Date then
      self.utc = t.utc
      self:set(t.time)
   elseif type(t) == 'table' then
      self:set(os.time(completed(t)))
   else
      error('bad type for Date constructor: ' .. type(t), 2)
   end
end

function Date:set(time)
   self.time = time
   self.tab = os.date(self.utc and '!*t' or '*t', time)
end

-- The offset of local time from UTC in seconds, at a time, a date or a table.
function Date.tzone(at)
   if type(at) == 'table' then at = (getmetatable(at) == Date and at or Date(at)).time end
   at = at or os.time()
   local here = os.date('*t', at)
   here.isdst = false
   return os.difftime(os.time(here), os.time(os.date('!*t', at)))
end

local function seen_as(date, utc)
   local other = Date(date)
   if (other.utc or false) ~= utc then
      other.utc = utc
      other:set(other.time)
   end
   return other
end

function Date:toUTC() return seen_as(self, true) end
function Date:toLocal() return seen_as(self, false) end

-- Each returns its part, or sets it and returns the date.
for _, part in ipairs{ 'year', 'month', 'day', 'hour', 'min', 'sec', 'yday' } do
   Date[part] = function(self, value)
      if not value then return self.tab[part] end
      utils.assert_arg(1, value, 'number')
      self.tab[part] = value
      self:set(os.time(self.tab))
      return self
   end
end

function Date:weekday_name(full) return os.date(full and '%A' or '%a', self.time) end
function Date:month_name(full) return os.date(full and '%B' or '%b', self.time) end
function Date:is_weekend() return self.tab.wday == 1 or self.tab.wday == 7 end

-- Adds { day = 1 } or another part; the hour is kept across changes of daylight saving time.
function Date:add(t)
   local was_summer = self.tab.isdst
   local part, amount = next(t)
   self.tab[part] = self.tab[part] + amount
   self:set(os.time(self.tab))
   if was_summer ~= self.tab.isdst then
      self.tab.hour = self.tab.hour - (was_summer and 1 or -1)
      self:set(os.time(self.tab))
   end
   return self
end

-- Moves to the last day of the month.
function Date:last_day()
   local month = self.tab.month
   repeat self:add{ day = 1 } until self.tab.month ~= month
   return self:add{ day = -1 }
end

function Date:diff(other)
   local seconds = self.time - other.time
   if seconds < 0 then error('date difference is negative!', 2) end
   return Date.Interval(seconds)
end

-- ISO 8601.
function Date:__tostring()
   local text = os.date((self.utc and '!' or '') .. '%Y-%m-%dT%H:%M:%S', self.time)
   local ahead = self.utc and 0 or self:tzone()
   if ahead == 0 then return text .. 'Z' end
   local hours, minutes = math.ceil(ahead / 3600), (ahead % 3600) / 60
   local sign = ahead > 0 and '+' or '-'
   if minutes == 0 then return text .. ('%s%02d'):format(sign, math.abs(hours)) end
   return text .. ('%s%02d:%02d'):format(sign, math.abs(hours), minutes)
end

function Date:__eq(other) return self.time == other.time end
function Date:__lt(other) return self.time < other.time end
function Date:__le(other) return self.time <= other.time end
Date.__sub = Date.diff

function Date:__add(other)
   if Date.Interval:class_of(other) then other = { sec = other.time } end
   return Date(self):add(other)
end

Date.Interval = require('pl.Date.Interval')(Date)
Date.Format = require('pl.Date.Format')(Date)

return Date
