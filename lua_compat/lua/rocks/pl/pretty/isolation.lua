-- Runs a chunk without hooks and without methods of strings, so that source that is data can do little.
local isolation = {}

local function finish(hook, strings, ...)
   debug.setmetatable('', strings)
   if hook[1] and hook[1] ~= 'external hook' then debug.sethook(unpack(hook)) end
   return ...
end

-- As pcall. Where the sandbox has taken these functions away, there is nothing to guard against.
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
