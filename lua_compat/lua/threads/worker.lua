-- The loop of a pool's thread: runs jobs from the pool's queue or its own until they are closed.
local messages = require 'threads.messages'
local python = require('th.python').functions

-- The tag of a message that is not a job: the thread switches to its other queue.
local SWITCH = 0

-- Called with the ids of the queues. A pool starts in specific mode.
local function serve(id, serialization, common, own, results)
   __threadid = id
   local serializer = require(serialization)
   local function answer(tag, ok, ...)
      messages.put(results, tag, serializer.save{ ok, id, select('#', ...), ... })
   end
   local function do_job(bytes)
      local job = serializer.load(bytes)
      return job[1](unpack(job, 3, 2 + job[2]))
   end

   local queue = own
   while true do
      local tag, bytes = messages.take(queue)
      if tag == nil then return end
      if tag == SWITCH then
         queue = queue == own and common or own
      else
         -- sending a job's results may fail, too
         local function result(...) answer(tag, ...) end
         local function do_and_answer() result(xpcall(do_job, messages.with_traceback, bytes)) end
         local sent, problem = xpcall(do_and_answer, messages.with_traceback)
         if not sent then answer(tag, false, problem) end
      end
   end
end

-- Called in the thread. If it cannot continue, those who wait for a result are told.
local function work(id, serialization, common, own, results)
   local ok, problem = xpcall(serve, messages.with_traceback, id, serialization, common, own, results)
   if not ok then
      python.queue_close(results)
      error(problem, 0)
   end
end

return { work = work, SWITCH = SWITCH }
