-- The package dok: help on functions, from the Markdown documentation installed with packages, and their usage.
require 'xlua'
local sys = require 'sys'

dok = {}
dok.colors = {}
for name, code in pairs(sys.COLORS) do
   if name:lower() ~= 'gray' then dok.colors[name] = code end
end

-- markdown-it-py is loaded only when something is rendered.
function dok.markdown2html(text) return require('sundown').render(text) end

require 'dok.style'
require 'dok.sections'
require 'dok.manual'
require 'dok.usage'

return dok
