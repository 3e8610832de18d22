-- torch.Timer: real, user and system seconds.
local class = require 'torch.core.class'
local python = require('th.python').functions

local states = setmetatable({}, { __mode = 'k' })
local proto = newproxy(true)

local function now()
   local real, user, sys = python.process_clock()
   return { real = real, user = user, sys = sys }
end

local function since(state)
   local clock, total = now(), {}
   for kind, seconds in pairs(state.total) do
      total[kind] = seconds + (state.running and clock[kind] - state.start[kind] or 0)
   end
   return total
end

local Timer = class.newmetatable('torch.Timer', nil, function()
   local ud = newproxy(proto)
   states[ud] = { running = true, start = now(), total = { real = 0, user = 0, sys = 0 } }
   return ud
end, nil, nil, nil, debug.getmetatable(proto))

function Timer:reset()
   local state = states[self]
   state.start, state.total = now(), { real = 0, user = 0, sys = 0 }
   return self
end

function Timer:stop()
   local state = states[self]
   if state.running then state.total, state.running = since(state), false end
   return self
end

function Timer:resume()
   local state = states[self]
   if not state.running then state.start, state.running = now(), true end
   return self
end

function Timer:time() return since(states[self]) end

function Timer:__tostring__()
   return ('torch.Timer [status: %s]'):format(states[self].running and 'running' or 'stopped')
end
