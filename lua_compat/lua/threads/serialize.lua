-- Objects as bytes (a CharStorage) and back: what goes from one Lua state to another is a copy.
return require('threads.serializer')(function() end)
