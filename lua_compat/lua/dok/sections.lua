-- dok.html2funcs(html, name): the documentation of a package's functions, by lower-case name. A function's section
-- starts with an anchor <a name="package.function"> and a heading.
local function anchor_in(line)
   return line:match('<a.-name=["\'](.-)["\']/>') or line:match('<a.-name=["\'](.-)["\']>.-</a>')
end

-- The sections of a page as a tree: each has a level, a name, an anchor and, in order, its texts and subsections.
local function sections_of(html)
   local root = { level = 0 }
   local current, anchor, lines = root, nil, {}
   local function close_text()
      if #lines > 0 then current[#current + 1] = table.concat(lines, '\n') end
      lines = {}
   end
   for line in html:gmatch('[^\n\r]+') do
      local level, name = line:match('<h(%d)>(.*)</h%d>')
      local here = anchor_in(line)
      if here then
         anchor = here
      elseif level then
         close_text()
         level = tonumber(level)
         while level <= current.level do current = current.parent end
         local section = { level = level, parent = current, name = name, anchor = anchor }
         current[#current + 1] = section
         current = section
      elseif not line:find('^%s+$') then
         anchor = nil
         lines[#lines + 1] = line
      end
   end
   close_text()
   return root
end

function dok.html2funcs(html, package_name)
   local found = {}
   local function collect(section)
      local key = section.anchor and section.anchor:lower():match(package_name .. '%.(.*)')
      if key then
         local texts = { ('<h%d>%s</h%d>'):format(section.level, section.name, section.level) }
         for _, part in ipairs(section) do
            if type(part) == 'string' then texts[#texts + 1] = part end
         end
         local text = dok.stylize(table.concat(texts, '\n'), package_name)
         found[key] = found[key] and found[key] .. '\n' .. text or text
      end
      for _, part in ipairs(section) do
         if type(part) == 'table' then collect(part) end
      end
   end
   collect(sections_of(html))
   return found
end
