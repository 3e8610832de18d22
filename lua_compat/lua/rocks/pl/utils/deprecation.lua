-- Deprecation warnings.
local checks = require 'pl.utils.checks'

local deprecation = {}

local function to_warn(message, trace)
   local warn = rawget(_G, 'warn')
   if not warn then return end
   if trace then warn(message, '\n', trace) else warn(message) end
end
local report = to_warn

function deprecation.set_deprecation_func(f)
   if f ~= nil then checks.assert_arg(1, f, 'function') end
   report = f or function() end
end

function deprecation.raise_deprecation(options)
   checks.assert_arg(1, options, 'table')
   local message = options.message
   if type(message) ~= 'string' then error("field 'message' of the options table must be a string", 2) end
   local trace
   if not options.no_trace then trace = debug.traceback('', 2):match('[\n%s]*(.-)$') end
   local when = {}
   if options.deprecated_after then when[1] = 'deprecated after ' .. options.deprecated_after end
   if options.version_removed then when[#when + 1] = 'scheduled for removal in ' .. options.version_removed end
   if #when > 0 then message = ('%s (%s)'):format(message, table.concat(when, ', ')) end
   if options.source then
      message = ('[%s] %s'):format(options.source, message)
   elseif message:sub(1, 1) == '@' then
      error("message cannot start with '@'", 2) -- warn takes such texts as commands
   end
   report(message, trace)
end

return deprecation
