"""A module's number type changed, with what is shared left shared."""

import torch
from torch import Tensor, nn


def with_number_type(module: nn.Module, dtype: torch.dtype) -> nn.Module:
    """Gives all floating-point tensors of ``module`` the type ``dtype``, in place; returns the module.

    Unlike ``module.to`` it keeps parameters in one memory that are views of it, and reaches tensors that are
    neither parameters nor buffers.
    """
    memories: dict[int, Tensor] = {}

    def changed(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in memories:
            whole = torch.empty(0, dtype=tensor.dtype).set_(storage)
            memories[storage._cdata] = whole.to(dtype)
        return memories[storage._cdata].as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())

    held = []  # memory that was let go of would be another tensor's next
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
