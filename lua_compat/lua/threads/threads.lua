-- Pools of threads. Jobs are sent to them as serialized functions; their results are passed to a function in this
-- thread.
local messages = require 'threads.messages'
local worker = require 'threads.worker'
local shared = require 'th.python'
local python = shared.functions

local Threads = {}
Threads.__index = Threads
setmetatable(Threads, { __call = function(_, ...) return Threads.new(...) end })

local serialization_name = 'threads.serialize'

-- Sets the package whose save and load new pools use. Returns its name.
function Threads.serialization(name)
   if name == nil then return serialization_name end
   if type(name) ~= 'string' then error('name of a package expected, got ' .. type(name), 2) end
   serialization_name = name
end

-- Pools that have not been terminated. A finaliser may run at any moment, so the finaliser of an unreferenced pool only
-- records it; the pool is terminated when that is safe.
local running = setmetatable({}, { __mode = 'k' })
local count = 0
local forsaken = {}

local function note_forsaken(pool) forsaken[#forsaken + 1] = pool end
jit.off(note_forsaken)

local function take_forsaken()
   local fresh = {}
   local list = forsaken
   forsaken = fresh
   return list
end
jit.off(take_forsaken)

local function terminate_or_say_why_not(pool)
   local ok, problem = pcall(pool.terminate, pool)
   if not ok then io.stderr:write('th: a pool of threads that was not terminated: ', tostring(problem), '\n') end
end

local function terminate_forsaken()
   for _, pool in ipairs(take_forsaken()) do terminate_or_say_why_not(pool) end
end

-- Before more threads than this are created, abandoned pools are terminated: a state takes a few MB.
local PLENTY = 16

local THREAD = [[require('threads.worker').work(%d, %q, %d, %d, %d)]]

-- N threads, each of which calls f1(id), then f2(id)...; also returns each thread's results of the last function.
function Threads.new(N, ...)
   if type(N) ~= 'number' or N < 1 then error('number of threads expected', 2) end
   if python.threads_alive() + N > PLENTY then collectgarbage() end
   terminate_forsaken()
   count = count + 1
   local self = setmetatable({
      N = N, number = count,
      serializer = require(serialization_name),
      endcallbacks = {}, last_job = 0, unfinished = 0,
      is_specific = true,
      common = python.threads_new('Queue', N), results = python.threads_new('Queue', N),
      own = {}, threads = {},
   }, Threads)
   running[self] = true
   for id = 1, N do
      self.own[id] = python.threads_new('Queue', N)
      self.threads[id] = python.thread_start(THREAD:format(id, serialization_name, self.common, self.own[id],
         self.results), shared.threads)
   end
   self.finaliser = newproxy(true)
   debug.getmetatable(self.finaliser).__gc = function() note_forsaken(self) end

   local results, functions = {}, { ... }
   if #functions == 0 then functions[1] = function() end end
   local ok, problem = pcall(function()
      for k, f in ipairs(functions) do
         local last = k == #functions
         for id = 1, N do
            self:addjob(id, f, last and function(...) results[#results + 1] = { ... } end or nil, id)
         end
      end
      self:specific(false)
   end)
   if not ok then
      self:close()
      error(problem, 0)
   end
   return self, results
end

function Threads:isrunning() return running[self] ~= nil end

local function check_running(self)
   if not running[self] then error('thread system is not running', 3) end
end

-- The queue for a job; id: the thread, in specific mode.
local function queue_of(self, id)
   if not self.is_specific then return self.common end
   local queue = type(id) == 'number' and self.own[id]
   if not queue then error('thread index expected', 3) end
   return queue
end

-- Whether jobs go to a certain thread. specific(flag) changes that for jobs added later.
function Threads:specific(flag)
   check_running(self)
   if flag == nil then return self.is_specific end
   if type(flag) ~= 'boolean' then error('boolean expected', 2) end
   self:synchronize()
   if flag == self.is_specific then return end
   for id = 1, self.N do
      messages.put(queue_of(self, id), worker.SWITCH, torch.CharStorage(1))
   end
   self.is_specific = flag
end

-- Whether addjob would return without waiting.
function Threads:acceptsjob(id)
   check_running(self)
   return python.queue_length(queue_of(self, id)) < self.N
end

function Threads:hasjob()
   check_running(self)
   return self.unfinished > 0
end

-- Always false: errors are raised where they are found.
function Threads:haserror() return false end

local function nothing() end

-- addjob([id,] callback [, endcallback [, arguments...]]); endcallback receives callback's results.
local function add(self, id, callback, endcallback, ...)
   if type(callback) ~= 'function' then error('function callback expected', 3) end
   if endcallback ~= nil and type(endcallback) ~= 'function' then
      error('function (or nil) endcallback expected', 3)
   end
   local queue = queue_of(self, id)
   local bytes = self.serializer.save{ callback, select('#', ...), ... }
   while python.queue_length(queue) >= self.N do self:dojob() end
   local job = self.last_job + 1
   self.last_job, self.endcallbacks[job], self.unfinished = job, endcallback or nothing, self.unfinished + 1
   messages.put(queue, job, bytes)
end

function Threads:addjob(...)
   check_running(self)
   if self.is_specific then return add(self, ...) end
   return add(self, nil, ...)
end

-- Waits until a job has been run, and calls its endcallback.
function Threads:dojob()
   check_running(self)
   if self.unfinished == 0 then error('there is no job to wait for', 2) end
   local job, bytes = messages.take(self.results)
   if not job then error('a thread of the pool has ended: what it wrote on stderr says why', 0) end
   local endcallback = self.endcallbacks[job]
   self.endcallbacks[job], self.unfinished = nil, self.unfinished - 1
   local result = self.serializer.load(bytes)
   local ok, id, n = result[1], result[2], result[3]
   if not ok then error(('[thread %d callback] %s'):format(id, result[4]), 0) end
   local ended, problem = xpcall(endcallback, messages.with_traceback, unpack(result, 4, 3 + n))
   if not ended then error(('[thread %d endcallback] %s'):format(id, problem), 0) end
end

function Threads:synchronize()
   if not running[self] then return end
   while self.unfinished > 0 do self:dojob() end
end

-- Ends the threads after their current jobs.
function Threads:close()
   running[self] = nil
   local queues = { self.common, self.results, unpack(self.own) }
   for _, queue in ipairs(queues) do python.queue_close(queue) end
   for _, thread in ipairs(self.threads) do python.thread_join(thread) end
   for _, queue in ipairs(queues) do python.threads_free('Queue', queue) end
end

-- Waits for all jobs, then ends the threads, even if a job failed.
function Threads:terminate()
   if not running[self] then return end
   local ok, problem = pcall(self.synchronize, self)
   self:close()
   if not ok then error(problem, 0) end
end

-- Called at the end of the script: ends all pools.
function Threads.finish()
   local left = take_forsaken()
   for pool in pairs(running) do left[#left + 1] = pool end
   table.sort(left, function(a, b) return a.number < b.number end)
   for _, pool in ipairs(left) do terminate_or_say_why_not(pool) end
end

return Threads
