-- Images made of another's pixels at computed places: rotated, in polar coordinates, warped. With Torch7's bits: places
-- in single precision, pixels in the type of the image.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local templates = require 'torch.core.templates'
local types = require 'torch.core.types'
local cubic_of = require 'image.luajit.cubic'

local abs, floor, max, min, sin = math.abs, math.floor, math.max, math.min, math.sin
local single, first_element, records = types.Float.cast, memory.first_element, memory.records

-- One or three planes at p from those at q. g: the sizes of both, and what the place needs.
local SAMPLE = [[
   return function(p, q, g)
      local height, width, rows, columns = g.height, g.width, g.rows, g.columns
      local plane, area, at = height * width, rows * columns, 0
      $first
      for row = 0, rows - 1 do
         $of_row
         for column = 0, columns - 1 do
            $pixel
            at = at + 1
         end
      end
   end
]]

-- $all(v): writes v, in which @ is the plane, to this pixel of each plane. $x(at): the plane's element there.
local ALL, ELEMENT = '$each($planes, ;){p[at + @ * area] = $1}', 'get(q, $1 + @ * plane)'
local INSIDE = 'x0 >= 0 and y0 >= 0 and x1 < width and y1 < height'

local NEAREST = [[
   if y >= 0 and y < height and x >= 0 and x < width then
      local from = y * width + x
      $all($stored($x(from)))
   else
      $all(0)
   end
]]
-- between four pixels, in double precision but for the last product
local MIXED = [[
   local a, b, c, d = (1 - wx) * (1 - wy), wx * (1 - wy), (1 - wx) * wy, $precise(wx * wy)
   local nw, ne, sw, se = y0 * width + x0, y0 * width + x1, y1 * width + x0, y1 * width + x1
   $all($stored(a * $x(nw) + b * $x(ne) + c * $x(sw) + $round(d * $x(se))))
]]

local ROTATED = {
   simple = {
      first = 'local x_mid, y_mid, sine, cosine = g.x_mid, g.y_mid, single(sin(g.angle)), single(cos(g.angle))',
      of_row = [[
         local down = single(row - y_mid)
         local sine_down, cosine_down = single(sine * down), single(cosine * down)
      ]],
      pixel = [[
         local across = single(column - x_mid)
         local x = to_whole(single(single(single(cosine * across) - sine_down) + x_mid))
         local y = to_whole(single(single(cosine_down + single(sine * across)) + y_mid))
         $nearest
      ]],
   },
   -- up to half a pixel beyond the border the nearest pixel counts, further out 0
   bilinear = {
      first = 'local x_mid, y_mid, sine, cosine = g.x_mid, g.y_mid, sin(g.angle), cos(g.angle)',
      of_row = [[
         local down = single(row - y_mid)
         local sine_down, cosine_down = sine * down, cosine * down
      ]],
      pixel = [[
         local across = single(column - x_mid)
         local x = $round($round(cosine * across - sine_down) + x_mid)
         local y = $round($round(cosine_down + sine * across) + y_mid)
         $corners
         if x1 == width and wx < 0.5 then x1 = x0 end
         if y1 == height and wy < 0.5 then y1 = y0 end
         if x0 == -1 and wx > 0.5 then x0 = x1 end
         if y0 == -1 and wy > 0.5 then y0 = y1 end
         if $inside then
            $mixed
         else
            $all(0)
         end
      ]],
   },
}
local CORNERS = [[
   local x0, y0 = floor(x), floor(y)
   local x1, y1, wx, wy = x0 + 1, y0 + 1, $precise(x - x0), $precise(y - y0)
]]

local TO_POLAR = {
   simple = [[
      y, x = floor(y), floor(x)
      $nearest
   ]],
   bilinear = [[
      y, x = $precise(y), $precise(x)
      $corners
      if $inside then
         $mixed
      else
         y, x = y0, x0
         $nearest
      end
   ]],
}
local RADIUS = { 'single(single(step * column) / columns)', 'single(exp(single(column * step)))' }

