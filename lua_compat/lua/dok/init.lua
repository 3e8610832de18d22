-- The package dok: help on functions from the documentation beside packages, in Markdown, and their usage.
require 'xlua'
local sys = require 'sys'

dok = {}
dok.colors = {}
for name, code in pairs(sys.COLORS) do
   if name:lower() ~= 'gray' then dok.colors[name] = code end
end

-- markdown-it-py is read when there is something to render.
function dok.markdown2html(text) return require('sundown').render(text) end

require 'dok.style'
require 'dok.sections'
require 'dok.manual'
require 'dok.usage'

return dok
