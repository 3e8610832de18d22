-- env: the globals of Torch7's prompt before trepl. print, who, import and setprintlevel are trepl's here, as after
-- trepl in Torch7; the greeting that env printed is left out.
exit = exit or os.exit

-- Loads the packages that Torch7's prompt used to load.
function loaddefaultlibs()
   for _, name in ipairs{ 'torch', 'xlua', 'sys', 'paths' } do require(name) end
end

return true
