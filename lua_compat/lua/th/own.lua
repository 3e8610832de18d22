-- Lua's mathematics, and select, as they were before the first script: what a script puts into math, or into select as
-- Moses' import does, our code does not see.
local own = {}
for name, value in pairs(math) do own[name] = value end
return { math = own, select = select }
