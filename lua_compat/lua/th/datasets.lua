-- Finds the user's files of data sets, for the packages that read them.
local paths = require 'paths'

local datasets = {}

-- The path of a file in the first of several places that has it. wanted: what to get if none has it; the environment
-- variable NAME_FOLDER can name the folder.
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
