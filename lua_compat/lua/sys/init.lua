-- The package sys: clocks, the shell, script paths.
local paths = require 'paths'
local python = require('th.python').functions

sys = sys or {}

-- Seconds since the epoch.
function sys.clock() return python.wall_clock() end

local started
function sys.tic() started = python.wall_clock() end

-- Seconds since tic; if verbose, they are printed.
function sys.toc(verbose)
   local elapsed = python.wall_clock() - (started or python.wall_clock())
   if verbose then print(elapsed) end
   return elapsed
end

-- The output of a command, including errors, without surrounding white space.
local function output_of(command, what)
   io.stdout:flush()
   local pipe = assert(io.popen(command .. ' 2>&1'))
   local output = pipe:read(what or '*all') or ''
   pipe:close()
   return (output:gsub('^%s+', ''):gsub('%s+$', ''))
end
function sys.execute(command) return output_of(command) end
function sys.fexecute(command, what) return output_of(command, what) end

function sys.uname()
   if jit.os == 'OSX' then return 'macos' end
   return jit.os:lower()
end
sys.OS = sys.uname()

function sys.sleep(seconds) python.sleep(seconds) end
function sys.usleep(microseconds) python.sleep(microseconds / 1e6) end

function sys.isNaN(number) return number ~= number end

-- The folder and the name of the caller's source file.
function sys.fpath()
   local source = debug.getinfo(2, 'S').source:gsub('^@', '')
   local folder, name = source:match('^(.*)/([^/]*)$')
   return folder or '.', name or source
end

for _, name in ipairs{ 'dirname', 'basename', 'concat', 'filep', 'dirp' } do sys[name] = paths[name] end

-- The pieces of a text between matches of a pattern.
function sys.split(text, pattern)
   local pieces, start = {}, 1
   while true do
      local first, last = text:find(pattern, start)
      if not first then break end
      if first > 1 then pieces[#pieces + 1] = text:sub(start, first - 1) end
      start = last + 1
   end
   if start <= #text then pieces[#pieces + 1] = text:sub(start) end
   return pieces
end

sys.COLORS = require 'sys.colors'
for name, options in pairs{ ls = '', ll = '-l ', la = '-a ', lla = '-la ' } do
   sys[name] = function(folder) return sys.execute('ls ' .. options .. (folder or '')) end
end
sys.prefix = ''

return sys
