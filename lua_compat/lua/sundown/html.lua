-- sundown.html: renders Markdown as HTML.
return { render = require('th.python').functions.markdown_as_html }
