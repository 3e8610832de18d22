-- Named stopwatches.
local sys = require 'sys'

local Profiler = {}

-- mode 'off': prints nothing.
function xlua.Profiler(mode, verbose)
   local self = { events = {}, list = {}, off = mode == 'off', verbose = verbose or false }
   for name, method in pairs(Profiler) do self[name] = method end
   return self
end

function Profiler:start(name, fps)
   local event = self.events[name]
   if not event then
      event = { name = name }
      self.events[name] = event
      table.insert(self.list, event)
   end
   event.cpu, event.real = os.clock(), sys.clock()
   if fps == 'fps' then event.fps = true end
   if self.verbose then
      io.write('<' .. name .. '>')
      io.flush()
   end
end

function Profiler:setColor(name, color)
   if not self.events[name] then error(('# ERROR: There is no such profiler - %s, create it first'):format(name), 2) end
   self.events[name].color = color
end

-- Seconds since start on the clock `field`; stored under that name with a d appended.
local function since_start(field, now)
   return function(self, name, divider)
      local event = self.events[name]
      event[field .. 'd'] = (now() - event[field]) / (divider or 1)
      return event[field .. 'd']
   end
end
Profiler.cpu = since_start('cpu', os.clock)
Profiler.real = since_start('real', sys.clock)

function Profiler:lap(name, divider)
   local real, cpu = self:real(name, divider), self:cpu(name, divider)
   if self.verbose then
      io.write('\r')
      self:print(name)
   end
   return real, cpu
end

function Profiler:format(name)
   local event = self.events[name]
   return ('$ real | cpu: %f | %f <%s>'):format(event.reald or -1, event.cpud or -1, name)
end

function Profiler:print(name)
   if not self.off then print(self:format(name)) end
end

function Profiler:formatAll()
   local lines = { '$ profiler report:' }
   for _, event in ipairs(self.list) do
      local line = ('$ real %f | cpu %f <%s>'):format(event.reald or -1, event.cpud or -1, event.name)
      if event.fps then line = line .. (' = %f fps'):format(1 / (event.reald or -1)) end
      lines[#lines + 1] = line
   end
   return table.concat(lines, '\n')
end

function Profiler:printAll()
   if not self.off then print(self:formatAll()) end
end

function Profiler:displayAll() error('xlua.Profiler: displayAll needs a Qt window, which th does not have', 2) end
