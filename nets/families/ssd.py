"""SSD (Liu et al., 2015, arXiv:1512.02325) on VGG-16, and on MobileNet (arXiv:1704.04861, section 4.6).

Both give the class scores and box offsets of every anchor; decoding and suppression come after the net.
"""

from typing import TYPE_CHECKING

from convnet_benchmarks.nets.families.mobilenet import features
from convnet_benchmarks.nets.families.vgg import stages
from convnet_benchmarks.nets.net import Net

if TYPE_CHECKING:
    from torch import nn

_SIZE = (3, 300, 300)
_VOC = 21  # classes, the background among them
_COCO = 91


def ssd_vgg16(classes: int = _VOC) -> "nn.Module":
    """Builds SSD300: 3x300x300 to scores (8732, classes) and offsets (8732, 4)."""
    from torch import nn

    from convnet_benchmarks.nets.modules.detection import SSD, ScaledUnitNorm
    from convnet_benchmarks.nets.modules.torch7 import conv_relu

    one, two, three, four, five = stages(16)
    up_to_conv4 = [
        *(*one, nn.MaxPool2d(2, 2)),
        *(*two, nn.MaxPool2d(2, 2)),
        *(*three, nn.MaxPool2d(2, 2, ceil_mode=True)),
        *four,
    ]
    up_to_fc7 = [
        *(nn.MaxPool2d(2, 2), *five, nn.MaxPool2d(3, 1, 1)),
        *(nn.Conv2d(512, 1024, 3, padding=6, dilation=6), nn.ReLU(inplace=True)),
        *conv_relu(1024, 1024, 1),
    ]
    maps = [
        (nn.Sequential(*up_to_conv4), 512, 4),
        (nn.Sequential(*up_to_fc7), 1024, 6),
        (_narrowing(1024, 256, 512, stride=2, padding=1), 512, 6),
        (_narrowing(512, 128, 256, stride=2, padding=1), 256, 6),
        (_narrowing(256, 128, 256), 256, 4),
        (_narrowing(256, 128, 256), 256, 4),
    ]
    return SSD(maps, classes, kernel=3, first_norm=ScaledUnitNorm(512, 20.0))


def ssd_mobilenet(classes: int = _COCO) -> "nn.Module":
    """Builds the net from 3x300x300 to scores (1917, classes) and offsets (1917, 4); predictions by 1x1
    convolutions."""
    from torch import nn

    from convnet_benchmarks.nets.modules.detection import SSD

    layers, _ = features(1.0)
    last_two_pairs = 2 * 6  # six layers in each pair of convolutions
    maps = [
        (nn.Sequential(*layers[:-last_two_pairs]), 512, 3),
        (nn.Sequential(*layers[-last_two_pairs:]), 1024, 6),
        (_narrowing(1024, 256, 512, stride=2, padding=1), 512, 6),
        (_narrowing(512, 128, 256, stride=2, padding=1), 256, 6),
        (_narrowing(256, 128, 256, stride=2, padding=1), 256, 6),
        (_narrowing(256, 64, 128, stride=2, padding=1), 128, 6),
    ]
    return SSD(maps, classes, kernel=1)


def _narrowing(planes: int, width: int, out: int, stride: int = 1, padding: int = 0) -> "nn.Sequential":
    """A 1x1 and a 3x3 convolution to a smaller map."""
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import conv_relu

    return nn.Sequential(*conv_relu(planes, width, 1), *conv_relu(width, out, 3, stride, padding))


NETS = (
    Net("ssd_vgg16", ssd_vgg16, _SIZE, "arXiv:1512.02325; SSD300, PASCAL VOC", "SSD", 26_285_486),
    Net("ssd_mobilenet", ssd_mobilenet, _SIZE, "arXiv:1704.04861; SSD300, COCO", "SSD", 6_818_111),
)
