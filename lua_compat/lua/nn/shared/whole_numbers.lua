-- Indices and classes as layers pass them to kernels: LongTensors, or CudaLongTensors with a CUDA tensor.
local whole_numbers = {}

function whole_numbers.type_beside(neighbour)
   return neighbour:type():find('Cuda', 1, true) and 'torch.CudaLongTensor' or 'torch.LongTensor'
end

-- t as whole numbers on the device of `neighbour`: t itself if it is that already; a new tensor if t is nil.
function whole_numbers.beside(neighbour, t)
   return (t or torch.LongTensor()):type(whole_numbers.type_beside(neighbour))
end

return whole_numbers
