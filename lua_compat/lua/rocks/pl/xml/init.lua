-- pl.xml: XML documents. An element is a table: tag, attr (its attributes, optionally with their order as a list), and
-- its child elements and texts as a list.
local Doc = require 'pl.xml.Doc'
local copying = require 'pl.xml.copying'
local escapes = require 'pl.xml.escapes'
local parsing = require 'pl.xml.parsing'
local writing = require 'pl.xml.writing'
local utils = require 'pl.utils'

local xml = { new = Doc.new, is_tag = Doc.is_tag, walk = Doc.walk, xml_escape = escapes.escape,
   xml_unescape = escapes.unescape, clone = copying.clone, compare = copying.compare, basic_parse = parsing.parse,
   parsehtml = parsing.parse_html, tostring = writing.tostring }

-- source: a text, or a file name if is_file. own: uses our parser even if lxp is installed.
function xml.parse(source, is_file, own)
   local found, lom = pcall(require, 'lxp.lom')
   local with_lom = found and not own
   if is_file then
      local problem
      source, problem = utils.readfile(source)
      if not source then return nil, problem end
   end
   local document, problem = (with_lom and lom.parse or parsing.parse)(source)
   if not document then return nil, problem end
   if with_lom then Doc.walk(document, false, function(_, element) setmetatable(element, Doc) end) end
   return document
end

-- An element from a text, an element, or a table of attributes and children.
function xml.elem(tag, items)
   local element = Doc.new(tag)
   if type(items) == 'string' or Doc.is_tag(items) then items = { items } end
   for key, value in pairs(items or {}) do
      if type(key) == 'string' then
         element.attr[key] = value
         table.insert(element.attr, key)
      else
         element[key] = value
      end
   end
   return element
end

-- Functions that create elements, from a list of tags or a text with commas.
function xml.tags(tags)
   if type(tags) == 'string' then tags = utils.split(tags:match('^%s*(.-)%s*$'), '%s*,%s*') end
   local makers = {}
   for i, tag in ipairs(tags) do makers[i] = function(items) return xml.elem(tag, items) end end
   return unpack(makers)
end

Doc.__tostring = writing.tostring
Doc.tostring, Doc.filter = writing.tostring, copying.clone
require('pl.xml.templates')(Doc, xml)

return xml
