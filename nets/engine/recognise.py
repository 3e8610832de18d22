"""Finds the kind of layer that runs a traced operation.

Kinds are discovered in the modules of ``nets/engine/layers``; to add one, write it there.
"""

import importlib
import pkgutil
from collections.abc import Sequence

from convnet_benchmarks.nets.engine import layers
from convnet_benchmarks.nets.engine.layers.layer import Layer
from convnet_benchmarks.nets.engine.layers.stock import StockLayer
from convnet_benchmarks.nets.engine.trace import Operation
from convnet_benchmarks.nets.engine.values import Value


def _discovered() -> list[type[Layer]]:
    found: list[type[Layer]] = []
    for module in pkgutil.iter_modules(layers.__path__, f"{layers.__name__}."):
        found += getattr(importlib.import_module(module.name), "LAYERS", ())
    return found


LAYERS: list[type[Layer]] = _discovered()


def recognise(operation: Operation, inputs: Sequence[Value], output: Value) -> type[Layer]:
    """Returns the kind of layer for ``operation``: StockLayer if the engine has no other.

    Whatever has a hook, of any kind, runs as a StockLayer: hooks are for PyTorch's autograd to run.
    """
    if operation.hook:
        return StockLayer
    return next((kind for kind in LAYERS if kind.recognises(operation, inputs, output)), StockLayer)
