-- Histograms as tables that print themselves as bars of characters.
local histogram = {}

local ROWS, LABEL_EVERY = 10, 6

local function bin_text(name, h, bin) return ('%s:(bin:%d/#%d/cntr:%2.2f)'):format(name, bin, h[bin].nb, h[bin].val) end

local function is_labelled(bin) return bin % LABEL_EVERY == 2 end

-- One character for each bin: a space above its top, a bar below it, and one of three heights at the top.
local function row_of_bars(h, upper, lower, begun)
   local characters = {}
   for bin = 1, #h do
      if begun[bin] then
         characters[bin] = '|'
      elseif h[bin].nb < lower then
         characters[bin] = ' '
      else
         begun[bin] = true
         local missing = (upper - h[bin].nb) / (upper - lower)
         characters[bin] = missing > 0.66 and '|' or missing > 0.33 and ':' or '.'
      end
   end
   return table.concat(characters)
end

local function show(h)
   local lines = { ('nsamples:  %s  %s'):format(bin_text('min', h, h.min), bin_text('max', h, h.max)) }
   lines[2] = '--------:' .. ('-'):rep(#h)
   local highest, begun = h[h.max].nb, {}
   local step = highest / (ROWS + 1)
   local upper, lower = highest, highest - step
   for _ = 1, ROWS do
      lines[#lines + 1] = ('%1.2e:'):format(lower) .. row_of_bars(h, upper, lower, begun)
      upper, lower = lower, lower - step
   end
   local marks, centres = {}, {}
   for bin = 1, #h do
      marks[bin] = is_labelled(bin) and '^' or '-'
      if is_labelled(bin) then
         centres[#centres + 1] = ('%s%1.2f '):format(h[bin].val < 0 and '-' or '+', math.abs(h[bin].val))
      end
   end
   lines[#lines + 1] = '--------:' .. table.concat(marks)
   lines[#lines + 1] = 'centers ' .. table.concat(centres)
   return table.concat(lines, '\n')
end

-- counts(tensor, bins = 72, min, max): entry i has the centre of a bin (val) and its count (nb); raw: returns only the
-- tensor of counts.
function histogram.counts(tensor, bins, low, high, raw)
   if not tensor then error('usage: gnuplot.histc (tensor [, nBins] [, min] [, max]', 2) end
   bins, low, high = bins or 72, low or tensor:min(), high or tensor:max()
   local counted = torch.histc(tensor:double(), bins, low, high)
   if raw then return counted end
   local h = { raw = counted, bins = bins, binwidth = (high - low) / bins }
   for i = 1, bins do h[i] = { val = low + (i - 0.5) * h.binwidth, nb = counted[i] } end
   local _, largest = torch.max(counted, 1)
   local _, smallest = torch.min(counted, 1)
   h.max, h.min = largest[1], smallest[1]
   return setmetatable(h, { __tostring = show })
end

return histogram
