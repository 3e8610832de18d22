"""ResNet, v1 (He et al., 2015, arXiv:1512.03385) and v2 (pre-activation; 2016, arXiv:1603.05027).

As in the MXNet gluon model zoo: in v1 the 1x1 convolutions of a bottleneck have biases and the first of them
strides; v2 normalises its input, without learning a scale. In DeepMark's ResNet-50 every convolution has a
bias, and the 3x3 convolutions stride.
"""

from functools import partial
from typing import TYPE_CHECKING

from convnet_benchmarks.nets.net import DEEPMARK, GLUON, IMAGENET, Net

if TYPE_CHECKING:
    from torch import nn

_BLOCKS = {  # blocks in each of the four stages, by weight layers
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
}
_FIRST_BOTTLENECK = 50  # from this depth on, blocks are bottlenecks
_WIDTHS = (64, 128, 256, 512)  # of the 3x3 convolutions; a bottleneck's output is four times as wide


def resnet_v1(depth: int) -> "nn.Module":
    """Builds the net from 3x224x224 to 1000 scores. ``depth``: 18, 34, 50, 101 or 152."""
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import conv_bn_relu, global_average_pooling

    layers = [*conv_bn_relu(3, 64, 7, stride=2, padding=3), nn.MaxPool2d(3, 2, 1)]
    planes = 64
    for width, out, stride in _blocks(depth):
        layers += _block_v1(planes, width, out, stride)
        planes = out
    return nn.Sequential(*layers, *global_average_pooling(planes), nn.Linear(planes, 1000))


def resnet_v2(depth: int) -> "nn.Module":
    """Builds the net from 3x224x224 to 1000 scores. ``depth``: 18, 34, 50, 101 or 152."""
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import conv_bn_relu, global_average_pooling

    input_norm = nn.BatchNorm2d(3)
    input_norm.requires_grad_(False)
    layers = [input_norm, *conv_bn_relu(3, 64, 7, stride=2, padding=3), nn.MaxPool2d(3, 2, 1)]
    planes = 64
    for width, out, stride in _blocks(depth):
        layers += _block_v2(planes, width, out, stride)
        planes = out
    layers += [nn.BatchNorm2d(planes), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers, *global_average_pooling(planes), nn.Linear(planes, 1000))


def resnet50_deepmark() -> "nn.Module":
    """Builds the net from 3x224x224 to 1000 scores as DeepMark ran it, with its containers."""
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import View, conv_bn_relu

    planes, stages = 64, [nn.Sequential() for _ in _WIDTHS]
    for width, out, stride in _blocks(_FIRST_BOTTLENECK):
        stages[_WIDTHS.index(width)].append(_block_deepmark(planes, width, out, stride))
        planes = out
    return nn.Sequential(
        *conv_bn_relu(3, 64, 7, stride=2, padding=3, bias=True),
        nn.MaxPool2d(3, 2, 1),
        *stages,
        nn.AvgPool2d(7, 1),
        View(planes, num_input_dims=3),
        nn.Linear(planes, 1000),
    )


def _blocks(depth: int) -> list[tuple[int, int, int]]:
    """Width, output planes and stride of every block."""
    expansion = 4 if depth >= _FIRST_BOTTLENECK else 1
    return [
        (width, width * expansion, 2 if stage > 0 and block == 0 else 1)
        for stage, (count, width) in enumerate(zip(_BLOCKS[depth], _WIDTHS, strict=True))
        for block in range(count)
    ]


def _block_v1(planes: int, width: int, out: int, stride: int) -> list["nn.Module"]:
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import conv_bn, conv_bn_relu, residual

    if out == width:
        body = [*conv_bn_relu(planes, width, 3, stride, 1), *conv_bn(width, out, 3, padding=1)]
    else:
        body = [
            *conv_bn_relu(planes, width, 1, stride, bias=True),
            *conv_bn_relu(width, width, 3, padding=1),
            *conv_bn(width, out, 1, bias=True),
        ]
    shortcut = None if planes == out else nn.Sequential(*conv_bn(planes, out, 1, stride))
    return [residual(body, shortcut), nn.ReLU(inplace=True)]


def _block_deepmark(planes: int, width: int, out: int, stride: int) -> "nn.Sequential":
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import conv_bn, conv_bn_relu, residual

    body = [
        *conv_bn_relu(planes, width, 1, bias=True),
        *conv_bn_relu(width, width, 3, stride, 1, bias=True),
        *conv_bn(width, out, 1, bias=True),
    ]
    shortcut = None if planes == out else nn.Sequential(*conv_bn(planes, out, 1, stride, bias=True))
    return residual(body, shortcut).append(nn.ReLU(inplace=True))


def _block_v2(planes: int, width: int, out: int, stride: int) -> list["nn.Module"]:
    """Where the shape changes, the shortcut starts after the first activation, else before it."""
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import bn_relu_conv, residual

    activation = [nn.BatchNorm2d(planes), nn.ReLU(inplace=True)]
    if out == width:
        body: list[nn.Module] = [
            nn.Conv2d(planes, width, 3, stride, 1, bias=False),
            *bn_relu_conv(width, out, 3, padding=1),
        ]
    else:
        body = [
            nn.Conv2d(planes, width, 1, bias=False),
            *bn_relu_conv(width, width, 3, stride, 1),
            *bn_relu_conv(width, out, 1),
        ]
    if planes == out:
        return [residual([*activation, *body])]
    return [*activation, residual(body, nn.Conv2d(planes, out, 1, stride, bias=False))]


_PARAMETERS_V1 = {18: 11_689_512, 34: 21_797_672, 50: 25_575_912, 101: 44_589_800, 152: 60_252_648}
_PARAMETERS_V2 = {18: 11_687_854, 34: 21_796_014, 50: 25_549_486, 101: 44_541_614, 152: 60_185_262}
_SOURCE_V1 = f"arXiv:1512.03385; {GLUON}"
_SOURCE_V2 = f"arXiv:1603.05027; {GLUON}"
NETS = (
    Net(
        "resnet50_deepmark",
        resnet50_deepmark,
        IMAGENET,
        f"arXiv:1512.03385; {DEEPMARK}",
        "ResNet v1",
        25_583_592,
    ),
    *(
        Net(f"resnet{depth}_v1", partial(resnet_v1, depth), IMAGENET, _SOURCE_V1, "ResNet v1", count)
        for depth, count in _PARAMETERS_V1.items()
    ),
    *(
        Net(f"resnet{depth}_v2", partial(resnet_v2, depth), IMAGENET, _SOURCE_V2, "ResNet v2", count)
        for depth, count in _PARAMETERS_V2.items()
    ),
)
