-- env: the globals of Torch7's prompt before trepl. print, who, import and setprintlevel are trepl's, as they are in
-- Torch7 after trepl is loaded; env's greeting is omitted.
exit = exit or os.exit

-- Loads the packages that Torch7's prompt used to load.
function loaddefaultlibs()
   for _, name in ipairs{ 'torch', 'xlua', 'sys', 'paths', 'dok' } do require(name) end
end

loaddefaultlibs()

-- table() makes a table whose methods are the functions of Lua's table.
setmetatable(_G.table, { __call = function()
   local made = {}
   for name, f in pairs(_G.table) do made[name] = f end
   return made
end })

return true
