"""Tensors, and lists of them, on their way to Lua and back (lua_compat/lua/th/api/modules.lua describes the
form)."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from lua_compat.kernels.element_types import DTYPES, HOST_TYPES
from lua_compat.runtime.bridge import Handles


def shape_of(value: Any) -> str:
    """Returns the text that describes a tensor, None, or a list of such; raises TypeError for anything
    else."""
    if isinstance(value, Tensor):
        return "t"
    if value is None:
        return "n"
    if isinstance(value, list | tuple):
        return "{" + "".join(map(shape_of, value)) + "}"
    raise TypeError(f"a tensor or a list of tensors is expected, not {type(value).__name__}")


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Yields the tensors of a value, in order."""
    if isinstance(value, Tensor):
        yield value
    elif value is not None:
        for item in value:
            yield from tensors_in(item)


def assembled(text: str, tensors: Iterator[Any]) -> Any:
    """Returns the value that ``text`` describes, with these tensors in it."""
    stack: list[list[Any]] = [[]]
    for letter in text:
        if letter == "{":
            stack.append([])
        elif letter == "}":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(next(tensors) if letter == "t" else None)
    return stack[0][0]


def for_lua(tensor: Tensor, handles: Handles) -> list[int]:
    """Returns the numbers that describe a tensor to Lua, which then shares its memory.

    Raises TypeError for a type or device that Torch7 does not know.
    """
    if tensor.dtype not in DTYPES:
        raise TypeError(f"Torch7 has no tensors of {tensor.dtype}")
    if tensor.device.type not in ("cpu", handles.cuda):
        raise TypeError(f"Lua has no tensors on the device {tensor.device}")
    code = DTYPES.index(tensor.dtype) + (0 if tensor.device.type == "cpu" else HOST_TYPES)
    tensor = tensor.detach()
    whole = torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(tensor.untyped_storage())
    shape, stride = (tensor.shape, tensor.stride()) if tensor.dim() else ((1,), (1,))
    handle, elements = (handles.add(whole), whole.numel()) if tensor.numel() else (0, 0)
    place = [code, handle, whole.data_ptr(), elements, int(tensor.storage_offset()), len(shape)]
    return [*place, *shape, *stride]


def from_lua(tensor: Tensor) -> Tensor:
    """Returns a copy of one of Lua's tensors, whose own memory will be reused."""
    return tensor.clone(memory_format=torch.contiguous_format)
