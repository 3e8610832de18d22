"""VGG (Simonyan and Zisserman, 2014, arXiv:1409.1556)."""

from functools import partial
from typing import TYPE_CHECKING

from convnet_benchmarks.nets.net import DEEPMARK, GLUON, IMAGENET, SOUMITH, Net

if TYPE_CHECKING:
    from torch import nn

_STAGES = {  # 3x3 convolutions in each of the five stages, by weight layers
    11: (1, 1, 2, 2, 2),
    13: (2, 2, 2, 2, 2),
    16: (2, 2, 3, 3, 3),
    19: (2, 2, 4, 4, 4),
}
_WIDTHS = (64, 128, 256, 512, 512)


def vgg_a() -> "nn.Module":
    """Builds configuration A (11 weight layers) as soumith/convnet-benchmarks ran it: 3x224x224 to 1000
    scores."""
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import fully_connected

    return nn.Sequential(_features(11), fully_connected(512 * 7 * 7, 4096, 4096))


def vgg(depth: int, batch_norm: bool = False) -> "nn.Module":
    """Builds the net of the MXNet gluon model zoo: the convolutions keep their biases under batch
    normalisation. With 16 weight layers and without batch normalisation it is DeepMark's configuration D."""
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import dropout_classifier

    return nn.Sequential(_features(depth, batch_norm), dropout_classifier(512 * 7 * 7, 4096))


def stages(depth: int, batch_norm: bool = False) -> "list[list[nn.Module]]":
    """Builds the convolutions of the five stages, without the pooling between them."""
    from convnet_benchmarks.nets.modules.torch7 import conv_bn_relu, conv_relu

    found = []
    planes = 3
    for convolutions, width in zip(_STAGES[depth], _WIDTHS, strict=True):
        stage: list[nn.Module] = []
        for _ in range(convolutions):
            if batch_norm:
                stage += conv_bn_relu(planes, width, 3, padding=1, bias=True)
            else:
                stage += conv_relu(planes, width, 3, padding=1)
            planes = width
        found.append(stage)
    return found


def _features(depth: int, batch_norm: bool = False) -> "nn.Sequential":
    from torch import nn

    pooled = [[*stage, nn.MaxPool2d(2, 2)] for stage in stages(depth, batch_norm)]
    return nn.Sequential(*(layer for stage in pooled for layer in stage))


_PAPER = "arXiv:1409.1556"
_PARAMETERS = {11: 132_863_336, 13: 133_047_848, 16: 138_357_544, 19: 143_667_240}
_PARAMETERS_BN = {11: 132_868_840, 13: 133_053_736, 16: 138_365_992, 19: 143_678_248}
NETS = (
    Net("vgg_a", vgg_a, IMAGENET, f"{_PAPER}; {SOUMITH}", "VGG", 132_863_336, unbatched=True, original=True),
    Net("vgg_d", partial(vgg, 16), IMAGENET, f"{_PAPER}; {DEEPMARK}", "VGG", 138_357_544, unbatched=True),
    *(
        Net(f"vgg{n}", partial(vgg, n), IMAGENET, f"{_PAPER}; {GLUON}", "VGG", count, unbatched=True)
        for n, count in _PARAMETERS.items()
    ),
    *(
        Net(f"vgg{n}_bn", partial(vgg, n, True), IMAGENET, f"{_PAPER}; {GLUON}", "VGG with BN", count)
        for n, count in _PARAMETERS_BN.items()
    ),
)
