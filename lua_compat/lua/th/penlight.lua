-- Penlight's names (stringx, tablex, path, List ...) as globals that are loaded when first read, if Penlight is
-- installed: Torch7's th looks for it at every start. A script's own pl.lua is not mistaken for it.
local INTO_GLOBALS = 'pl.import_into'
if not package.searchpath(INTO_GLOBALS, package.path) or not pcall(function() require(INTO_GLOBALS)(_G) end) then
   return
end

-- 'format' % values: Penlight's module text gives strings this operator, and is loaded when one asks for it.
local strings = getmetatable('')
if strings.__mod == nil then
   function strings.__mod(format, values)
      strings.__mod = nil
      require('pl.text').format_operator()
      return format % values
   end
end
