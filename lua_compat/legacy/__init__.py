"""Python code of 2017 that used ``torch.legacy`` and ``load_lua``.

    from lua_compat.legacy import load_lua          # was: from torch.utils.serialization import load_lua
    from lua_compat.legacy import nn, optim         # was: import torch.legacy.nn as nn

    net = load_lua("model.t7")                      # modules of lua_compat.legacy.nn
    net.evaluate()
    net.get(0).weight, type(net.get(0)).__name__    # indices from 0; 'SpatialConvolution'
    output = net.forward(input)                     # th's own nn computes

``install()`` puts these modules in the place of torch.legacy and torch.utils.serialization, so that a program
runs as it is.
"""

from lua_compat.legacy import nn, optim
from lua_compat.legacy.installation import install
from lua_compat.legacy.reading import (
    LuaFunction,
    T7ReaderException,
    TorchObject,
    hashable_uniq_dict,
    load_lua,
)

__all__ = [
    "LuaFunction",
    "T7ReaderException",
    "TorchObject",
    "hashable_uniq_dict",
    "install",
    "load_lua",
    "nn",
    "optim",
]
