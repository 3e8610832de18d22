"""GoogLeNet (Szegedy et al., 2014, arXiv:1409.4842), the trunk without its auxiliary classifiers."""

from typing import TYPE_CHECKING

from convnet_benchmarks.nets.net import IMAGENET, SOUMITH, Net

if TYPE_CHECKING:
    from torch import nn


def _inception(
    planes: int, one: int, three: tuple[int, int], five: tuple[int, int], pool: int
) -> "nn.Module":
    """1x1, 1x1-3x3, 1x1-5x5 and pool-1x1 branches joined along the channels."""
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import Concat, conv_relu

    return Concat(
        -3,
        nn.Sequential(*conv_relu(planes, one, 1)),
        nn.Sequential(*conv_relu(planes, three[0], 1), *conv_relu(three[0], three[1], 3, padding=1)),
        nn.Sequential(*conv_relu(planes, five[0], 1), *conv_relu(five[0], five[1], 5, padding=2)),
        nn.Sequential(nn.MaxPool2d(3, 1, 1), *conv_relu(planes, pool, 1)),
    )


def googlenet() -> "nn.Module":
    """Builds the net as soumith/convnet-benchmarks ran it: 3x224x224 to 1000 scores."""
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import View, conv_relu

    return nn.Sequential(
        *conv_relu(3, 64, 7, stride=2, padding=3),
        nn.MaxPool2d(3, 2, 1),
        *conv_relu(64, 64, 1),
        *conv_relu(64, 192, 3, padding=1),
        nn.MaxPool2d(3, 2, 1),
        _inception(192, 64, (96, 128), (16, 32), 32),
        _inception(256, 128, (128, 192), (32, 96), 64),
        nn.MaxPool2d(3, 2, 1),
        _inception(480, 192, (96, 208), (16, 48), 64),
        _inception(512, 160, (112, 224), (24, 64), 64),
        _inception(512, 128, (128, 256), (24, 64), 64),
        _inception(512, 112, (144, 288), (32, 64), 64),
        _inception(528, 256, (160, 320), (32, 128), 128),
        nn.MaxPool2d(3, 2, 1),
        _inception(832, 256, (160, 320), (32, 128), 128),
        _inception(832, 384, (192, 384), (48, 128), 128),
        nn.AvgPool2d(7, 1),
        View(1024, num_input_dims=3),
        nn.Linear(1024, 1000),
        nn.ReLU(inplace=True),
    )


NETS = (
    Net(
        "googlenet",
        googlenet,
        IMAGENET,
        f"arXiv:1409.4842; {SOUMITH}",
        "GoogLeNet",
        6_998_552,
        unbatched=True,
        original=True,
    ),
)