local WARPED = {
   simple = [[
      local from = floor(y + 0.5) * width + floor(x + 0.5)
      $all($x(from))
   ]],
   bilinear = [[
      local x0, y0 = floor(x), floor(y)
      local x1, y1, dx, dy = min(x0 + 1, width - 1), min(y0 + 1, height - 1), single(x - x0), single(y - y0)
      local right, below = single(x0 + 1 - x), single(y0 + 1 - y)
      local a, b, c, d = single(right * below), single(dx * below), single(right * dy), single(dx * dy)
      local nw, ne, sw, se = y0 * width + x0, y0 * width + x1, y1 * width + x0, y1 * width + x1
      $all($round($round($round($round($x(nw) * a) + $round($x(ne) * b)) + $round($x(sw) * c)) + $round($x(se) * d)))
   ]],
   bicubic = [[
      local x0, y0 = floor(x), floor(y)
      local dx, dy, from = single(x - x0), single(y - y0), y0 * width + x0
      if y >= 1 and y < height - 2 and x >= 1 and x < width - 2 then
         $all(patch(q, from + @ * plane, width, dy, dx))
      else
         $all(patch(padded(q + @ * plane, y0, x0, g), 5, 4, dy, dx))
      end
   ]],
   lanczos = [[
      local total = weigh(y, x, height, width)
      $each($planes, ;){local sum@ = 0}
      for n = 0, last_tap do
         local from, weight = places[n], weights[n]
         $each($planes, ;){sum@ = $round(sum@ + $round($x(from) * weight))}
      end
      $all($round(sum@ / total))
   ]],
}
local WARP = [[
   local y, x = single(offset * row + at_place(field, at)), single(offset * column + at_place(field, at + area))
   if pad and (y < 0 or y > height - 1 or x < 0 or x > width - 1) then
      $all(pad)
   else
      if not (y > 0) then y = 0 end
      if not (x > 0) then x = 0 end
      y, x = min(y, height - 1), min(x, width - 1)
      $value
   end
]]

-- Between the 4 x 4 pixels around q[at] and the next ones; padded(q, y, x, g): a copy of them, with the padding value
-- outside of the image.
local PATCH = [[
   local pixels = cast(pointer, near)
   local function across(q, at, dx) return cubic(get(q, at - 1), get(q, at), get(q, at + 1), get(q, at + 2), dx) end
   return function(q, at, width, dy, dx)
      return cubic(across(q, at - width, dx), across(q, at, dx), across(q, at + width, dx),
         across(q, at + 2 * width, dx), dy)
   end, function(q, y, x, g)
      for k = 0, 15 do
         local v, u = y - 1 + rshift(k, 2), x - 1 + band(k, 3)
         local inside = v >= 0 and v < g.height and u >= 0 and u < g.width
         near[k] = inside and get(q, v * g.width + u) or g.pad or 0
      end
      return pixels
   end
]]

-- Lanczos: the weights of the TAPS x TAPS pixels around a place, column by column, and where the pixels are.
local TAPS = 6
local PI, PI_SQUARED, NONE = single(math.pi), single(math.pi ^ 2), single(1e-6)
local taps = ffi.typeof 'double[?]'
local of_rows, of_columns, weights, places = taps(TAPS), taps(TAPS), taps(TAPS ^ 2), ffi.new('int32_t[?]', TAPS ^ 2)

local function lanczos_weights(of, place)
   local reach, first = TAPS / 2, floor(place) - TAPS / 2 + 1
   for k = 0, TAPS - 1 do
      local d = abs(single(place - (first + k)))
      local turn = single(PI * d)
      of[k] = d < NONE and 1 or d > reach and 0
         or single(reach * sin(turn) * sin(single(turn / reach)) / single(single(PI_SQUARED * d) * d))
   end
   return first
end

-- Returns the sum of the weights.
local function weigh(y, x, height, width)
   local top, left, total, n = lanczos_weights(of_rows, y), lanczos_weights(of_columns, x), 0, 0
   for u = 0, TAPS - 1 do
      local column = max(min(width - 1, left + u), 0)
      for v = 0, TAPS - 1 do
         weights[n], places[n] = single(of_columns[u] * of_rows[v]), max(min(height - 1, top + v), 0) * width + column
         total, n = single(total + weights[n]), n + 1
      end
   end
   return total
end

local function compile(text, values, also) return templates.compile('image.luajit.sampling', text, values, also) end

-- Halves are rounded away from zero.
local function to_whole(v) return v >= 0 and floor(v + 0.5) or -floor(0.5 - v) end

