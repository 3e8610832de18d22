-- coroutine.running as in Lua 5.2: outside of coroutines it returns the main one, and true.
local profile = require 'jit.profile'
local plain_running, create, clock = coroutine.running, coroutine.create, os.clock

-- Only a profiler's callback receives the main coroutine. If another profiler is running, an idle coroutine stands in.
local PATIENCE_SECONDS = 0.2
local main

local function find_main()
   profile.start('i1', function(thread) main = thread end)
   local deadline = clock() + PATIENCE_SECONDS
   while not main and clock() < deadline do end
   profile.stop()
   return main or create(function() end)
end

function coroutine.running()
   local thread = plain_running()
   if thread then return thread, false end
   main = main or find_main()
   return main, true
end
