"""Torch7's models as torch.nn Modules, and back.

from lua_compat import t7
from lua_compat.conversion import to_torch

net = to_torch(t7.load("model.t7"))
"""

from lua_compat.conversion.errors import ConversionError
from lua_compat.conversion.to_torch import Converted, convert, to_torch

__all__ = ["ConversionError", "Converted", "convert", "to_torch"]
