"""SqueezeNet (Iandola et al., 2016, arXiv:1602.07360) 1.0 and its authors' cheaper 1.1."""

from typing import TYPE_CHECKING

from convnet_benchmarks.nets.net import GLUON, IMAGENET, Net

if TYPE_CHECKING:
    from torch import nn


def _fire(planes: int, squeeze: int, expand: int) -> "nn.Sequential":
    """Squeezes to ``squeeze`` planes, expands to ``expand`` by 1x1 and as many by 3x3 convolutions."""
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import Concat, conv_relu

    return nn.Sequential(
        *conv_relu(planes, squeeze, 1),
        Concat(
            -3,
            nn.Sequential(*conv_relu(squeeze, expand, 1)),
            nn.Sequential(*conv_relu(squeeze, expand, 3, padding=1)),
        ),
    )


def squeezenet_1_0() -> "nn.Module":
    """Builds the net from 3x224x224 to 1000 scores; pools after the 1st, 4th and 8th module."""
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import conv_relu

    return _with_classifier(
        *conv_relu(3, 96, 7, stride=2),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        _fire(96, 16, 64),
        _fire(128, 16, 64),
        _fire(128, 32, 128),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        _fire(256, 32, 128),
        _fire(256, 48, 192),
        _fire(384, 48, 192),
        _fire(384, 64, 256),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        _fire(512, 64, 256),
    )


def squeezenet_1_1() -> "nn.Module":
    """Builds the net from 3x224x224 to 1000 scores; smaller first kernels and earlier pools than 1.0."""
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import conv_relu

    return _with_classifier(
        *conv_relu(3, 64, 3, stride=2),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        _fire(64, 16, 64),
        _fire(128, 16, 64),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        _fire(128, 32, 128),
        _fire(256, 32, 128),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        _fire(256, 48, 192),
        _fire(384, 48, 192),
        _fire(384, 64, 256),
        _fire(512, 64, 256),
    )


def _with_classifier(*features: "nn.Module") -> "nn.Sequential":
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import conv_relu, global_average_pooling

    classifier = [nn.Dropout(0.5), *conv_relu(512, 1000, 1), *global_average_pooling(1000)]
    return nn.Sequential(*features, *classifier)


_SOURCE = f"arXiv:1602.07360; {GLUON}"
NETS = (
    Net("squeezenet1.0", squeezenet_1_0, IMAGENET, _SOURCE, "SqueezeNet", 1_248_424, unbatched=True),
    Net("squeezenet1.1", squeezenet_1_1, IMAGENET, _SOURCE, "SqueezeNet", 1_235_496, unbatched=True),
)
