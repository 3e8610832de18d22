-- The escape sequences of colours; empty if stdout is not a terminal, so that logs stay plain.
local modes = { bright = 1, dim = 2, underline = 4, blink = 5, reverse = 7, hidden = 8 }

local colors = {}
for name, switch in pairs(require 'sys.colors') do colors[name] = switch end
for name, number in pairs(modes) do colors[name] = ('\27[%dm'):format(number) end
if not torch.isatty(io.stdout) then
   for name in pairs(colors) do colors[name] = '' end
end
return colors
