-- Converts objects to bytes (a CharStorage) and back, so that one Lua state sends copies to another.
return require('threads.serializer')(function() end)
