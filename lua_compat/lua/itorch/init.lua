-- The package itorch: shows images, sound, video, plots and HTML in a Jupyter notebook. Outside of one, its plots can
-- still be saved as pages.
require 'image'
local channel = require 'itorch.channel'
local help = require 'th.prompt.help'
local kernel = require('torch.core.kernels').of_tensors

local itorch = { Plot = require 'itorch.Plot' }
_G.itorch = itorch
itorch.plot = itorch.Plot

local function base64_of_file(path)
   if not paths.filep(path) then error(('itorch: there is no file %s'):format(path), 3) end
   local bytes = torch.ByteTensor()
   kernel.read_bytes(bytes, path)
   return kernel.base64_of(bytes)
end

-- Shows one image (a file, HxW, 1xHxW or 3xHxW), or many (a list, KxHxW or KxCxHxW) side by side. opts: as for
-- image.toDisplayTensor.
function itorch.image(img, opts)
   if type(img) == 'string' then
      if img:match('%.svg$') then return itorch.svg(img) end
      img = image.load(img, 3)
   end
   if not torch.isTensor(img) and type(img) ~= 'table' then
      error(('itorch.image: a tensor, a table of tensors or a file is expected, not a %s'):format(torch.type(img)), 2)
   end
   local settings = { input = img, padding = 2 }
   if opts then
      settings = { input = img }
      for name, value in pairs(opts) do settings[name] = value end
   end
   local shown = image.toDisplayTensor(settings)
   local height, width = shown:size(shown:dim() - 1), shown:size(shown:dim())
   channel.display({ ['text/plain'] = ('a picture of %dx%d'):format(width, height),
      ['image/png'] = kernel.base64_of(image.compressPNG(shown)) },
      { ['image/png'] = { width = width, height = height } })
end

-- Sounds and videos are embedded in the notebook. The media type by file suffix.
local SOUNDS = { mp3 = 'mpeg', wav = 'wav', ogg = 'ogg', aac = 'aac' }
local VIDEOS = { mp4 = 'mp4', ogv = 'ogg', ogg = 'ogg', webm = 'webm' }

local function play(element, path, kinds, accepted)
   local kind = kinds[path:match('%.(%w+)$')]
   if not kind then error(('itorch.%s: %s is none of %s'):format(element, path, accepted), 3) end
   channel.display{ ['text/plain'] = path, ['text/html'] = ('<%s controls src="data:%s/%s;base64,%s"></%s>'):format(
      element, element, kind, base64_of_file(path), element) }
end

function itorch.audio(path) play('audio', path, SOUNDS, 'mp3, wav, ogg, aac') end

function itorch.video(path) play('video', path, VIDEOS, 'mp4, ogv, ogg, webm') end

-- Shows HTML; with an id, it replaces the output with that id. Returns the id.
function itorch.html(html, id)
   local data = { ['text/plain'] = 'HTML', ['text/html'] = html }
   if not id then return channel.display(data) end
   channel.update(id, data)
   return id
end

-- Shows an SVG, from a file or a text.
function itorch.svg(file_or_text)
   local text = file_or_text
   if paths.filep(text) then
      local file = assert(io.open(text))
      text = file:read('*a')
      file:close()
   end
   channel.display{ ['text/plain'] = 'an SVG', ['image/svg+xml'] = text }
end

function itorch.lena() itorch.image(image.lena()) end

-- The name of a function or class of a package.
local function name_of(value)
   for package_name, contents in pairs(package.loaded) do
      if type(contents) == 'table' and not package_name:match('[._]') then
         for name, held in pairs(contents) do
            if rawequal(held, value) then return ('%s.%s'):format(package_name, name) end
         end
      end
   end
end

-- Shows help on a name, a function or a class.
function itorch.help(topic)
   local name = type(topic) == 'string' and topic or topic ~= nil and name_of(topic)
   print(name and help.text(name) or help.text(''))
end

return itorch
