-- Lua's mathematics as it was before the first script: what a script puts into math, our code does not see.
local own = {}
for name, value in pairs(math) do own[name] = value end
return { math = own }
