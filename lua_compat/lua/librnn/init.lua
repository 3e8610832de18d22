-- The compiled part of the package rnn (torch/rnn), whose plain Lua the user installs: sequences of different lengths,
-- laid out in the rows of one tensor (max length x rows x ...) with a step of zeros between two in a row. Its steps of
-- LSTM and GRU are missing, because rnn also has them in Lua.
require 'torch'

local Layout = {}

-- Assigns samples to rows: each row is filled with the longest sample that still fits. Returns the samples and their
-- lengths.
local function layout_of(lengths)
   local order, longest = {}, 0
   for i, length in ipairs(lengths) do
      order[i], longest = i, math.max(longest, length)
   end
   table.sort(order, function(a, b)
      if lengths[a] ~= lengths[b] then return lengths[a] > lengths[b] end
      return a > b
   end)
   local rows, row_lengths, placed = {}, {}, 0
   local is_placed = {}
   while placed < #order do
      local row, sizes, left = {}, {}, longest
      for _, sample in ipairs(order) do
         if not is_placed[sample] and lengths[sample] <= left then
            is_placed[sample], placed = true, placed + 1
            row[#row + 1], sizes[#sizes + 1] = sample, lengths[sample]
            left = left - lengths[sample] - 1
         end
      end
      rows[#rows + 1], row_lengths[#row_lengths + 1] = row, sizes
   end
   return rows, row_lengths, longest
end

-- Calls f(sample, row, first step, length) for every sample.
local function each(rows, row_lengths, f)
   for r, row in ipairs(rows) do
      local first = 1
      for k, sample in ipairs(row) do
         f(sample, r, first, row_lengths[r][k])
         first = first + row_lengths[r][k] + 1
      end
   end
end

local function sized(longest, rows, of, from_dimension)
   local size = { longest, rows }
   for d = from_dimension, of:dim() do size[#size + 1] = of:size(d) end
   return torch.LongStorage(size)
end

-- Copies a table of samples (length x ...) to output; mask is 1 where there is no sample.
function Layout.VariableLength_FromSamples(samples, output, mask)
   local lengths = {}
   for i, sample in ipairs(samples) do
      if sample:dim() ~= samples[1]:dim() then error('got tensors of different sizes', 2) end
      for d = 2, sample:dim() do
         if sample:size(d) ~= samples[1]:size(d) then error('got tensors of different sizes', 2) end
      end
      lengths[i] = sample:size(1)
   end
   local rows, row_lengths, longest = layout_of(lengths)
   output:resize(sized(longest, #rows, samples[1], 2))
   mask:resize(longest, #rows):fill(1)
   each(rows, row_lengths, function(sample, row, first, length)
      output:select(2, row):narrow(1, first, length):copy(samples[sample])
      mask:select(2, row):narrow(1, first, length):zero()
   end)
   return rows, row_lengths
end

-- The samples as views of input.
function Layout.VariableLength_ToSamples(rows, row_lengths, input)
   local samples = {}
   each(rows, row_lengths, function(sample, row, first, length)
      samples[sample] = input:select(2, row):narrow(1, first, length)
   end)
   return samples
end

local function count(rows)
   local n = 0
   for _, row in ipairs(rows) do n = n + #row end
   return n
end

-- The last step of every sample: samples x ...
function Layout.VariableLength_ToFinal(rows, row_lengths, input, output)
   local size = { count(rows) }
   for d = 3, input:dim() do size[#size + 1] = input:size(d) end
   output:resize(torch.LongStorage(size))
   each(rows, row_lengths, function(sample, row, first, length)
      output:narrow(1, sample, 1):copy(input:narrow(2, row, 1):narrow(1, first + length - 1, 1))
   end)
end

-- The inverse: zero except for the last steps.
function Layout.VariableLength_FromFinal(rows, row_lengths, input, output)
   local longest = 0
   for _, lengths in ipairs(row_lengths) do
      local steps = #lengths - 1
      for _, length in ipairs(lengths) do steps = steps + length end
      longest = math.max(longest, steps)
   end
   output:resize(sized(longest, #rows, input, 2)):zero()
   each(rows, row_lengths, function(sample, row, first, length)
      output:narrow(2, row, 1):narrow(1, first + length - 1, 1):copy(input:narrow(1, sample, 1))
   end)
end

for _, name in ipairs{ 'torch.FloatTensor', 'torch.DoubleTensor' } do
   local metatable = torch.getmetatable(name)
   metatable.nn = metatable.nn or {}
   for function_name, f in pairs(Layout) do metatable.nn[function_name] = f end
end

return true
