-- A progress bar on one line of the terminal.
local python = require('th.python').functions

local WIDEST = 120 -- columns
local TEXT = 34    -- columns next to the bar
local KEPT = 100   -- calls from which the time of a step is estimated

local width
local bar        -- nil between two bars: timer, and the recorded calls and times
local shown = -1 -- the filled width of the last bar

local function draw(filled, length)
   local marks = {}
   for i = 1, length do marks[i] = i < filled and '=' or i == filled and '>' or '.' end
   local blanks = width - length - 4
   io.write(' [', table.concat(marks), '] ', (' '):rep(blanks), ('\b'):rep(blanks))
end

-- Shows that `current` of `goal` steps are done. A full bar is finished; repeating the last step does not draw another
-- one. The next bar starts when `current` becomes smaller.
function xlua.progress(current, goal)
   width = width or math.min(python.terminal_columns(), WIDEST)
   local length = math.max(1, width - TEXT)
   local filled = math.floor(current * length / goal)
   if bar or (shown >= 0 and filled >= shown) then
      io.write('\r')
      if not bar then return end
   else
      local timer = torch.Timer()
      bar = { timer = timer, calls = { current }, times = { timer:time().real } }
   end
   shown = filled
   draw(filled, length)

   local elapsed = bar.timer:time().real
   local step = 0
   if current ~= bar.calls[1] then step = (elapsed - bar.times[1]) / (current - bar.calls[1]) end
   bar.calls[#bar.calls + 1], bar.times[#bar.times + 1] = current, elapsed
   if #bar.calls > KEPT then
      table.remove(bar.calls, 1)
      table.remove(bar.times, 1)
   end
   local left = xlua.formatTime(math.max(0, (goal - current) * step))
   local text = (filled < length and ' ETA: ' .. left or ' Tot: ' .. xlua.formatTime(elapsed))
      .. ' | Step: ' .. xlua.formatTime(step)
   -- moves back to the middle of the bar for the count
   io.write(text, ('\b'):rep(5 + #text + math.floor(length / 2)), ' ', current, '/', goal, ' ')
   if filled == length then
      bar = nil
      io.write('\n')
   end
   io.write('\r')
   io.flush()
end
