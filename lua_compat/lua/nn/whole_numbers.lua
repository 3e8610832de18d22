-- Indices and classes as layers hand them to kernels: LongTensors, beside a CUDA tensor CudaLongTensors.
local whole_numbers = {}

local function type_beside(neighbour)
   return neighbour:type():find('Cuda', 1, true) and 'torch.CudaLongTensor' or 'torch.LongTensor'
end

-- t as whole numbers that lie where neighbour does: t itself if it is that already, a new tensor if t is nil.
function whole_numbers.beside(neighbour, t) return (t or torch.LongTensor()):type(type_beside(neighbour)) end

return whole_numbers
