-- How dok shows documentation in a terminal: its colours, and HTML as coloured text.
local COLUMNS = 70
local BANNER = ('+'):rep(69)

-- The colour of each kind of text, by its name in dok.colors.
local COLOR_OF = { title = 'Magenta', pre = 'cyan', em = 'Black', bold = 'Black', img = 'red', link = 'red',
   code = 'green', error = 'Red', none = 'none' }

local style = {}

function dok.usecolors()
   for kind, color in pairs(COLOR_OF) do style[kind] = dok.colors[color] end
   style.banner, style.list = BANNER, dok.colors.blue .. '> ' .. dok.colors.none
end

function dok.dontusecolors()
   for kind in pairs(COLOR_OF) do style[kind] = '' end
   style.banner, style.list = BANNER, '> '
end

local CHARACTERS = { ['&#39;'] = "'", ['&#42;'] = '*', ['&#43;'] = '+', ['&lt;'] = '<', ['&gt;'] = '>' }

-- Breaks lines at the first space after a column; colour codes have no width.
local function broken(text)
   local pieces, column, in_code = {}, 1, false
   for letter in text:gmatch('.') do
      pieces[#pieces + 1] = letter
      if letter == '\27' then
         in_code = true
      elseif letter == 'm' then
         in_code = false
      end
      if column == COLUMNS then
         if letter == ' ' then
            pieces[#pieces + 1] = '\n'
            column = 1
         end
      elseif not in_code then
         column = column + 1
      end
      if letter == '\n' then column = 1 end
   end
   return table.concat(pieces)
end

-- The replacement for each kind of HTML, in this order.
local function replacements(package_name)
   local none = style.none
   local function as(kind) return style[kind] .. '%1' .. none end
   return {
      { '^%s+', '' },
      { '<h%d>(.-)</h%d>', as('title') .. '\n' },
      { '<ul>(.-)</ul>', function(list) return (list:gsub('<li>%s*(.-)%s*</li>%s*', style.list .. '%1\n')) end },
      { '%s*<code>%s*(.-)%s*</code>%s*', style.code .. ' %1 ' .. none },
      { '%s*<code class%="%S-">%s*(.-)%s*</code>%s*', style.pre .. ' %1 ' .. none },
      { '<pre.->(.-)</pre>', as 'pre' },
      { '<em>(.-)</em>', as 'em' },
      { '<b>(.-)</b>', as 'bold' },
      { '<strong>(.-)</strong>', as 'bold' },
      { '//(.-)//', as 'bold' },
      { '<a.->(.-)</a>', none .. '%1' .. none },
      { '<img.-src="(.-)".->%s*', function(source)
         return ('%simage: file://%s%s\n'):format(style.img, paths.concat(package_name, source), none)
      end },
      { '<a(.-)/>', '' },
      { '<p>', '\n' },
      { '</p>', '' },
      { '&[#%w]+;', CHARACTERS },
   }
end

function dok.stylize(html, package_name)
   for _, replacement in ipairs(replacements(package_name)) do html = html:gsub(replacement[1], replacement[2]) end
   return (broken(html):gsub('%s*$', ''))
end

dok.usecolors()

return style
