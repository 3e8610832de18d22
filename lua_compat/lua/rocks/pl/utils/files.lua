-- Reading a file whole.
local files = {}

-- Returns the text of a file, or nil and why there is none.
function files.read(name, binary)
   local file, problem = io.open(name, binary and 'rb' or 'r')
   if not file then return nil, problem end
   local text, why = file:read('*a')
   file:close()
   if not text then return nil, name .. ': ' .. why end
   return text
end

return files
