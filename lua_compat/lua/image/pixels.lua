-- How images of any type are computed as doubles or floats.
local pixels = {}

-- A new image of src's type.
function pixels.new_like(src, width, height)
   if src:dim() == 3 then return src.new(src:size(1), height, width) end
   return src.new(height, width)
end

-- Writes the image of width x height that fill(out, pixels, ...) makes of src's pixels (both contiguous doubles or
-- floats) to dst, or to a new image of src's type.
function pixels.computed(dst, src, width, height, fill, ...)
   local from = (src:type() == 'torch.DoubleTensor' and src or src:float()):contiguous()
   local out = pixels.new_like(from, width, height)
   fill(out, from, ...)
   if not dst and src:type() == out:type() then return out end
   dst = dst or src.new()
   if dst:type() == 'torch.ByteTensor' then out:add(0.5):clamp(0, 255) end
   return dst:resize(out:size()):copy(out)
end

return pixels
