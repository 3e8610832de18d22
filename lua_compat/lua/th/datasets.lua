-- The files of data sets that the user has, for packages that read them.
local paths = require 'paths'

local datasets = {}

-- The path of a file in the first of the positions that has it. ``wanted``: what to get where none has; the variable
-- NAME_FOLDER of a package `name` is to say where it is.
function datasets.find(name, file, places, wanted)
   for _, place in ipairs(places) do
      local path = paths.concat(place, file)
      if paths.filep(path) then return path end
   end
   error(('%s: no file %s in %s: get %s and name its folder in %s_FOLDER'):format(name, file,
      table.concat(places, ', '),
      wanted, name:upper()), 0)
end

return datasets
