-- gm.convert{ input =, output =, size =, rotate =, vflip =, hflip =, quality =, verbose = }: converts one image file to
-- another.
require 'dok'
local Image = require 'graphicsmagick.Image'

-- 'WxH': fit the image into it; 'WxH!': exactly this size; 'W' or 'xH': one side.
local function resize(image, size)
   local width, height, exact = size:match '^(%d*)x?(%d*)(!?)$'
   width, height = tonumber(width), tonumber(height)
   if not width and not height then error(('gm.convert: size %s: WIDTHxHEIGHT is expected'):format(size), 3) end
   local columns, rows = image:size()
   if exact ~= '!' or not (width and height) then
      local factor = math.min((width or math.huge) / columns, (height or math.huge) / rows)
      width, height = math.max(1, math.floor(columns * factor + 0.5)), math.max(1, math.floor(rows * factor + 0.5))
   end
   return image:size(width, height)
end

return function(...)
   local args = dok.unpack({ ... }, 'gm.convert', 'Converts an image into another.',
      { arg = 'input', type = 'string', help = 'path to input image', req = true },
      { arg = 'output', type = 'string', help = 'path to output image', req = true },
      { arg = 'size', type = 'string', help = 'destination size' },
      { arg = 'rotate', type = 'number', help = 'rotation angle (degrees)' },
      { arg = 'vflip', type = 'boolean', help = 'flip image vertically' },
      { arg = 'hflip', type = 'boolean', help = 'flip image horizontally' },
      { arg = 'quality', type = 'number', help = 'quality (0 to 100)', default = 90 },
      { arg = 'benchmark', type = 'boolean', help = 'benchmark command', default = false },
      { arg = 'verbose', type = 'boolean', help = 'verbose', default = false })
   local timer = torch.Timer()
   local image = Image(args.input)
   if args.size then resize(image, args.size) end
   if args.rotate then image:rotate(args.rotate, 1, 1, 1) end
   if args.vflip then image:flip() end
   if args.hflip then image:flop() end
   image:save(args.output, args.quality)
   if args.verbose then print(('%s => %s %dx%d'):format(args.input, args.output, image:size())) end
   if args.benchmark then print(('Results: 1 iter %.2fs'):format(timer:time().real)) end
end
