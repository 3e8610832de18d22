-- sundown.ascii: renders Markdown as text for a terminal, with or without colours.
local python = require('th.python').functions
local colors = require('sys.colors')

local KINDS = { 'none', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'blockquote', 'hrule', 'link', 'linkcontent', 'code',
   'emph', 'doubleemph', 'tripleemph', 'strikethrough', 'header', 'footer', 'image', 'ulist', 'olist', 'tableheader',
   'superscript' }
local WIDTH = 80

local function style_of(color_of)
   local style = { maxlsz = WIDTH, superscript = '^' }
   for _, kind in ipairs(KINDS) do style[kind] = style[kind] or colors[color_of[kind]] or '' end
   return style
end

local black_and_white = style_of{}
local colored = style_of{ none = 'none', h1 = 'Magenta', h2 = 'Red', h3 = 'Blue', h4 = 'Cyan', h5 = 'Green',
   h6 = 'Yellow', hrule = 'Black', link = 'green', linkcontent = 'Green', code = 'cyan', emph = 'Black',
   doubleemph = 'Red', tripleemph = 'Magenta', strikethrough = '_white', header = 'White', footer = 'White',
   image = 'yellow', ulist = 'magenta', olist = 'magenta', tableheader = 'magenta' }
local default = colored

local ascii = {}

function ascii.render(text, style)
   style = style or default
   local lines = {}
   for i, kind in ipairs(KINDS) do
      local code = style[kind]
      if type(code) ~= 'string' then
         error(('sundown.ascii: the style has no text for %s'):format(kind), 2)
      end
      lines[i] = kind .. '\t' .. code
   end
   return python.markdown_as_text(text, style.maxlsz or WIDTH, table.concat(lines, '\n'))
end

function ascii.color()
   default = colored
   return default
end

function ascii.bw()
   default = black_and_white
   return default
end

return ascii
