-- pl.app: the running program.
local parse_flags = require 'pl.app.flags'
local path = require 'pl.path'
local utils = require 'pl.utils'

local app = {}

function app.script_name()
   local arguments = rawget(_G, 'arg')
   if arguments and arguments[0] then return arguments[0] end
   return utils.raise('No script name found')
end

local function script()
   local arguments = rawget(_G, 'arg')
   if arguments == nil then error('no command line args available\nWas this run from a main script?') end
   return arguments[0]
end

local function before(entries, templates) return entries .. (templates:find('^;') and '' or ';') .. templates end

-- Makes require look in the script's folder, or a subfolder of it, first. Returns that folder with a trailing slash.
function app.require_here(base)
   local folder = path.dirname(path.join(path.currentdir(), script())) .. '/'
   if base then folder = path.join(folder, base) .. '/' end
   package.path = before(('%s?.lua;%s?/init.lua'):format(folder, folder), package.path)
   package.cpath = before(folder .. '?.so', package.cpath)
   return folder
end

-- The path of a private file of the script: ~/.NAME/file.
function app.appfile(file)
   local name = path.splitext(path.basename(script()))
   local folder = path.join(path.expanduser('~'), '.' .. name)
   if not path.isdir(folder) and not path.mkdir(folder) then return utils.raise('cannot create ' .. folder) end
   return path.join(folder, file)
end

function app.platform()
   local uname = io.popen('uname')
   local name = uname:read()
   uname:close()
   return name == 'Darwin' and 'OSX' or name
end

-- The command that runs Lua, with its options, and its program.
function app.lua()
   local arguments = rawget(_G, 'arg') or error('not in a main program')
   local first = 0
   while arguments[first - 1] ~= nil do first = first - 1 end
   local words = {}
   for i = first, -1 do words[#words + 1] = utils.quote_arg(arguments[i]) end
   return table.concat(words, ' '), arguments[first]
end

-- with_values: flags whose value is the next argument; valid: the valid flags (app/flags.lua).
function app.parse_args(arguments, with_values, valid)
   arguments = arguments or rawget(_G, 'arg') or error("Not in a main program: 'arg' not found")
   return parse_flags(arguments, with_values, valid)
end

return app
