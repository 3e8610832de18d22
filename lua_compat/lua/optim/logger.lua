-- Logs named numbers to a file, one row per step.
local paths = require 'paths'
local python = require('th.python').functions

local Logger = torch.class('optim.Logger')

-- Without a filename it logs to stdout; `timestamp` adds the time to the name.
function Logger:__init(filename, timestamp)
   if filename then
      self.name = filename
      local folder = paths.dirname(filename)
      assert(paths.dirp(folder) or paths.mkdir(folder))
      if timestamp then filename = filename .. '-' .. os.date('%Y_%m_%d_%X') end
      self.file = assert(io.open(filename, 'w'))
      self.epsfile = self.name .. '.eps'
   else
      self.file = io.stdout
      self.name = 'stdout'
      print('<Logger> warning: no path provided, logging to std out')
   end
   self.empty = true
   self.symbols, self.styles, self.names, self.idx = {}, {}, {}, {}
   self.figure = nil
   self.showPlot = true
   self.plotRawCmd = nil
   self.defaultStyle = '+'
   self.logscale = false
end

local function start_column(self, key, title)
   self.file:write(title .. '\t')
   self.symbols[key] = {}
   self.styles[key] = { self.defaultStyle }
   self.names[key] = title
   self.idx[title] = key
end

-- Sets the titles of the columns, for rows that are lists.
function Logger:setNames(names)
   self.empty = false
   self.names, self.nsymbols = names, #names
   for column, name in pairs(names) do start_column(self, column, name) end
   self.file:write('\n')
   self.file:flush()
   return self
end

-- Adds a row: a list if there are names, otherwise a table by title. Without names, the first row determines the
-- titles.
function Logger:add(symbols)
   if self.empty then
      self.empty = false
      self.nsymbols = #symbols
      for name in pairs(symbols) do start_column(self, name, name) end
      self.file:write('\n')
   end
   for _, value in pairs(symbols) do
      if type(value) == 'number' then
         self.file:write(('%11.4e\t'):format(value))
      elseif type(value) == 'string' then
         self.file:write(value .. '\t')
      else
         xlua.error('can only log numbers and strings', 'Logger')
      end
   end
   self.file:write('\n')
   self.file:flush()
   for key, value in pairs(symbols) do table.insert(self.symbols[key], value) end
end

-- gnuplot styles, one or a list of them for each symbol.
function Logger:style(symbols)
   for name, style in pairs(symbols) do
      if type(style) ~= 'string' and type(style) ~= 'table' then
         xlua.error('style should be a string or a table of strings', 'Logger')
      end
      self.styles[name] = type(style) == 'string' and { style } or style
   end
   return self
end

function Logger:setlogscale(state) self.logscale = state end

function Logger:display(state) self.showPlot = state end

local function curves(self, names)
   local plots = {}
   local function add(key)
      local list = self.symbols[key]
      if #list < 2 then return end
      for _, style in ipairs(self.styles[key]) do
         table.insert(plots, { self.names[key], torch.Tensor(list), style })
      end
   end
   if names[1] then
      for _, name in ipairs(names) do add(self.idx[name]) end
   else
      for key in pairs(self.symbols) do add(key) end
   end
   return plots
end

local function set(self)
   if self.logscale then gnuplot.logscale('on') end
   if self.plotRawCmd then gnuplot.raw(self.plotRawCmd) end
   gnuplot.grid('on')
   gnuplot.title('<Logger::' .. self.name .. '>')
end

-- Plots the named symbols (default: all) to name.eps with the package gnuplot. Without matplotlib it warns, once.
function Logger:plot(...)
   local can_draw, problem = pcall(python.check_figures)
   if not can_draw then
      if not self.warned then
         print('<Logger> warning: cannot plot: ' .. problem)
         self.warned = true
      end
      return
   end
   require 'gnuplot'
   local plots = curves(self, { ... })
   if #plots == 0 then return end
   if self.showPlot then
      self.figure = gnuplot.figure(self.figure)
      set(self)
      gnuplot.plot(plots)
   end
   if self.epsfile then
      local figure = gnuplot.epsfigure(self.epsfile)
      set(self) -- set before plotting, so that the figure is drawn only once
      gnuplot.plot(plots)
      gnuplot.close(figure)
   end
end
