"""Changes a module's number type, keeping shared memory shared."""

import torch
from torch import Tensor, nn


def with_number_type(module: nn.Module, dtype: torch.dtype) -> nn.Module:
    """Gives all floating-point tensors of ``module`` the type ``dtype``, in place; returns the module.

    Unlike ``module.to`` it keeps parameters that are views of one memory block in one block, and also
    converts tensors that are neither parameters nor buffers.
    """
    memories: dict[int, Tensor] = {}

    def changed(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in memories:
            whole = torch.empty(0, dtype=tensor.dtype).set_(storage)
            memories[storage._cdata] = whole.to(dtype)
        return memories[storage._cdata].as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())

    held = []  # freed memory could get the same address again
    for part in module.modules():
        for tensor in part.parameters(recurse=False):
            if tensor.is_floating_point() and tensor.dtype != dtype:
                held.append(tensor.data)
                tensor.data = changed(tensor.data)
        others = {**part._buffers, **vars(part)}
        for name, value in others.items():
            if isinstance(value, Tensor) and value.is_floating_point() and value.dtype != dtype:
                held.append(value)
                setattr(part, name, changed(value))
    return module
