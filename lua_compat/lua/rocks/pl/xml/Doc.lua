-- XML elements and their methods.
local Doc = { __type = 'doc' }
Doc.__index = Doc

function Doc.is_tag(value) return type(value) == 'table' and type(value.tag) == 'string' end

function Doc.new(tag, attributes)
   if type(tag) ~= 'string' then error("expected 'tag' to be a string value, got: " .. type(tag), 2) end
   attributes = attributes or {}
   if type(attributes) ~= 'table' then
      error("expected 'attr' to be a table value, got: " .. type(attributes), 2)
   end
   return setmetatable({ tag = tag, attr = attributes, last_add = {} }, Doc)
end

-- Calls f(tag, element) for an element and all elements in it.
function Doc.walk(document, depth_first, f)
   local seen = {}
   local function visit(element)
      if not depth_first then f(element.tag, element) end
      for _, child in ipairs(element) do
         if Doc.is_tag(child) then
            assert(not seen[child], 'recursion detected')
            seen[child] = true
            visit(child)
         end
      end
      if depth_first then f(element.tag, element) end
   end
   visit(document)
end

-- addtag moves down into the new element, up moves back, reset moves to the document.
function Doc:addtag(tag, attributes)
   local element = Doc.new(tag, attributes)
   self:add_child(element)
   table.insert(self.last_add, element)
   return self
end
function Doc:up()
   table.remove(self.last_add)
   return self
end
function Doc:reset()
   for i = #self.last_add, 1, -1 do self.last_add[i] = nil end
   return self
end

function Doc:add_direct_child(child)
   table.insert(self, child)
   return self
end
function Doc:add_child(child)
   local inner = self.last_add[#self.last_add] or self
   inner:add_direct_child(child)
   return self
end
Doc.text = Doc.add_child

function Doc:set_attribs(attributes)
   for name, value in pairs(attributes) do self.attr[name] = value end
   return self
end
function Doc:set_attrib(name, value)
   self.attr[name] = value
   return self
end
function Doc:get_attribs() return self.attr end

function Doc:child_with_name(tag)
   for _, child in ipairs(self) do
      if child.tag == tag then return child end
   end
end

function Doc:get_elements_with_name(tag, direct_ones)
   local found = {}
   local function search(element)
      for _, child in ipairs(element) do
         if type(child) == 'table' then
            if child.tag == tag then found[#found + 1] = child end
            if not direct_ones then search(child) end
         end
      end
   end
   search(self)
   return found
end

function Doc:first_childtag()
   for _, child in ipairs(self) do
      if Doc.is_tag(child) then return child end
   end
end

-- Iterates over the children that satisfy a predicate.
local function each(element, is_wanted)
   local i = 0
   return function()
      repeat i = i + 1 until element[i] == nil or is_wanted(element[i])
      return element[i]
   end
end

function Doc:children() return each(self, function() return true end) end
function Doc:childtags() return each(self, function(child) return type(child) == 'table' end) end

function Doc:matching_tags(tag, namespace)
   namespace = namespace or self.attr.xmlns
   return each(self, function(child)
      return (not tag or child.tag == tag) and (not namespace or namespace == child.attr.xmlns)
   end)
end

-- Replaces each element by the result of f; nil removes it.
function Doc:maptags(f)
   local i = 1
   while i <= #self do
      local child = self[i]
      if Doc.is_tag(child) then child = f(child) end
      if child == nil then
         table.remove(self, i)
      else
         self[i] = child
         i = i + 1
      end
   end
   return self
end

function Doc:get_text()
   local texts = {}
   for _, child in ipairs(self) do
      if type(child) == 'string' then texts[#texts + 1] = child end
   end
   return table.concat(texts)
end

return Doc
