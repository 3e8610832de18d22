-- Wraps actions that Python calls: each returns an error as text, or nil and its results.
local function finish(ok, problem, ...)
   if not ok then return tostring(problem) end
   return nil, problem, ...
end

return function(actions)
   for name, action in pairs(actions) do
      actions[name] = function(...) return finish(pcall(action, ...)) end
   end
   return actions
end
