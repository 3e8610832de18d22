"""Torch7's models as torch.nn Modules, and back.

from lua_compat import t7
from lua_compat.conversion import from_torch, to_torch

net = to_torch(t7.load("model.t7"))
t7.save("copy.t7", from_torch(net))
"""

from lua_compat.conversion.errors import ConversionError
from lua_compat.conversion.from_torch import from_torch
from lua_compat.conversion.python_source.program import save_python
from lua_compat.conversion.reading import Conversion, Fields
from lua_compat.conversion.to_torch import Converted, convert, to_torch

__all__ = [
    "Conversion",
    "ConversionError",
    "Converted",
    "Fields",
    "convert",
    "from_torch",
    "save_python",
    "to_torch",
]
