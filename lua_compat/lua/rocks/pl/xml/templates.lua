-- Templates: documents with $name in them, which are filled in (subst) or matched against a document (match).
return function(Doc, xml)
   local parsed = {}

   -- A template is a document or its text.
   local function template_of(template)
      if Doc.is_tag(template) then return template end
      if type(template) ~= 'string' then return nil, 'template is not a document' end
      if not parsed[template] then
         local document, problem = xml.parse(template, false, true)
         if not document then return nil, problem end
         parsed[template] = document
      end
      return parsed[template]
   end

   local function is_single(data) return #data == 0 or type(data[1]) ~= 'table' end

   -- $1, $2 ... are the elements of a list.
   local function name_elements(data)
      for i, value in ipairs(data) do data[tostring(i)] = value end
   end

   -- data: a table of names and values, or a list of such tables, which returns a list (an element, if it has a tag).
   function Doc.subst(template, data)
      if type(data) ~= 'table' or not next(data) then return nil, 'data must be a non-empty table' end
      local document, problem = template_of(template)
      if not document then return nil, problem end
      local function fill(values)
         name_elements(values)
         return xml.clone(document, function(text) return (text:gsub('%$(%w+)', values)) end)
      end
      if is_single(data) then return fill(data) end
      local filled = {}
      for i, values in ipairs(data) do filled[i] = fill(values) end
      return data.tag and xml.elem(data.tag, filled) or filled
   end

   local function is_empty(t) return not t or next(t) == nil end

   -- $1 is the first element of a list.
   local function key_of(name) return name:find('^%d+$') and tonumber(name) or name end

   -- Adds what a repeated part has captured: under the name in $_, and only its value if that is named $0.
   local function add_captured(results, captured)
      if is_empty(captured) then return end
      local name = captured._
      captured._ = nil
      if is_empty(captured) then return end
      local key, value = next(captured)
      if key == 0 and next(captured, key) == nil then captured = value end
      if name then results[name] = captured else table.insert(results, captured) end
   end

   local match

   local function match_attributes(element, pattern, results)
      if is_empty(pattern.attr) then return true end
      if is_empty(element.attr) then return false end
      for name, value in pairs(pattern.attr) do
         if not match(element.attr[name], value, results) then return false end
      end
      return true
   end

   -- Walks through the children of an element and of a pattern. Returns whether the last attempt succeeded, and whether
   -- the whole pattern was found.
   local function match_children(element, pattern, results)
      local i, j, matches = 1, 1, true
      local function next_child()
         j = j + 1
         if type(element[j]) == 'string' then j = j + 1 end
         return j <= #element
      end
      repeat
         local part = pattern[i]
         if Doc.is_tag(part) and part.repeated then
            repeat
               local captured = {}
               matches = match(element[j], part, captured)
               if matches then add_captured(results, captured) end
            until not next_child()
            i = i + 1
         else
            matches = match(element[j], part, results)
            if matches then i = i + 1 end
         end
      until not next_child() or i > #pattern
      return matches, i > #pattern
   end

   local function match_text(text, pattern, results)
      if type(pattern) ~= 'string' then return false end
      if pattern:sub(1, 1) ~= '$' then return text == pattern end
      results[key_of(pattern:sub(2))] = text
      return true
   end

   -- deeply: also searches inside the element.
   function match(element, pattern, results, deeply)
      if element == nil or type(element) == 'string' then return match_text(element or '', pattern, results) end
      if type(pattern) ~= 'table' then return false end
      local any_tag = pattern.tag:match('^(.-)%-$') -- NAME- captures the tag
      if any_tag then results[key_of(any_tag)] = element.tag end
      local matches = false
      if any_tag or element.tag == pattern.tag then
         matches = match_attributes(element, pattern, results)
         if matches and #pattern > 0 then
            local complete
            matches, complete = match_children(element, pattern, results)
            if complete then return true end
         end
         if matches then return true end
      end
      if deeply then
         for child in element:childtags() do
            matches = match(child, pattern, results, deeply)
            if matches then break end
         end
      end
      return matches
   end

   -- {{ and }} around a part of a template mark it as repeated.
   local function mark_repeated(_, element)
      local before, part, after = unpack(element, 1, 3)
      if type(before) == 'string' and Doc.is_tag(part) and type(after) == 'string' and before:find('{{', 1, true)
         and after:find('}}', 1, true) then
         table.remove(element, 3)
         table.remove(element, 1)
         part.repeated = true
      end
   end

   -- Returns what was captured, and whether it matches.
   function Doc:match(template)
      local pattern, problem = template_of(template)
      if not pattern then return nil, problem end
      Doc.walk(pattern, false, mark_repeated)
      local results = {}
      local matches = match(self, pattern, results, true)
      return results, matches
   end
end
