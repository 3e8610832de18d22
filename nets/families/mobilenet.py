"""MobileNet (Howard et al., 2017, arXiv:1704.04861) and MobileNetV2 (Sandler et al., 2018, arXiv:1801.04381).

As in the MXNet gluon model zoo: widths are rounded down, V2's first block expands by a 1x1 convolution like
the others, and its last layer has no bias.
"""

from functools import partial
from typing import TYPE_CHECKING

from convnet_benchmarks.nets.net import GLUON, IMAGENET, Net

if TYPE_CHECKING:
    from torch import nn

# V1: output planes and stride of each pair of a depthwise and a 1x1 convolution.
_V1_PAIRS = (
    *((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)),
    *((512, 1),) * 5,
    *((1024, 2), (1024, 1)),
)
# V2: expansion, output planes, blocks and stride of the first block of each stage.
_V2_STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
_V2_LAST = 1280


def mobilenet(width: float) -> "nn.Module":
    """Builds the net from 3x224x224 to 1000 scores; ``width`` multiplies the planes of every layer."""
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import global_average_pooling

    layers, planes = features(width)
    return nn.Sequential(*layers, *global_average_pooling(planes), nn.Linear(planes, 1000))


def features(width: float) -> "tuple[list[nn.Module], int]":
    """Builds the convolutions of ``mobilenet``, and the planes of the last one."""
    from convnet_benchmarks.nets.modules.torch7 import conv_bn_relu

    planes = int(32 * width)
    layers = conv_bn_relu(3, planes, 3, stride=2, padding=1)
    for full, stride in _V1_PAIRS:
        out = int(full * width)
        layers += conv_bn_relu(planes, planes, 3, stride, 1, groups=planes)
        layers += conv_bn_relu(planes, out, 1)
        planes = out
    return layers, planes


def mobilenet_v2(width: float) -> "nn.Module":
    """Builds the net from 3x224x224 to 1000 scores; ``width`` multiplies the planes of every layer but the
    last."""
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import conv_bn, global_average_pooling

    planes = int(32 * width)
    layers = [*conv_bn(3, planes, 3, stride=2, padding=1), nn.ReLU6(inplace=True)]
    for expansion, full, blocks, first_stride in _V2_STAGES:
        out = int(full * width)
        for block in range(blocks):
            layers.append(_inverted_residual(planes, out, expansion, 1 if block else first_stride))
            planes = out
    layers += [*conv_bn(planes, _V2_LAST, 1), nn.ReLU6(inplace=True)]
    layers += global_average_pooling(_V2_LAST)
    return nn.Sequential(*layers, nn.Linear(_V2_LAST, 1000, bias=False))


def _inverted_residual(planes: int, out: int, expansion: int, stride: int) -> "nn.Module":
    """1x1 to ``expansion`` times the planes, depthwise 3x3, 1x1 to ``out``; a residual where shapes agree."""
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import conv_bn, residual

    width = planes * expansion
    body = [
        *conv_bn(planes, width, 1),
        nn.ReLU6(inplace=True),
        *conv_bn(width, width, 3, stride, 1, groups=width),
        nn.ReLU6(inplace=True),
        *conv_bn(width, out, 1),
    ]
    return residual(body) if stride == 1 and planes == out else nn.Sequential(*body)


_PARAMETERS = {1.0: 4_231_976, 0.75: 2_585_560, 0.5: 1_331_592, 0.25: 470_072}
_PARAMETERS_V2 = {1.0: 3_504_960, 0.75: 2_627_592, 0.5: 1_964_736, 0.25: 1_516_392}
_SOURCE = f"arXiv:1704.04861; {GLUON}"
_SOURCE_V2 = f"arXiv:1801.04381; {GLUON}"
NETS = (
    *(
        Net(f"mobilenet{width}", partial(mobilenet, width), IMAGENET, _SOURCE, "MobileNet", count)
        for width, count in _PARAMETERS.items()
    ),
    *(
        Net(f"mobilenetv2_{width}", partial(mobilenet_v2, width), IMAGENET, _SOURCE_V2, "MobileNetV2", count)
        for width, count in _PARAMETERS_V2.items()
    ),
)
