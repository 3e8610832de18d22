-- When each tensor of a net is first written and last read, counted in calls of its modules' methods.
local utils = require 'optnet.utils'

local liveness = { NEVER = 0, ALWAYS = 10000 }
local NEVER, ALWAYS = liveness.NEVER, liveness.ALWAYS
local COMPUTES_FROM_BRANCHES = { ['nn.Concat'] = true, ['nn.Parallel'] = true, ['nn.DepthConcat'] = true }
local WRAPPED = { 'updateOutput', 'updateGradInput', 'accGradParameters', 'backward' }

local function last_of(module) return module.modules and module:get(module:size()) or module end

-- Records the tensors' lifetimes: written(t, name) and read(t, name) note a call that writes or reads t, or all tensors
-- in a list; next_call counts calls; keep(t) excludes t from sharing.
local function record()
   local lives, track, call = {}, {}, 1
   local function new(t, name)
      local life = { used = ALWAYS, defined = NEVER, name = name, tensor = t, ptr = torch.pointer(t:storage()) }
      lives[#lives + 1] = life
      return life
   end
   local function of(t) return track[torch.pointer(t:storage())] end
   local function first_written(t)
      local life = of(t)
      life.defined = life.defined == NEVER and call or math.min(call, life.defined)
   end
   local function last_read(t)
      local life = of(t)
      life.used = life.used == ALWAYS and call or math.max(call, life.used)
   end
   local function kept(t)
      local life = of(t)
      life.used, life.defined = ALWAYS, -ALWAYS
   end
   return lives, {
      written = function(t, name) utils.keepTrack(t, track, new, first_written, name) end,
      read = function(t, name) utils.keepTrack(t, track, new, last_read, name) end,
      keep = function(t) utils.keepTrack(t, track, new, kept) end,
      next_call = function() call = call + 1 end,
   }
end

local function watch_forward(m, record_of, inference)
   local compute, name = m.updateOutput, tostring(m)
   function m:updateOutput(input)
      if inference then
         record_of.read(input, name)
         if not self.modules then
            record_of.written(self.output, name)
         elseif COMPUTES_FROM_BRANCHES[torch.typename(self)] then
            record_of.written(self.output, name)
            for _, branch in ipairs(self.modules) do record_of.written(last_of(branch).output, name) end
         end
      end
      record_of.next_call()
      return compute(self, input)
   end
end

local function watch_backward(m, record_of)
   for i = 2, #WRAPPED do
      local compute = m[WRAPPED[i]]
      m[WRAPPED[i]] = function(self, input, gradOutput, scale)
         if not torch.isTypeOf(self, 'nn.Sequential') then
            record_of.read(gradOutput, tostring(self))
            record_of.written(self.gradInput, tostring(self))
         end
         record_of.next_call()
         return compute(self, input, gradOutput, scale)
      end
   end
end

-- The lifetimes of the tensors of a net that has processed this input before, in order of occurrence.
function liveness.of(net, input, mode)
   local lives, record_of = record()
   net:apply(function(m)
      watch_forward(m, record_of, mode == 'inference')
      watch_backward(m, record_of)
   end)
   local out = net:forward(input)
   local grad
   if mode == 'training' then
      grad = utils.recursiveClone(out)
      net:backward(input, grad)
   end
   record_of.keep(input)
   if grad then record_of.keep(grad) end
   net:apply(function(m)
      for _, method in ipairs(WRAPPED) do m[method] = nil end
   end)
   return lives
end

return liveness
