-- Objects as bytes (a CharStorage) and back: what is sent from one Lua state to another is a copy.
return require('threads.serializer')(function() end)
