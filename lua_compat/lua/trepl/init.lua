-- trepl: its globals are always defined (th/trepl.lua), and its prompt is the command th.
local colors = require 'trepl.colors'

function repl() error("trepl's prompt is the command th itself: th -i script.lua", 2) end

-- From now on trepl.colors and trepl.colorize leave texts unchanged.
function noColors()
   for name in pairs(colors) do colors[name] = '' end
end

return repl
