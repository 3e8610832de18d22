-- The date and the position of an image, from its EXIF data.

-- Converts "d, m, s", 'd deg m\' s"' or a number to degrees; each part may be a fraction.
local function degrees(text)
   text = tostring(text)
   local parts = {}
   for part in text:gmatch '[%d./]+' do
      local top, bottom = part:match '^([%d.]+)/([%d.]+)$'
      parts[#parts + 1] = top and tonumber(top) / tonumber(bottom) or tonumber(part)
   end
   local value = (parts[1] or 0) + (parts[2] or 0) / 60 + (parts[3] or 0) / 3600
   return text:find '^%s*%-' and -value or value
end

local function place(longitude, latitude)
   return { longitude = longitude, latitude = latitude,
      url_google = ('https://maps.google.com/maps?q=%s,%s'):format(longitude, latitude) }
end

-- Returns the date, as text, and the position, or nil.
return function(exif)
   local date = exif.DateTimeOriginal or exif.DateTimeDigitized or exif.DateTime
   if not exif.GPSLongitude or not exif.GPSLatitude then return date end
   local longitude, latitude = degrees(exif.GPSLongitude), degrees(exif.GPSLatitude)
   if exif.GPSLongitudeRef then
      return date, place(exif.GPSLongitudeRef:upper():sub(1, 1) .. longitude,
         (exif.GPSLatitudeRef or 'N'):upper():sub(1, 1) .. latitude)
   end
   return date, place((longitude < 0 and 'W' or 'E') .. math.abs(longitude), (latitude < 0 and 'S' or 'N')
      .. math.abs(latitude))
end
