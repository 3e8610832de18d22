-- The package ltn12 (of LuaSocket): sources return pieces of text until nil, sinks consume them, filters transform
-- them.
local ltn12 = { source = {}, sink = {}, filter = {}, pump = {}, BLOCKSIZE = 2048 }
local source, sink, filter, pump = ltn12.source, ltn12.sink, ltn12.filter, ltn12.pump

function source.empty() return function() return nil end end

function source.error(problem) return function() return nil, problem end end

function source.string(text)
   if not text then return source.empty() end
   local place = 1
   return function()
      local piece = text:sub(place, place + ltn12.BLOCKSIZE - 1)
      place = place + ltn12.BLOCKSIZE
      if piece ~= '' then return piece end
   end
end

function source.table(pieces)
   local place = 0
   return function()
      place = place + 1
      return pieces[place]
   end
end

function source.file(file, problem)
   if not file then return source.error(problem or 'unable to open file') end
   return function()
      local piece = file:read(ltn12.BLOCKSIZE)
      if not piece then file:close() end
      return piece
   end
end

function source.cat(...)
   local sources, place = { ... }, 1
   return function()
      while sources[place] do
         local piece, problem = sources[place]()
         if piece then return piece end
         if problem then return nil, problem end
         place = place + 1
      end
   end
end

-- At the end a filter receives nil, and may then return what it has kept.
function source.chain(from, ...)
   local change, ended = filter.chain(...), false
   return function()
      while not ended do
         local piece, problem = from()
         if problem then return nil, problem end
         ended = piece == nil
         local changed = change(piece)
         if changed and changed ~= '' then return changed end
      end
   end
end

function source.simplify(from) return function() return (from()) end end

function sink.null() return function() return 1 end end

function sink.error(problem) return function() return nil, problem end end

function sink.table(pieces)
   pieces = pieces or {}
   return function(piece)
      if piece then pieces[#pieces + 1] = piece end
      return 1
   end, pieces
end

function sink.file(file, problem)
   if not file then return sink.error(problem or 'unable to open file') end
   return function(piece)
      if piece then return file:write(piece) end
      file:close()
      return 1
   end
end

function sink.chain(...)
   local changes = { ... }
   local to = table.remove(changes)
   local change = filter.chain(unpack(changes))
   return function(piece)
      local changed = change(piece)
      if changed and changed ~= '' then
         local ok, problem = to(changed)
         if not ok then return nil, problem end
      end
      return piece ~= nil and 1 or to(nil)
   end
end

function sink.simplify(to) return to end

function filter.chain(...)
   local filters = { ... }
   return function(piece)
      local ended = piece == nil
      for _, change in ipairs(filters) do
         local changed = piece and change(piece) or (not piece and nil)
         if ended then changed = (changed or '') .. (change(nil) or '') end
         piece = changed
         if piece == '' then piece = nil end
      end
      return piece
   end
end

function filter.cycle(low_level, context, extra)
   return function(piece)
      local changed
      changed, context = low_level(context, piece, extra)
      return changed
   end
end

function pump.step(from, to)
   local piece, problem = from()
   local ok, refused = to(piece, problem)
   if piece and ok then return 1 end
   return nil, problem or refused
end

function pump.all(from, to, step)
   step = step or pump.step
   while true do
      local ok, problem = step(from, to)
      if not ok then
         if problem then return nil, problem end
         return 1
      end
   end
end

return ltn12
