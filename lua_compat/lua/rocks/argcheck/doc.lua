-- Collects the doc texts of functions' rules between record() and stop().
local doc = {}

function doc.record() doc.__record = {} end

function doc.stop()
   local text = table.concat(doc.__record)
   doc.__record = nil
   return text
end

function doc.doc(text)
   if doc.__record then table.insert(doc.__record, text) end
end

return setmetatable(doc, { __call = function(_, text) return doc.doc(text) end })
