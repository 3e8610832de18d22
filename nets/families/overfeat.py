"""OverFeat (Sermanet et al., 2013, arXiv:1312.6229): the accurate and the fast model."""

from typing import TYPE_CHECKING

from convnet_benchmarks.nets.net import SOUMITH, Net

if TYPE_CHECKING:
    from torch import nn


def overfeat_accurate() -> "nn.Module":
    """Builds the legacy scripts' net: all convolutions, 3x221x221 to 1000 log-probabilities."""
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import View, conv_relu

    return nn.Sequential(
        *conv_relu(3, 96, 7, stride=2),
        nn.MaxPool2d(3, 3),
        *conv_relu(96, 256, 7),
        nn.MaxPool2d(2, 2),
        *conv_relu(256, 512, 3, padding=1),
        *conv_relu(512, 512, 3, padding=1),
        *conv_relu(512, 1024, 3, padding=1),
        *conv_relu(1024, 1024, 3, padding=1),
        nn.MaxPool2d(3, 3),
        *conv_relu(1024, 4096, 5),
        *conv_relu(4096, 4096, 1),
        nn.Conv2d(4096, 1000, 1),
        View(1000),
        nn.LogSoftmax(dim=-1),
    )


def overfeat_fast() -> "nn.Module":
    """Builds the fast model as soumith/convnet-benchmarks ran it: 3x231x231 to 1000 scores."""
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import conv_relu, fully_connected

    features = nn.Sequential(
        *conv_relu(3, 96, 11, stride=4),
        nn.MaxPool2d(2, 2),
        *conv_relu(96, 256, 5),
        nn.MaxPool2d(2, 2),
        *conv_relu(256, 512, 3, padding=1),
        *conv_relu(512, 1024, 3, padding=1),
        *conv_relu(1024, 1024, 3, padding=1),
        nn.MaxPool2d(2, 2),
    )
    return nn.Sequential(features, fully_connected(1024 * 6 * 6, 3072, 4096))


_PAPER = "arXiv:1312.6229"
NETS = (
    Net(
        "overfeat_accurate",
        overfeat_accurate,
        (3, 221, 221),
        f"{_PAPER}; the net of benchmark.lua and benchmark_criterion.lua",
        "OverFeat",
        144_656_488,
        unbatched=True,
        original=True,
    ),
    Net(
        "overfeat_fast",
        overfeat_fast,
        (3, 231, 231),
        f"{_PAPER}; {SOUMITH}",
        "OverFeat",
        145_920_872,
        unbatched=True,
        original=True,
    ),
)
