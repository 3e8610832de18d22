-- Information about an image file.
local Image = require 'graphicsmagick.Image'
local parse = require 'graphicsmagick.exif'
local python = require('th.python').functions

-- simple: only size and format; more: EXIF data that replaces the file's.
return function(path, simple, more)
   local ok, image = pcall(Image, path)
   if not ok then return { error = 'not an image' } end
   local width, height = image:size()
   local said = { width = width, height = height, format = image:format() }
   if simple then return said end
   said.exif = {}
   for name, value in python.magick_exif(path):gmatch '([^%z]+)%z([^%z]*)%z' do said.exif[name] = value end
   for name, value in pairs(more or {}) do said.exif[name] = value end
   said.date, said.location = parse(said.exif)
   return said
end
