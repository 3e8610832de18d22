-- Running other programs, and ending this one.
local compat = require 'pl.compat'
local files = require 'pl.utils.files'

local processes = {}

local function complain(format, ...) io.stderr:write(format:format(...), '\n') end

-- Ends the program: with a status and an optional message, or with a message and status 255.
function processes.quit(status, ...)
   if type(status) == 'string' then
      complain(status, ...)
      status = -1
   elseif select('#', ...) > 0 and (...) then
      complain(...)
   end
   os.exit(status, true)
end

-- Quotes an argument for the shell; a list of arguments becomes one text.
function processes.quote_arg(argument)
   if type(argument) == 'table' then
      local quoted = {}
      for i, one in ipairs(argument) do quoted[i] = processes.quote_arg(one) end
      return table.concat(quoted, ' ')
   end
   if argument ~= '' and not argument:find('[^a-zA-Z0-9@%+=:,%./%-_]') then return argument end
   return "'" .. argument:gsub("'", [['\'']]) .. "'"
end

local function contents(name, binary)
   local text = files.read(name, binary)
   os.remove(name)
   return text or ''
end

-- Whether a command succeeded, its exit status, and what it wrote to stdout and stderr.
function processes.executeex(command, binary)
   local output, errors = os.tmpname(), os.tmpname()
   local quote = processes.quote_arg
   local ok, status = compat.execute(command .. ' > ' .. quote(output) .. ' 2> ' .. quote(errors))
   return ok, status, contents(output, binary), contents(errors, binary)
end

return processes
