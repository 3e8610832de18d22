-- The way to the notebook that the code runs in, if it does: lua/th/prompt/notebook.lua opens it.
local cjson = require 'cjson'

local channel = {}

local publish, session
local shown = 0

-- publish: takes a message as JSON; session: a text that no other kernel has.
function channel.open(to, of) publish, session = to, of end

function channel.is_open() return publish ~= nil end

-- Sends a message of the notebook's protocol (display_data, execute_result) with a picture or text in several types.
local function send(kind, data, metadata, id)
   if not publish then error('itorch: only a notebook can show this; th --install-kernel adds the kernel', 3) end
   publish(cjson.encode{ kind = kind, data = data, metadata = metadata or {}, id = id })
end

-- Shows data, a text by its media type; returns the name by which ``update`` replaces it.
function channel.display(data, metadata)
   shown = shown + 1
   local id = ('%s-%d'):format(session or '', shown)
   send('display_data', data, metadata, id)
   return id
end

-- Shows data in place of what has this name.
function channel.update(id, data, metadata) send('update_display_data', data, metadata, id) end

-- Shows the value of a cell.
function channel.result(data) send('execute_result', data) end

return channel
