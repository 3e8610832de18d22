-- colorize.red(text) etc.: a text in a colour of trepl.colors.
local colors = require 'trepl.colors'

local colorize = {}
for name in pairs(colors) do
   colorize[name] = function(text) return colors[name] .. text .. colors.none end
end
return colorize
