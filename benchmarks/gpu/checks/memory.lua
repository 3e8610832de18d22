-- The device's memory as cutorch shows it: taken by tensors, given back, and more asked for than there is.
require 'cutorch'
local free, total = cutorch.getMemoryUsage(1)
print('free and total bytes', free, total)
assert(free > 0 and free <= total)
local elements = math.floor(free / 64)
local size = elements * 4
local kept = torch.CudaTensor(elements):fill(1)
cutorch.synchronize()
local less = cutorch.getMemoryUsage(1)
assert(free - less >= size * 0.9, ('%d bytes were taken, %d are missing'):format(size, free - less))
local ok, problem = pcall(function() return torch.CudaTensor(total):fill(1) end)
assert(not ok and tostring(problem):find('cuda runtime error (2) : out of memory', 1, true), tostring(problem))
print((tostring(problem):gsub('\n.*', '')))
assert(kept:min() == 1 and kept:max() == 1, 'what was there before has changed')
kept = nil
collectgarbage() collectgarbage()
local again = torch.CudaTensor(elements):fill(2)
assert(again:min() == 2)
