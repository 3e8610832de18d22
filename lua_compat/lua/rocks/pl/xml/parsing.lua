-- Parses documents.
local Doc = require 'pl.xml.Doc'
local unescape = require('pl.xml.escapes').unescape

local parsing = {}

-- HTML elements without an end tag.
local EMPTY = {}
for tag in ('br img meta frame area hr base col link input option param isindex embed'):gmatch('%a+') do
   EMPTY[tag] = true
end

local function attributes_of(text, html)
   local attributes = {}
   local function set(name, value) attributes[html and name:lower() or name] = unescape(value) end
   for name, _, value in text:gmatch('([%w:%-_]+)%s*=%s*(["\'])(.-)%2') do set(name, value) end
   if html then
      for name, value in text:gmatch('([%w:%-_]+)%s*=%s*([^"\']+)%s*') do set(name, value) end
   end
   return attributes
end

-- The position after everything before the root element.
local function after_preface(text)
   return text:match('^%s*<%?[^%?]+%?>%s*()') or text:match('^%s*<!DOCTYPE.->%s*()') or 1
end

-- The position after a comment that looks like a tag with the given name and rest, and that ends before a position.
local function after_comment(text, name, rest, place)
   if name:find('%-%-$') and rest == '' then return place end
   if rest:find('%-%-$') then place = place - 2 end
   return text:match('%-%->()', place - 1) or #text + 1
end

-- keep_spaces: also keeps texts of white space only.
function parsing.parse(text, keep_spaces, html)
   local open = { {} }
   local function add(node) table.insert(open[#open], node) end
   local function add_text(part)
      if keep_spaces or part:find('%S') then add(unescape(part)) end
   end
   local place = after_preface(text)
   while true do
      local first, kind, name, rest, slash, after = text:match('()<([%/!]?)([%w:%-_]+)(.-)(%/?)>()', place)
      if not first then break end
      if kind == '!' then
         place = after_comment(text, name, rest, after)
      else
         local before = text:sub(place, first - 1)
         if html then
            name = name:lower()
            if EMPTY[name] then slash = '/' end
         end
         add_text(before)
         if slash == '/' then
            add(setmetatable({ tag = name, attr = attributes_of(rest, html), empty = 1 }, Doc))
         elseif kind == '' then
            open[#open + 1] = setmetatable({ tag = name, attr = attributes_of(rest, html) }, Doc)
         else
            local closed = table.remove(open)
            if #open < 1 then error('nothing to close with ' .. name .. ':' .. before) end
            if closed.tag ~= name then error('trying to close ' .. closed.tag .. ' with ' .. name .. ' ' .. before) end
            add(closed)
         end
         place = after
      end
   end
   add_text(text:sub(place))
   if #open > 1 then error('unclosed ' .. open[#open].tag) end
   local nodes = open[1]
   return type(nodes[1]) == 'string' and nodes[2] or nodes[1]
end

function parsing.parse_html(text) return parsing.parse(text, false, true) end

return parsing
