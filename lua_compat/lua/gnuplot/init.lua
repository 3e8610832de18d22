-- The package gnuplot: plots in files, drawn by matplotlib in a separate process (lua_compat/drawing). A figure is a
-- table that describes what to draw; it is sent to that process whenever gnuplot would have redrawn it.
require 'torch'
local ffi = require 'ffi'
local paths = require 'paths'
local arguments = require 'gnuplot.arguments'
local raw = require 'gnuplot.raw'
local cjson = require 'cjson'
local shared = require 'th.python'
local python = shared.functions

gnuplot = {}
local histogram = require 'gnuplot.histogram'

local figures, current = {}, nil
local told

local function new_figure(n)
   n = n or #figures + 1
   figures[n] = figures[n] or { settings = {} }
   current = n
   return figures[n]
end

local function current_figure() return current and figures[current] or new_figure() end

local SIZES = { png = { 640, 480 }, pdf = { 360, 216 }, svg = { 600, 480 }, eps = { 360, 252 } }

-- Before a script reads a file or starts a process, pending figures are drawn (th/files.lua).
local function settle(path) python.figures_settle(path or '') end

-- A figure as JSON, and the numbers in it.
local function content_of(figure)
   local shapes, data = {}, {}
   for i, t in ipairs(figure.tensors) do
      local p, n = torch.data(t), t:nElement()
      shapes[i], data[i] = t:size():totable(), n > 0 and ffi.string(p, n * ffi.sizeof('double')) or ''
   end
   figure.content.shapes = shapes
   return cjson.encode(figure.content), unpack(data)
end

local function draw(figure, path, kind, size)
   if not figure.content then return end
   figure.number = figure.number or python.figure_number()
   local settings = cjson.encode(figure.settings)
   local function ask(...) return python.figure_draw(figure.number, path, kind, size[1], size[2], settings, ...) end
   if figure.is_new or not ask() then ask(content_of(figure)) end
   figure.is_new = false
   shared.settle = settle
end

local function refresh(figure)
   if figure.path then
      draw(figure, figure.path, figure.kind, SIZES[figure.kind])
   elseif not told then
      told = true
      io.stderr:write('gnuplot: there is no window to plot in: figures are seen in files '
         .. '(gnuplot.pngfigure, figprint)\n')
   end
end

local function file_figure(kind)
   return function(path, n)
      local folder = paths.dirname(path)
      if not paths.dirp(folder == '' and '.' or folder) then
         error(('cannot save to %s: directory does not exist'):format(path), 2)
      end
      local figure = new_figure(n)
      figure.path, figure.kind = path, kind
      return current
   end
end

gnuplot.pngfigure, gnuplot.pdffigure = file_figure 'png', file_figure 'pdf'
gnuplot.svgfigure, gnuplot.epsfigure = file_figure 'svg', file_figure 'eps'

-- Selects figure n (default: a new one) for plotting. Returns its number.
function gnuplot.figure(n)
   new_figure(n)
   return current
end

-- Writes the current figure to a file. Its suffix selects PNG, PDF, EPS or SVG.
function gnuplot.figprint(path)
   local kind = path:match('.+%.(.+)')
   if not SIZES[kind] then error('only eps, png, pdf and svg for figprint', 2) end
   draw(current_figure(), path, kind, kind == 'png' and { 1024, 768 } or SIZES[kind])
end

function gnuplot.plotflush(n)
   n = n or current
   if not n or not figures[n] then
      print('no figure ' .. tostring(n))
      return
   end
   refresh(figures[n])
end

function gnuplot.close(n)
   n = n or current
   if not n or not figures[n] then return end
   local figure = figures[n]
   if figure.path then refresh(figure) end
   if figure.number then python.figure_forget(figure.number) end
   figures[n] = nil
   if n == current then current = nil end
end

function gnuplot.closeall()
   for n in pairs(figures) do gnuplot.close(n) end
   figures, current = {}, nil
end

-- There is no terminal to choose; the type of a figure follows from its file name.
function gnuplot.setterm() end
gnuplot.setgnuplotterminal, gnuplot.setgnuplotexe = gnuplot.setterm, gnuplot.setterm

