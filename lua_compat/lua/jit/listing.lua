-- The output of jit.v and jit.bc: on(name) starts it, to a file ('-': stdout; default: stderr), and off() ends it.
-- Returns a function that makes such a pair from a jit.attach callback, write(output, ...), and its event.
local attach, open = jit.attach, io.open

return function(event, write)
   local output, own_file
   local function callback(...) write(output, ...) end
   local function off()
      attach(callback)
      if own_file then output:close() end
      output, own_file = nil, nil
   end
   local function on(name)
      off()
      own_file = name ~= nil and name ~= '-'
      output = own_file and assert(open(name, 'w')) or name == '-' and io.stdout or io.stderr
      attach(callback, event)
   end
   return on, off
end
