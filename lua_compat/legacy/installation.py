"""The old names of the modules."""

import importlib
import sys
from types import ModuleType

import torch

from lua_compat.legacy import nn, optim, reading


def install() -> None:
    """Lets ``import torch.legacy.nn``, ``torch.legacy.optim`` and ``torch.utils.serialization`` find ours.

    What today's PyTorch has under these names stays there. ``torch.load`` reads modules that ``torch.save``
    has written.
    """
    _package("torch.legacy")
    _put("torch.legacy.nn", nn)
    _put("torch.legacy.optim", optim)
    _package("torch.utils.serialization").__dict__["load_lua"] = reading.load_lua
    _put("torch.utils.serialization.read_lua_file", reading)
    torch.serialization.add_safe_globals([getattr(nn, name) for name in nn.__all__])


def _package(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        package = ModuleType(name, "Of PyTorch 0.4, by lua_compat.legacy.")
        package.__path__ = []
        _put(name, package)
        return package


def _put(name: str, module: ModuleType) -> None:
    sys.modules[name] = module
    parent, _, last = name.rpartition(".")
    setattr(importlib.import_module(parent), last, module)
