-- The connection to the notebook in which the code runs, if any; lua/th/prompt/notebook.lua opens it.
local cjson = require 'cjson'

local channel = {}

local publish, session
local shown = 0

-- publish: takes a message as JSON; session: a text that is unique to this kernel.
function channel.open(to, of) publish, session = to, of end

function channel.is_open() return publish ~= nil end

-- Sends a message of the notebook's protocol (display_data, execute_result), with content in several media types.
local function send(kind, data, metadata, id)
   if not publish then error('itorch: only a notebook can show this; th --install-kernel adds the kernel', 3) end
   publish(cjson.encode{ kind = kind, data = data, metadata = metadata or {}, id = id })
end

-- Shows data, texts by media type. Returns the id with which `update` can replace it.
function channel.display(data, metadata)
   shown = shown + 1
   local id = ('%s-%d'):format(session or '', shown)
   send('display_data', data, metadata, id)
   return id
end

-- Replaces the output with this id.
function channel.update(id, data, metadata) send('update_display_data', data, metadata, id) end

-- Shows the value of a cell.
function channel.result(data) send('execute_result', data) end

return channel
