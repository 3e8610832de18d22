-- The escape sequences of the terminal's colours.
local colors = { none = '\27[0m' }
for i, name in ipairs{ 'black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white' } do
   colors[name] = ('\27[0;%dm'):format(29 + i)
   colors[name:sub(1, 1):upper() .. name:sub(2)] = ('\27[1;%dm'):format(29 + i)
   colors['_' .. name] = ('\27[%dm'):format(39 + i)
end
colors.Gray, colors.gray = colors.Black, colors.Black
return colors
