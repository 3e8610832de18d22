-- seq(sequence): an object with seq's methods, and otherwise the elements' methods.
local is_callable = require('pl.types').is_callable

return function(seq)
   -- In seq these take the function first; as methods, the sequence.
   local as_method = {
      map = function(sequence, f, argument) return seq.map(f, sequence, argument) end,
      reduce = function(sequence, f, start) return seq.reduce(f, sequence, start) end,
   }

   local Wrapper = {}

   -- A result that is a sequence is wrapped; others are returned unchanged.
   local function wrapped(result, ...)
      if is_callable(result) then return setmetatable({ iter = result }, Wrapper) end
      return result, ...
   end

   function Wrapper.__call(wrapper) return wrapper.iter() end

   function Wrapper.__index(_, name)
      local f = as_method[name] or seq[name]
      return function(wrapper, ...)
         if f then return wrapped(f(wrapper.iter, ...)) end
         return wrapped(seq.mapmethod(wrapper.iter, name, ...))
      end
   end

   setmetatable(seq, {
      -- extra: passed to the iterator in each call.
      __call = function(_, sequence, extra)
         if not is_callable(sequence) then
            if type(sequence) ~= 'table' then return sequence end
            sequence = seq.list(sequence)
         end
         if not extra then return wrapped(sequence) end
         return wrapped(function() return sequence(extra) end)
      end,
   })

   -- The lines of a file object, of a file given by name, or of 'STDIN'.
   function seq.lines(file, ...)
      local next_line, state
      if type(file) == 'string' and file ~= 'STDIN' then
         next_line, state = io.lines(file, ...)
      else
         if file == 'STDIN' then file = io.stdin end
         if not file.read then error('Pass either a string or a file-like object', 2) end
         next_line, state = file:lines(...)
      end
      if not state then return wrapped(next_line) end
      return wrapped(function() return next_line(state) end)
   end

   -- Gives all functions the methods of sequences.
   function seq.import()
      debug.setmetatable(function() end, {
         __index = function(_, name)
            return as_method[name] or seq[name]
               or function(sequence, ...) return seq.mapmethod(sequence, name, ...) end
         end,
      })
   end

   return seq
end