local near_of = templates.for_each(types.codes_of_reals, function(code)
   local T = types[code]
   local patch, padded = compile(PATCH, { cubic = cubic_of(T), get = T.get, near = T.array(16),
      pointer = T.pointer })
   return { patch = patch, padded = padded }
end)

-- A function for each type, and for one plane or three.
local THREE = 16
local codes = {}
for _, code in ipairs(types.codes_of_reals) do
   codes[#codes + 1], codes[#codes + 2] = code, code + THREE
end
local function sampler(values, precise)
   return templates.for_each(codes, function(key)
      local T = types[key % THREE]
      local is_double = T == types.Double
      local near = near_of(T.code)
      local round = is_double and '($1)' or 'single($1)'
      return compile(SAMPLE, { first = values.first, of_row = values.of_row or '', pixel = values.pixel }, {
         get = T.get, single = single, round = round, precise = precise or round,
         stored = is_double and 'single($1)' or '$1', planes = key > THREE and 3 or 1, all = ALL, x = ELEMENT,
         nearest = NEAREST, mixed = MIXED, inside = INSIDE, corners = CORNERS, to_whole = to_whole,
         radius = values.radius, value = values.value, at_place = types.Float.get, patch = near.patch,
         padded = near.padded, weigh = weigh, weights = weights, places = places, last_tap = TAPS ^ 2 - 1 })
   end)
end

-- Fills out from src: contiguous tensors of the same real type and number of planes.
local function fill(of_code, out, src, g)
   out, src = records[out], records[src]
   local last, planes = 2 * src.nd - 1, src.nd == 3 and src[1] or 1
   g.height, g.width, g.rows, g.columns = src[last - 2], src[last], out[last - 2], out[last]
   local p, q = first_element(out), first_element(src)
   while planes > 0 do
      local n = planes >= 3 and 3 or 1
      of_code(src.T.code + (n == 3 and THREE or 0))(p, q, g)
      p, q, planes = p + n * g.rows * g.columns, q + n * g.height * g.width, planes - n
   end
end

local sampling = {}

local rotated = {}
for mode, values in pairs(ROTATED) do rotated[mode] = sampler(values) end

-- Rotates by theta radians around the middle.
function sampling.rotate(out, src, theta, mode)
   local d = src:dim()
   fill(rotated[mode], out, src, { angle = single(theta), x_mid = single((src:size(d) - 1) / 2),
      y_mid = single((src:size(d - 1) - 1) / 2) })
end

local to_polar = {}
for mode, pixel in pairs(TO_POLAR) do
   to_polar[mode] = {}
   for which, radius in ipairs(RADIUS) do
      to_polar[mode][which] = sampler({
         first = 'local x_mid, y_mid, step = g.x_mid, g.y_mid, g.step',
         of_row = [[
            local angle = single(2 * 3.14159265358979323846 * row / rows)
            local cosine, sine = cos(angle), sin(angle)
         ]],
         pixel = [[
            local r = $radius
            local y, x = r * cosine + y_mid, -r * sine + x_mid
         ]] .. pixel, radius = radius,
      }, which == 2 and 'single($1)' or nil)
   end
end

-- Rows of out are angles, columns distances from the middle or their logarithms, up to the nearer border, or (full) up
-- to the corners. Pixels outside the image are 0.
function sampling.to_polar(out, src, mode, is_logarithmic, is_full)
   local d = src:dim()
   local height, width = src:size(d - 1), src:size(d)
   local farthest = is_full and single(math.sqrt(single(single(width * width) + single(height * height)))) / 2
      or math.min(width, height) / 2
   fill(to_polar[mode][is_logarithmic and 2 or 1], out, src, { x_mid = width / 2, y_mid = height / 2,
      step = is_logarithmic and single(math.log(farthest) / out:size(d)) or farthest })
end

local warped = {}
for mode, value in pairs(WARPED) do
   warped[mode] = sampler{ first = 'local field, offset, pad = g.field, g.offset, g.pad', pixel = WARP, value = value }
end

-- Takes each pixel of out from the place (y, x) that the field has for it, or (is_offset) that far from its own. field:
-- contiguous floats. Places outside of src are moved to its border, or give the value of pad.
function sampling.warp(out, src, field, mode, is_offset, pad)
   fill(warped[mode], out, src, { field = first_element(records[field]), offset = is_offset and 1 or 0, pad = pad })
end

return sampling
