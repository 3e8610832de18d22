-- Results and indices that share memory with what is read: elements are read before they are overwritten, and never
-- beyond a tensor.
require 'torch'
local function expect(t, ...)
   local wanted = { ... }
   for i = 1, #wanted do assert(t[i] == wanted[i], ('%s, not %s'):format(tostring(t[i]), tostring(wanted[i]))) end
end

-- indices that are overwritten while they are used
local e = torch.LongTensor{ 1 }:expand(3)
e:scatter(1, e, 1e9)
expect(e, 1e9, 1e9, 1e9)
e = torch.LongTensor{ 1 }:expand(3)
e:indexFill(1, e, 1e12)
expect(e, 1e12, 1e12, 1e12)
e = torch.LongTensor{ 1 }:expand(3)
e:indexCopy(1, e, torch.LongTensor{ 1e12, 1e13, 1e14 })
expect(e, 1e14, 1e14, 1e14)

-- fewer values than indices
e = torch.DoubleTensor{ 1 }:expand(3)
local ok, text = pcall(e.scatter, e, 1, torch.LongTensor{ 1, 2, 3 }, torch.DoubleTensor{ 4 })
assert(not ok and text:find('3 values in dimension 1 expected', 1, true), text)
expect(e, 1, 1, 1)

-- results that are the input
local t = torch.range(1, 10)
expect(torch.kthvalue(t, torch.LongTensor(), t, 7), 7)
t = torch.LongTensor():range(1, 10)
expect(torch.kthvalue(torch.LongTensor(), t, t, 7), 7)
t = torch.range(1, 10)
expect(torch.median(t, torch.LongTensor(), t), 5)
t = torch.range(1, 10)
expect(torch.topk(t, torch.LongTensor(), t, 3, 1, true), 8, 9, 10)
