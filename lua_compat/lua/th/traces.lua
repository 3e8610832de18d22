-- An error's text with tracebacks (those of nn's containers have two), without the frames of our files that call
-- scripts, cells and jobs. Error handlers leave this to their callers: after a stack overflow they have no room for it.
local concat, find, gmatch, sub, ipairs = table.concat, string.find, string.gmatch, string.sub, ipairs

local XPCALL = "\t[C]: in function 'raw_xpcall'" -- the frame after it is th/boot.lua's xpcall
local CALLERS = { '^\tth/boot%.lua:', 'th/prompt/lines%.lua:', 'threads/worker%.lua:', 'threads/threads%.lua:' }

local function is_call_of_ours(frame)
   for _, caller in ipairs(CALLERS) do
      if frame and find(frame, caller) then return true end
   end
   return false
end

return function(text)
   local lines, kept, ours = {}, {}, false
   for line in gmatch(text .. '\n', '(.-)\n') do lines[#lines + 1] = line end
   for i, line in ipairs(lines) do
      if sub(line, 1, 1) ~= '\t' then
         ours = false
      elseif line == XPCALL then
         ours = ours or is_call_of_ours(lines[i + 2])
         line = "\t[C]: in function 'xpcall'"
      end
      if not ours and lines[i - 1] ~= XPCALL then kept[#kept + 1] = line end
   end
   return concat(kept, '\n')
end
