"""AlexNet in one tower (Krizhevsky, "One weird trick", 2014, arXiv:1404.5997)."""

from typing import TYPE_CHECKING

from convnet_benchmarks.nets.net import DEEPMARK, GLUON, IMAGENET, SOUMITH, Net

if TYPE_CHECKING:
    from torch import nn


def alexnet_owt() -> "nn.Module":
    """Builds the net as soumith/convnet-benchmarks ran it: 3x224x224 to 1000 scores."""
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import fully_connected

    return nn.Sequential(_features(), fully_connected(256 * 6 * 6, 4096, 4096))


def alexnet() -> "nn.Module":
    """Builds the net of the MXNet gluon model zoo: with dropout, and ReLUs all through."""
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import dropout_classifier

    return nn.Sequential(_features(), dropout_classifier(256 * 6 * 6, 4096))


def alexnet_deepmark() -> "nn.Module":
    """Builds the net as DeepMark ran it: soumith's, with dropout before the first two Linear layers."""
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import View

    classifier = [
        View(256 * 6 * 6),
        nn.Dropout(0.5),
        nn.Linear(256 * 6 * 6, 4096),
        nn.Threshold(0, 1e-6),
        nn.Dropout(0.5),
        nn.Linear(4096, 4096),
        nn.Threshold(0, 1e-6),
        nn.Linear(4096, 1000),
    ]
    return nn.Sequential(_features(), nn.Sequential(*classifier))


def _features() -> "nn.Sequential":
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import conv_relu

    return nn.Sequential(
        *conv_relu(3, 64, 11, stride=4, padding=2),
        nn.MaxPool2d(3, 2),
        *conv_relu(64, 192, 5, padding=2),
        nn.MaxPool2d(3, 2),
        *conv_relu(192, 384, 3, padding=1),
        *conv_relu(384, 256, 3, padding=1),
        *conv_relu(256, 256, 3, padding=1),
        nn.MaxPool2d(3, 2),
    )


_PAPER = "arXiv:1404.5997"
NETS = (
    Net(
        "alexnet_owt",
        alexnet_owt,
        IMAGENET,
        f"{_PAPER}; {SOUMITH}",
        "AlexNet",
        61_100_840,
        unbatched=True,
        original=True,
    ),
    Net(
        "alexnet_deepmark",
        alexnet_deepmark,
        IMAGENET,
        f"{_PAPER}; {DEEPMARK}",
        "AlexNet",
        61_100_840,
        unbatched=True,
    ),
    Net("alexnet", alexnet, IMAGENET, f"{_PAPER}; {GLUON}", "AlexNet", 61_100_840, unbatched=True),
)
