-- Copying and comparing documents.
local copying = {}

-- replace(text, kind, parent): called for each text; kind is *TAG, *TEXT or the attribute's name.
function copying.clone(document, replace)
   local seen = {}
   local function copy(value, kind, parent)
      if type(value) == 'string' and replace then return replace(value, kind, parent) end
      if type(value) ~= 'table' then return value end
      if seen[value] then error('recursion detected') end
      seen[value] = true
      local copied = { tag = copy(value.tag, '*TAG', parent) }
      if value.attr then
         copied.attr = {}
         for name, attribute in pairs(value.attr) do
            if type(name) == 'string' then copied.attr[name] = copy(attribute, name, value) end
         end
      end
      for i = 1, #value do copied[#copied + 1] = copy(value[i], '*TEXT', value) end
      return setmetatable(copied, getmetatable(value))
   end
   return (copy(document))
end

-- Attributes must be equal, and also their order if both have one.
local function difference_of_attributes(a, b)
   for _, pair in ipairs{ { a.attr, b.attr }, { b.attr, a.attr } } do
      for name, value in pairs(pair[1]) do
         local other = pair[2][name]
         if type(name) == 'string' and other ~= value then return 'mismatch attrib' end
         if type(name) ~= 'string' and other ~= nil and other ~= value then return 'mismatch attrib order' end
      end
   end
end

-- Returns true, or false and the first difference.
function copying.compare(first, second)
   local seen = {}
   local function difference(a, b)
      if type(a) ~= type(b) then return 'type mismatch' end
      if type(a) == 'string' then return a ~= b and 'text ' .. a .. ' ~= text ' .. b or nil end
      if type(a) ~= 'table' then return 'not a document' end
      if seen[a] then return 'recursive document' end
      seen[a] = true
      if a.tag ~= b.tag then return 'tag  ' .. a.tag .. ' ~= tag ' .. b.tag end
      if #a ~= #b then return ('size %d ~= size %d for tag %s'):format(#a, #b, a.tag) end
      local found = difference_of_attributes(a, b)
      for i = 1, #a do found = found or difference(a[i], b[i]) end
      return found
   end
   local found = difference(first, second)
   if found then return false, found end
   return true
end

return copying