-- Contents of figures

local function plot_in_current(kind, series, more)
   local figure = current_figure()
   local content = { kind = kind, series = {} }
   figure.tensors = {}
   for i, one in ipairs(series) do
      local described = { legend = one.legend, format = one.format, first = #figure.tensors }
      for _, t in ipairs(one) do figure.tensors[#figure.tensors + 1] = t:double():contiguous():clone() end
      described.count = #one
      content.series[i] = described
   end
   for key, value in pairs(more or {}) do content[key] = value end
   figure.content, figure.is_new = content, true
   refresh(figure)
end

-- plot(y), plot(x, y), plot('name', x, y, 'style'), plot({...}, {...}), plot{{...}, {...}}
function gnuplot.plot(...) plot_in_current('lines', arguments.each(arguments.line, ...)) end

-- bar(y), bar(x, y)
function gnuplot.bar(...)
   local list = { ... }
   list[#list + 1] = '|'
   gnuplot.plot(list)
end

-- splot(z), splot(x, y, z), splot{'name', x, y, z}...: surfaces of matrices
function gnuplot.splot(...) plot_in_current('surfaces', arguments.each(arguments.surface, ...)) end

-- scatter3(x, y, z), scatter3{'name', x, y, z}...
function gnuplot.scatter3(...) plot_in_current('points', arguments.each(arguments.points, ...)) end

-- imagesc(matrix, palette): 'gray' (the default) or 'color'
function gnuplot.imagesc(...)
   local matrix, palette = arguments.picture(...)
   plot_in_current('picture', { { matrix } }, { palette = palette })
end

gnuplot.histc = histogram.counts

-- Plots a histogram, and returns it.
function gnuplot.hist(tensor, bins, low, high)
   local counts = histogram.counts(tensor, bins, low, high)
   local centres = torch.Tensor(#counts)
   for i = 1, #counts do centres[i] = counts[i].val end
   gnuplot.bar(centres, counts.raw)
   return counts
end

-- Settings of figures

local function set(change)
   local figure = current_figure()
   change(figure.settings)
   refresh(figure)
end

for _, name in ipairs{ 'title', 'xlabel', 'ylabel', 'zlabel' } do
   gnuplot[name] = function(text) set(function(settings) settings[name] = tostring(text) end) end
end
function gnuplot.grid(on) set(function(settings) settings.grid = on and true or false end) end
function gnuplot.logscale(on) set(function(settings) settings.log_y = on and true or false end) end

local HORIZONTAL = { left = true, right = true, center = true }
local VERTICAL = { top = true, bottom = true, middle = true }
function gnuplot.movelegend(horizontal, vertical)
   if not HORIZONTAL[horizontal] or not VERTICAL[vertical] then
      error('gnuplot.movelegend expects left, right or center, and top, bottom or middle', 2)
   end
   set(function(settings) settings.legend = { horizontal, vertical } end)
end

-- 'auto', 'image' or 'equal' (equal units), 'fill' (a square), or { left, right, bottom, top }; '' keeps a bound.
function gnuplot.axis(axis)
   if type(axis) == 'table' and #axis ~= 4 then
      print('axis should have 4 componets {xmin,xmax,ymin,ymax}')
      return
   end
   set(function(settings)
      if type(axis) == 'table' then
         local function bound(i) return tonumber(axis[i]) or cjson.null end
         settings.x_range, settings.y_range = { bound(1), bound(2) }, { bound(3), bound(4) }
      elseif axis == 'auto' then
         settings.aspect, settings.x_range, settings.y_range = nil, nil, nil
      elseif axis == 'image' or axis == 'equal' then
         settings.aspect = 'equal'
      elseif axis == 'fill' then
         settings.aspect = 'square'
      end
   end)
end

-- gnuplot commands: those that do the same as the functions above, and ranges, logarithmic axes and the legend.
function gnuplot.raw(text)
   local figure = current_figure()
   raw(text, figure.settings)
   if figure.content and figure.path then refresh(figure) end
end

return gnuplot
