-- The package sundown: renders Markdown as HTML, and as text for a terminal.
local html, ascii = require 'sundown.html', require 'sundown.ascii'

return { render = html.render, renderHTML = html.render, renderASCII = ascii.render }
