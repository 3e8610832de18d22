"""DenseNet-BC (Huang et al., 2016, arXiv:1608.06993), as in the MXNet gluon model zoo."""

from functools import partial
from typing import TYPE_CHECKING

from convnet_benchmarks.nets.net import GLUON, IMAGENET, Net

if TYPE_CHECKING:
    from torch import nn

_DESIGNS = {  # first planes, growth rate, layers in each dense block, by weight layers
    121: (64, 32, (6, 12, 24, 16)),
    161: (96, 48, (6, 12, 36, 24)),
    169: (64, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
}


def densenet(depth: int) -> "nn.Module":
    """Builds the net from 3x224x224 to 1000 scores. ``depth``: 121, 161, 169 or 201."""
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import bn_relu_conv, conv_bn_relu, global_average_pooling

    planes, growth, blocks = _DESIGNS[depth]
    layers = [*conv_bn_relu(3, planes, 7, stride=2, padding=3), nn.MaxPool2d(3, 2, 1)]
    for block, count in enumerate(blocks):
        if block:  # a transition halves planes and size
            layers += [*bn_relu_conv(planes, planes // 2, 1), nn.AvgPool2d(2, 2)]
            planes //= 2
        for _ in range(count):
            layers.append(_dense_layer(planes, growth))
            planes += growth
    layers += [nn.BatchNorm2d(planes), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers, *global_average_pooling(planes), nn.Linear(planes, 1000))


def _dense_layer(planes: int, growth: int) -> "nn.Module":
    """The input and ``growth`` new planes, computed through a bottleneck four times as wide."""
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import Concat, bn_relu_conv

    width = 4 * growth
    new = nn.Sequential(*bn_relu_conv(planes, width, 1), *bn_relu_conv(width, growth, 3, padding=1))
    return Concat(-3, nn.Identity(), new)


_PARAMETERS = {121: 7_978_856, 161: 28_681_000, 169: 14_149_480, 201: 20_013_928}
NETS = tuple(
    Net(f"densenet{n}", partial(densenet, n), IMAGENET, f"arXiv:1608.06993; {GLUON}", "DenseNet", count)
    for n, count in _PARAMETERS.items()
)
