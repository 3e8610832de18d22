-- Conversions between colour spaces, with Torch7's bits: channels from 0 to 1 in the type of the image. Sources of the
-- formulas: en.wikipedia.org/wiki/HSL_and_HSV; brucelindbloom.com (sRGB, XYZ and CIE Lab with the white D65).
local memory = require 'torch.core.memory'
local templates = require 'torch.core.templates'
local types = require 'torch.core.types'

local CONVERT = [[
   return function(p, q, n)
      for i = 0, n - 1 do
         local a, b, c = get(q, i), get(q, i + n), get(q, i + 2 * n)
         local x, y, z
         $formula
         p[i], p[i + n], p[i + 2 * n] = x, y, z
      end
   end
]]

-- From red, green and blue (a, b, c). hue: a sixth of the circle for each of red, yellow, green...
local HUE = [[
   local most, least = max(max(a, b), c), min(min(a, b), c)
   local range = $round(most - least)
   if range == 0 then
      x, y, z = 0, 0, most
   else
      local hue
      if most == a then
         hue = $round($round($round(b - c) / range) + (b < c and 6 or 0))
      elseif most == b then
         hue = $round($round($round(c - a) / range) + 2)
      else
         hue = $round($round($round(a - b) / range) + 4)
      end
      x = hue / 6
      $rest
   end
]]
local FORMULAS = {
   rgb2hsl = { HUE, rest = [[
      local sum = $round(most + least)
      z = $round(sum / 2)
      y = range / (z > 0.5 and $round($round(2 - most) - least) or sum)
   ]] },
   rgb2hsv = { HUE, rest = 'y, z = range / most, most' },
   -- thirds and sixths are in double precision
   hsl2rgb = { [[
      if b == 0 then
         x, y, z = c, c, c
      else
         local high = c < 0.5 and $round(c * $round(1 + b)) or $round($round(c + b) - $round(c * b))
         local low = $round(2 * c - high)
         x, y, z = channel(low, high, $round(a + 1 / 3)), channel(low, high, a),
            channel(low, high, $round(a - 1 / 3))
      end
   ]] },
   hsv2rgb = { [[
      local sector = floor(a * 6)
      local part = $round($round(a * 6) - sector)
      local sixth = abs(sector) < 0x80000000 and fmod(sector, 6) or -1
      local low, down = $round(c * $round(1 - b)), $round(c * $round(1 - $round(part * b)))
      local up = $round(c * $round(1 - $round($round(1 - part) * b)))
      if sixth == 0 then
         x, y, z = c, up, low
      elseif sixth == 1 then
         x, y, z = down, c, low
      elseif sixth == 2 then
         x, y, z = low, c, up
      elseif sixth == 3 then
         x, y, z = low, down, c
      elseif sixth == 4 then
         x, y, z = up, low, c
      elseif sixth == 5 then
         x, y, z = c, low, down
      else
         x, y, z = 0, 0, 0
      end
   ]] },
   rgb2lab = { [[
      a, b, c = expanded(a), expanded(b), expanded(c)
      local fx = root((0.412453 * a + 0.357580 * b + 0.180423 * c) / white_x)
      local fy = root(0.212671 * a + 0.715160 * b + 0.072169 * c)
      local fz = root((0.019334 * a + 0.119193 * b + 0.950227 * c) / white_z)
      x, y, z = 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)
   ]] },
   lab2rgb = { [[
      local fy = $round($round(a + 16) / 116)
      local cx, cz = cube($round(b / 500) + fy) * white_x, cube(fy - $round(c / 200)) * white_z
      local cy = a > kappa * epsilon and pow(fy, 3) or a / kappa
      x = compressed($round(3.2404542 * cx - 1.5371385 * cy - 0.4985314 * cz))
      y = compressed($round(-0.9692660 * cx + 1.8760108 * cy + 0.0415560 * cz))
      z = compressed($round(0.0556434 * cx - 0.2040259 * cy + 1.0572252 * cz))
   ]] },
}

-- One of red, green and blue, at `turn` around the colour wheel.
local CHANNEL = [[
   return function(low, high, turn)
      if turn < 0 then turn = $round(turn + 1) end
      if turn > 1 then turn = $round(turn - 1) end
      if turn < 1 / 6 then return low + $round(high - low) * 6 * turn end
      if turn < 1 / 2 then return high end
      if turn < 2 / 3 then return low + $round(high - low) * (2 / 3 - turn) * 6 end
      return low
   end
]]
local EXPANDED = [[
   return function(v) return $round(v <= 0.04045 and v / 12.92 or pow((v + 0.055) / 1.055, 2.4)) end
]]

local EPSILON, KAPPA = 216 / 24389, 24389 / 27
local pow = templates.functions.pow

local function root(v) return v > EPSILON and pow(v, 1 / 3) or (KAPPA * v + 16) / 116 end

local function cube(f)
   local v = pow(f, 3)
   return v > EPSILON and v or (116 * f - 16) / KAPPA
end

local function compressed(v) return v <= 0.0031308 and 12.92 * v or 1.055 * pow(v, 1 / 2.4) - 0.055 end

local NAME = 'image.luajit.color_spaces'
local channel_of, expanded_of = types.compiled(NAME, CHANNEL, {}), types.compiled(NAME, EXPANDED, {})

local spaces = {}
for name, formula in pairs(FORMULAS) do
   local convert_of = templates.for_each(types.codes_of_reals, function(code)
      local T = types[code]
      return templates.compile(NAME, CONVERT, { formula = formula[1], get = T.get }, { rest = formula.rest,
         round = types.rounded(T), to_type = T.cast, channel = channel_of(T),
         expanded = expanded_of(T), root = root, cube = cube, compressed = compressed, white_x = 0.950456,
         white_z = 1.088754, epsilon = EPSILON, kappa = KAPPA })
   end)
   -- Converts src: contiguous tensors of the same real type.
   spaces[name] = function(out, src)
      local p, q = memory.records[out], memory.records[src]
      convert_of(q.T.code)(memory.first_element(p), memory.first_element(q), memory.count(q) / 3)
   end
end

return spaces
