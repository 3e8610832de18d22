-- The package display: panes with images, plots, text and sound. They go to a display server if one answers at the
-- configured address; otherwise into one HTML page, which a browser reloads by itself.
require 'image'
local cjson = require 'cjson'
local python = require('th.python').functions
local kernel = require('torch.core.kernels').of_tensors

local display = { url = 'http://localhost:8000/events', page = 'display.html' }

-- config: hostname and port of a server; page: the file used if no server answers (DISPLAY_PAGE, or display.html).
function display.configure(config)
   display.url = ('http://%s:%s/events'):format(config.hostname or '127.0.0.1', config.port or 8000)
   display.page = config.page or display.page
end
display.page = os.getenv('DISPLAY_PAGE') or display.page

local panes, places, count = {}, {}, 0
local announced

local function show_on_page(command)
   local place = places[command.id]
   if not place then
      place = #panes + 1
      places[command.id] = place
   end
   if command.title == nil and panes[place] then command.title = panes[place].title end
   panes[place] = command
   python.display_write_page(display.page, cjson.encode(panes))
   if not announced then
      announced = true
      io.stderr:write(('display: no server answers at %s; open %s in a browser\n'):format(display.url, display.page))
   end
end

local function pane(kind, id, title, content)
   if not id then
      count = count + 1
      id = ('pane_%d_%d'):format(os.time(), count)
   end
   local command = { command = 'pane', type = kind, id = id, title = title, content = content }
   if not python.display_post(display.url, cjson.encode(command)) then show_on_page(command) end
   return id
end

-- Scales the values from opts.min to opts.max (default: the smallest and largest) to 0..1.
local function normalized(img, opts)
   local low, high = opts.min or img:min(), opts.max or img:max()
   return torch.FloatTensor(img:size()):copy(img):add(-low):mul(1 / (high - low))
end

-- One image, or several: a table, four dimensions, or three whose first is not a number of colour channels.
function display.image(img, opts)
   opts = opts or {}
   if type(img) == 'table' then return display.images(img, opts) end
   if img:dim() == 4 or (img:dim() == 3 and img:size(1) > 3) then
      local list = {}
      for i = 1, img:size(1) do list[i] = img[i] end
      return display.images(list, opts)
   end
   local jpeg = image.compressJPG(normalized(img, opts):clamp(0, 1):mul(255):byte())
   return pane('image', opts.win, opts.title, { src = 'data:image/jpg;base64,' .. kernel.base64_of(jpeg),
      labels = opts._labels, width = opts.width })
end

-- Images side by side, opts.nperrow in a row; opts.labels: a text for each.
function display.images(images, opts)
   opts = opts or {}
   local labels, columns = opts.labels or {}, opts.nperrow or math.ceil(math.sqrt(#images))
   local channels, height, width, tiles = 1, 0, 0, {}
   for i, img in ipairs(images) do
      if opts.normalize then img = normalized(img, opts) end
      if img:dim() == 2 then img = img:view(1, img:size(1), img:size(2)) end
      tiles[i] = img
      channels = math.max(channels, img:size(1))
      height, width = math.max(height, img:size(2)), math.max(width, img:size(3))
   end
   local rows = math.ceil(#images / columns)
   local canvas = torch.FloatTensor(channels, rows * height, columns * width):fill(0.5)
   local shown = {}
   for i, img in ipairs(tiles) do
      local row, column = math.floor((i - 1) / columns), (i - 1) % columns
      canvas:narrow(2, row * height + 1, img:size(2)):narrow(3, column * width + 1, img:size(3)):copy(
         img:expand(channels, img:size(2), img:size(3)))
      if labels[i] then shown[#shown + 1] = { column / columns, row / rows, labels[i] } end
   end
   opts._labels = shown
   return display.image(canvas, opts)
end

-- JSON has no NaN or infinity.
local function finite(value)
   if type(value) == 'number' and (value ~= value or math.abs(value) == math.huge) then return cjson.null end
   return value
end

-- Plots columns of a tensor, or of a table of rows, over the first column. opts: labels (a name for each column),
-- title, xlabel...
function display.plot(data, opts)
   local options, rows = {}, {}
   for key, value in pairs(opts or {}) do options[key] = value end
   if torch.isTensor(data) then data = data:double():totable() end
   for i, row in ipairs(data) do
      rows[i] = {}
      for j = 1, #row do rows[i][j] = finite(row[j]) end
   end
   options.file = rows
   if options.labels then options.xlabel = options.xlabel or options.labels[1] end
   local win = options.win
   options.win = nil
   return pane('plot', win, options.title, options)
end

function display.text(text, opts)
   opts = opts or {}
   return pane('text', opts.win, opts.title, text)
end

local SOUNDS = { mp3 = true, wav = true, ogg = true, aac = true }

-- A sound file, or a tensor samples x channels (opts.rate samples per second, default 44100).
function display.audio(data, opts)
   opts = opts or {}
   local bytes, kind = torch.ByteTensor(), 'wav'
   if torch.isTensor(data) then
      if data:dim() ~= 2 then
         print('Warning: audio tensor has to be 2D Tensor of NSamples x NChannels. '
            .. 'Other tensor shapes are not supported')
         return
      end
      kernel.wave_of(bytes, data:double():contiguous(), opts.rate or 44100)
   elseif type(data) == 'string' then
      kind = data:match('%.([^.]+)$')
      if not SOUNDS[kind] then
         print('Warning: mp3, wav, ogg, aac files supported. But found extension: ' .. tostring(kind))
         return
      end
      kernel.read_bytes(bytes, data)
   else
      print('Warning: unknown input type. Need a Tensor, or a filename')
      return
   end
   return pane('audio', opts.win, opts.title, ('data:audio/%s;base64,%s'):format(kind, kernel.base64_of(bytes)))
end

return display
