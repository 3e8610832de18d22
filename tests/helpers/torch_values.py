"""Lua's values as PyTorch's: tensors, and lists of them for tables."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lua_compat import t7


def value_of(lua: Any) -> Any:
    """Returns tensors as torch tensors, tables as lists."""
    if isinstance(lua, t7.Tensor):
        return torch.from_numpy(np.array(lua.numpy()))
    return [value_of(item) for item in lua.array()] if isinstance(lua, t7.LuaTable) else lua


def tensors_of(value: Any) -> list[Tensor]:
    """Returns all tensors of a value, in order."""
    return [value] if isinstance(value, torch.Tensor) else [t for item in value for t in tensors_of(item)]


def mapped(function: Callable[[Tensor], Tensor], value: Any) -> Any:
    """Returns the value with each tensor replaced."""
    return function(value) if isinstance(value, torch.Tensor) else [mapped(function, v) for v in value]
