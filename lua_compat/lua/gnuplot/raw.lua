-- gnuplot.raw: handles the gnuplot commands that correspond to a figure's settings. Others are skipped with a warning.
local cjson = require 'cjson'

local warned = {}
local function leave_out(command)
   if warned[command] then return end
   warned[command] = true
   io.stderr:write(("gnuplot.raw: left out, because figures are drawn by matplotlib: %s\n"):format(command))
end

local function unquoted(text) return (text:gsub('^%s*["\'](.*)["\']%s*$', '%1')) end

local function range(text)
   local low, high = text:match('%[%s*([^:%s]*)%s*:%s*([^%]%s]*)%s*%]')
   return { tonumber(low) or cjson.null, tonumber(high) or cjson.null }
end

local setters = {}
for _, name in ipairs{ 'title', 'xlabel', 'ylabel', 'zlabel' } do
   setters[name] = function(settings, rest) settings[name] = unquoted(rest) end
end
function setters.xrange(settings, rest) settings.x_range = range(rest) end
function setters.yrange(settings, rest) settings.y_range = range(rest) end
function setters.grid(settings) settings.grid = true end
function setters.logscale(settings, rest)
   if rest == '' then rest = 'xy' end
   if rest:find('^[xy]*x') then settings.log_x = true end
   if rest:find('^[xy]*y') then settings.log_y = true end
end
setters.log = setters.logscale
function setters.key(settings, rest)
   if rest:find('off') then settings.no_legend = true end
   local horizontal = rest:match('left') or rest:match('right') or 'center'
   settings.legend = { horizontal, rest:match('top') or rest:match('bottom') or 'middle' }
end

local unsetters = {
   grid = function(settings) settings.grid = false end,
   key = function(settings) settings.no_legend = true end,
   logscale = function(settings) settings.log_x, settings.log_y = nil, nil end,
   title = function(settings) settings.title = nil end,
}

-- These would choose a terminal, a file or the tics. Figures know the first two; matplotlib chooses the tics.
local OF_NO_CONSEQUENCE = { term = true, terminal = true, output = true, mxtics = true, mytics = true, xtics = true,
   ytics = true, size = true, border = true, style = true, pointsize = true, samples = true }

return function(text, settings)
   for command in text:gmatch('[^;\n]+') do
      local verb, name, rest = command:match('^%s*(%a+)%s+(%a+)%s*(.-)%s*$')
      local setter = verb == 'set' and setters[name] or verb == 'unset' and unsetters[name]
      if setter then
         setter(settings, rest)
      elseif not ((verb == 'set' or verb == 'unset') and OF_NO_CONSEQUENCE[name]) and command:find('%S')
         and not command:find('^%s*%a+%s*$') then
         leave_out(command)
      end
   end
end
