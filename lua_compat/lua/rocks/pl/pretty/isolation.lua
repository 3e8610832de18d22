-- Runs a chunk without hooks and without string methods, so that source that is meant as data can do little.
local isolation = {}

local function finish(hook, strings, ...)
   debug.setmetatable('', strings)
   if hook[1] and hook[1] ~= 'external hook' then debug.sethook(unpack(hook)) end
   return ...
end

-- Like pcall. Where the sandbox has removed these functions, there is nothing to guard against.
function isolation.run(chunk)
   local ok, set_metatable = pcall(function() return debug.setmetatable end)
   if not ok or not set_metatable then return pcall(chunk) end
   local hook = { debug.gethook() }
   if hook[1] ~= 'external hook' then debug.sethook() end
   local strings = getmetatable('')
   debug.setmetatable('', nil)
   return finish(hook, strings, pcall(chunk))
end

return isolation
