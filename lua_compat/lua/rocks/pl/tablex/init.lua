-- pl.tablex: operations on tables.
local tablex = {}

for _, part in ipairs{ 'copying', 'comparing', 'finding', 'mapping', 'merging', 'ranges', 'iterating' } do
   for name, f in pairs(require('pl.tablex.' .. part)) do tablex[name] = f end
end

return tablex
