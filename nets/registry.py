"""The nets that have a name: ``--net NAME`` and ``--list-nets``.

To add a net, write its module in this folder and give it one entry in ``NETS``.
"""

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Net:
    """What is known of a net before it is built."""

    name: str
    definition: str  # "module:function"; imported when the net is built
    input_size: tuple[int, int, int]  # planes, height, width of one sample
    source: str  # the paper, or the benchmark that ran it

    def define(self) -> "nn.Module":
        """The module as its definition makes it, with whatever parameters the current device gives."""
        module, function = self.definition.split(":")
        net: nn.Module = getattr(importlib.import_module(module), function)()
        return net


_IMAGENET = (3, 224, 224)
_SOUMITH = "soumith/convnet-benchmarks"

NETS: dict[str, Net] = {
    net.name: net
    for net in (
        Net(
            "overfeat_accurate",
            "nets.overfeat:overfeat_accurate",
            (3, 221, 221),
            "arXiv:1312.6229; the net of benchmark.lua and benchmark_criterion.lua",
        ),
        Net(
            "overfeat_fast",
            "nets.overfeat:overfeat_fast",
            (3, 231, 231),
            f"arXiv:1312.6229; {_SOUMITH}",
        ),
        Net("alexnet_owt", "nets.alexnet:alexnet_owt", _IMAGENET, f"arXiv:1404.5997; {_SOUMITH}"),
        Net("vgg_a", "nets.vgg:vgg_a", _IMAGENET, f"arXiv:1409.1556; {_SOUMITH}"),
        Net("googlenet", "nets.googlenet:googlenet", _IMAGENET, f"arXiv:1409.4842; {_SOUMITH}"),
    )
}


def find(name: str) -> Net:
    """The net called ``name``; raises KeyError with the accepted names otherwise."""
    try:
        return NETS[name]
    except KeyError:
        raise KeyError(f"unknown net '{name}'; accepted: {', '.join(NETS)}") from None


def on_meta(net: Net) -> "nn.Module":
    """The net without memory: shapes and parameter counts only."""
    import torch

    with torch.device("meta"):
        return net.define()


def build(net: Net, seed: int) -> "nn.Module":
    """The net with the parameters that ``torch.manualSeed(seed)`` gave it in Torch7: float32, on the CPU."""
    from nets.torch7_init import initialise
    from nets.torch7_random import Generator

    # Built without memory first, so that torch.nn's own initialisation, thrown away here, costs nothing.
    module = on_meta(net).to_empty(device="cpu")
    initialise(module, Generator(seed))
    return module


def parameter_count(module: "nn.Module") -> int:
    return sum(parameter.numel() for parameter in module.parameters())
