"""A torch.nn.Module as a Torch7 model that t7.save writes and real Torch7 loads."""

from functools import partial

import torch
from torch import nn

from lua_compat import t7
from lua_compat.conversion.composed import spelled_out
from lua_compat.conversion.errors import CannotTraceError, ConversionError
from lua_compat.conversion.hooks import without_hooks
from lua_compat.conversion.lua_classes import lua_export
from lua_compat.conversion.registry import find_export
from lua_compat.conversion.tracing import traced
from lua_compat.conversion.unrolled import Recurrent, unrolled
from lua_compat.conversion.writing import TENSORS, Export, ModelWriter
from lua_compat.lua_modules import LuaModule


def from_torch(
    module: nn.Module, path: str = "root", dtype: torch.dtype | None = None, *, steps: int | None = None
) -> t7.TorchObject:
    """Returns the nn model equivalent to ``module``, in training or evaluate mode as its modules are.

    Parameters share their memory with the module's (copied if they are on a GPU); gradients are zeros. The
    number type of outputs is ``dtype``; by default that of the first parameter, or of new tensors where there
    is none. ``steps``: the length of the sequences for LSTM, GRU and RNN; nn has no loops, so that they
    are unrolled. Raises ConversionError with the path of a module that Torch7's nn cannot express, or that
    has a forward hook.
    """
    if not isinstance(module, nn.Module):
        raise ConversionError(f"a torch.nn.Module is expected, not {type(module).__name__}", path)
    if any(tensor.is_meta for tensor in (*module.parameters(), *module.buffers())):
        raise ConversionError("the module is on PyTorch's meta device, without memory", path)
    if dtype is None:
        parameter = next((p for p in module.parameters() if p.is_floating_point()), None)
        dtype = torch.get_default_dtype() if parameter is None else parameter.dtype
    if dtype not in TENSORS:
        raise ConversionError(f"Torch7 has no tensors of {dtype}; convert the module with .float()", path)
    with torch.no_grad():  # in-place layers report ``inplace`` only while gradients are not recorded
        without_hooks(module, path, weights=True)
        return ModelWriter(dtype, _find_export, partial(_substitute, steps)).module(module, path)


def _find_export(kind: type) -> Export | None:
    return lua_export if issubclass(kind, LuaModule) else find_export(kind)


def _substitute(steps: int | None, module: nn.Module, path: str) -> nn.Module | None:
    """Returns the replacement of a module that nn lacks: its parts, or the graph of its forward."""
    spelled = spelled_out(module)
    if spelled is not None or _find_export(type(module)) is not None:
        return spelled
    recurrent = isinstance(module, Recurrent)
    if recurrent and steps is None:
        missing = (
            "has no counterpart in Torch7's nn here; it is unrolled for sequences of one length (steps=)"
        )
        raise ConversionError(f"{type(module).__name__} {missing}", path)
    if type(module).__module__.startswith("torch.nn.") and not recurrent:
        return None
    try:
        return traced(module if steps is None else unrolled(module, steps), _is_layer)
    except (CannotTraceError, ValueError) as error:
        raise ConversionError(f"{type(module).__name__}: {error}", path) from None


def _is_layer(module: nn.Module) -> bool:
    """Returns whether a module inside a traced one is written as a layer; chains are traced, too."""
    if type(module) is nn.Sequential:
        return False
    return _find_export(type(module)) is not None or type(module).__module__.startswith("torch.nn.")
