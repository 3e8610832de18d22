-- Writes documents as text.
local escape = require('pl.xml.escapes').escape

local writing = {}

-- Adds each attribute's name and value, after a space or on a new line.
local function write_attributes(out, element, parent_namespace, start)
   local namespaces = 0
   local function write(name, value)
      local namespace, local_name = name:match('^([^\1]*)\1(.*)$')
      if namespace then
         namespaces = namespaces + 1
         local prefix = 'ns' .. namespaces
         out[#out + 1] = (" xmlns:%s='%s' %s:%s='%s'"):format(prefix, escape(namespace), prefix, local_name,
            escape(value))
      elseif name ~= 'xmlns' or value ~= parent_namespace then
         out[#out + 1] = ("%s%s='%s'"):format(start, name, escape(value))
      end
   end
   if #element.attr > 0 then
      for _, name in ipairs(element.attr) do write(name, element.attr[name]) end
   else
      for name, value in pairs(element.attr) do write(name, value) end
   end
end

local function write(out, element, parent_namespace, indent, step, attribute_step)
   local line = step and '\n' .. indent or ''
   out[#out + 1] = line .. '<' .. element.tag
   write_attributes(out, element, parent_namespace, attribute_step and '\n' .. indent .. attribute_step or ' ')
   if #element == 0 then
      out[#out + 1] = attribute_step and '\n' .. indent .. '/>' or '/>'
      return
   end
   out[#out + 1] = '>'
   local has_elements = false
   for _, child in ipairs(element) do
      if child.tag then
         has_elements = true
         write(out, child, element.attr.xmlns, indent and indent .. (step or ''), step, attribute_step)
      else
         out[#out + 1] = escape(child)
      end
   end
   out[#out + 1] = (has_elements and line or '') .. '</' .. element.tag .. '>'
end

local function as_spaces(indent) return type(indent) == 'number' and (' '):rep(indent) or indent end

-- indent: of everything; step: indentation of child elements, each on its own line; attribute_step: the same for
-- attributes. preface: true, or a text.
function writing.tostring(document, indent, step, attribute_step, preface)
   local out = {}
   if preface then out[1] = type(preface) == 'string' and preface or "<?xml version='1.0'?>" end
   write(out, document, nil, as_spaces(indent), as_spaces(step), as_spaces(attribute_step))
   return table.concat(out)
end

return writing
