-- Plots with bokeh, shown in a notebook or saved as HTML pages.
local cjson = require 'cjson'
local channel = require 'itorch.channel'
local python = require('th.python').functions

local Plot = {}
setmetatable(Plot, { __call = function(self) return self.new() end })

local function text_of(plot) return 'a plot: ' .. (plot._title or 'Untitled Plot') end

function Plot.new()
   return setmetatable({ glyphs = {}, tooltips = {} }, { __index = Plot, __tostring = text_of })
end

-- A list of numbers from a table or a one-dimensional tensor.
local function numbers(x, what)
   if torch.isTensor(x) and x:dim() == 1 then return torch.DoubleTensor(x:size()):copy(x):totable() end
   if type(x) ~= 'table' then error(('%s has to be a tensor of one dimension or a table'):format(what), 4) end
   return x
end

-- Columns of equal length, by name.
local function columns(values)
   local found, length = {}, nil
   for name, value in pairs(values) do
      found[name] = numbers(value, name)
      length = length or #found[name]
      if #found[name] ~= length then error('all lists of numbers have to be of the same length', 3) end
   end
   return found
end

-- JSON has neither NaN nor infinity, so numbers are sent as text.
local function encoded(list)
   if type(list[1]) ~= 'number' then return list end
   local texts = {}
   for i, x in ipairs(list) do texts[i] = ('%.17g'):format(x) end
   return { numbers = table.concat(texts, ' ') }
end

function Plot:_add(kind, data, settings)
   self.glyphs[#self.glyphs + 1] = { kind = kind, columns = data, settings = settings }
   return self
end

-- color: a name, an HTML colour, or a table with one for each point; data: further columns, for hover_tool.
local function at_points(kind)
   return function(self, x, y, color, legend, data)
      local found = columns{ x = x, y = y }
      for name, list in pairs(data or {}) do found[name] = numbers(list, name) end
      return self:_add(kind, found, { color = color or 'red', legend = legend or 'unnamed' })
   end
end
Plot.circle, Plot.line, Plot.triangle = at_points('circle'), at_points('line'), at_points('triangle')
Plot.add = Plot.circle

-- x, y, text and angle: lists, or a single value for all.
function Plot:text(x, y, text, angle, color, font_size, align, baseline)
   local found, length = {}, 1
   for name, value in pairs{ x = x, y = y, text = text, angle = angle } do
      local single = type(value) == 'number' or type(value) == 'string'
      found[name] = single and { value } or numbers(value, name)
      length = math.max(length, #found[name])
   end
   for _, list in pairs(found) do
      for i = #list + 1, length do list[i] = list[1] end
   end
   for i, piece in ipairs(found.text) do found.text[i] = tostring(piece) end
   return self:_add('text', found, { text_color = color, text_font_size = font_size, text_align = align,
      text_baseline = baseline })
end

local COLORS = { 'red', 'blue', 'green', 'yellow', 'black', 'brown', 'orange', 'pink', 'magenta', 'purple' }

-- Points with one colour for each label.
function Plot:gscatter(x, y, labels, legend)
   local places, count = {}, 0
   local data = columns{ x = x, y = y, label = labels or torch.zeros(#numbers(x, 'x')) }
   for i, label in ipairs(data.label) do
      if not places[label] then
         count = count + 1
         self:circle({}, {}, COLORS[1 + (count - 1) % #COLORS], ('Class %s'):format(label))
         places[label] = self.glyphs[#self.glyphs].columns
      end
      table.insert(places[label].x, data.x[i])
      table.insert(places[label].y, data.y[i])
   end
   return self:legend(labels ~= nil and legend ~= false)
end

local function between_corners(kind)
   return function(self, x0, y0, x1, y1, color, legend)
      return self:_add(kind, columns{ x0 = x0, y0 = y0, x1 = x1, y1 = y1 },
         { color = color or 'red', legend = legend or 'unnamed' })
   end
end
Plot.segment, Plot.quad = between_corners('segment'), between_corners('quad')

-- Arrows of U and V, one for each element, at x = its row and y = its column; scaling: the factor by which they are
-- shortened.
function Plot:quiver(U, V, color, legend, scaling)
   if U:dim() ~= 2 or not U:isSameSizeAs(V) then error('U and V have to be matrices of the same size', 2) end
   local rows, cols = U:size(1), U:size(2)
   local u, v = torch.div(U:double(), scaling or 40):view(-1),
      torch.div(V:double(), scaling or 40):view(-1)
   local x0 = torch.range(1, rows):view(rows, 1):expand(rows, cols):contiguous():view(-1)
   local y0 = torch.range(1, cols):view(1, cols):expand(rows, cols):contiguous():view(-1)
   local x1, y1 = x0 + u, y0 + v
   self:segment(x0, y0, x1, y1, color, legend)
   -- arrow heads: a tenth of the arrow in length and width
   for _, side in ipairs{ 1 / 20, -1 / 20 } do
      self:segment(x1 - u / 10 - v * side, y1 - v / 10 + u * side, x1, y1, color)
   end
   return self
end

function Plot:histogram(x, bins, min, max, color, legend)
   min, max, bins = min or x:min(), max or x:max(), bins or 100
   if min ~= min or max ~= max then error('a histogram cannot hold NaN', 2) end
   local heights = torch.histc(x, bins, min, max)
   local left = torch.range(0, bins - 1):mul((max - min) / bins):add(min)
   return self:quad(left, torch.zeros(bins), left + (max - min) / bins, heights, color, legend)
end
Plot.hist = Plot.histogram

function Plot:title(text)
   self._title = text or self._title
   return self
end

function Plot:xaxis(text)
   self._xaxis = text or self._xaxis
   return self
end

function Plot:yaxis(text)
   self._yaxis = text or self._yaxis
   return self
end

-- Shows or hides the legend.
function Plot:legend(there)
   self._legend = there
   return self
end

-- tooltips: pairs of a name and what it shows, such as { 'place', '@x @y' }.
function Plot:hover_tool(tooltips)
   if type(tooltips) ~= 'table' then error('hover_tool: a table of pairs is expected', 2) end
   self.tooltips[#self.tooltips + 1] = tooltips
   return self
end

function Plot:_description()
   local glyphs = {}
   for i, glyph in ipairs(self.glyphs) do
      local data = {}
      for name, list in pairs(glyph.columns) do data[name] = encoded(list) end
      glyphs[i] = { kind = glyph.kind, columns = data, settings = glyph.settings }
   end
   return cjson.encode{ title = self._title or 'Untitled Plot', xaxis = self._xaxis, yaxis = self._yaxis,
      legend = self._legend or false, tooltips = self.tooltips, glyphs = glyphs }
end

local has_library = false -- whether bokeh's JavaScript has been sent to this notebook

-- Shows the plot; with an id, it replaces the output with that id.
function Plot:draw(id)
   if not channel.is_open() then return self end
   local data = { ['text/plain'] = text_of(self),
      ['text/html'] = python.plot_fragment(self:_description(), not has_library) }
   has_library = true
   if id then channel.update(id, data) end
   self._id = id or channel.display(data)
   return self
end

function Plot:redraw() return self:draw(self._id) end

function Plot:toHTML() return python.plot_page(self:_description()) end

function Plot:save(path)
   if type(path) ~= 'string' or paths.dirp(path) then error('save: the name of a file is expected', 2) end
   local file = assert(io.open(path, 'w'))
   file:write(self:toHTML())
   file:close()
   return self
end

return Plot
