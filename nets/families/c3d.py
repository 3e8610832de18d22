"""C3D (Tran et al., 2014, arXiv:1412.0767): a VGG of 3x3x3 convolutions over short films."""

from typing import TYPE_CHECKING

from convnet_benchmarks.nets.net import DEEPMARK, Net

if TYPE_CHECKING:
    from torch import nn

_STAGES = ((64,), (128,), (256, 256), (512, 512), (512, 512))  # planes of the convolutions between poolings
_UCF_101 = 101


def c3d() -> "nn.Module":
    """Builds the net as DeepMark ran it: 16 frames of 112x112, in three planes, to 101 scores."""
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import dropout_classifier

    layers: list[nn.Module] = []
    planes = 3
    for stage, widths in enumerate(_STAGES):
        for width in widths:
            layers += [nn.Conv3d(planes, width, 3, padding=1), nn.ReLU(inplace=True)]
            planes = width
        window = (1, 2, 2) if stage == 0 else (2, 2, 2)  # the first pooling keeps all frames
        layers.append(nn.MaxPool3d(window, window, ceil_mode=True))
    return nn.Sequential(nn.Sequential(*layers), dropout_classifier(planes * 4 * 4, 4096, _UCF_101, 4))


NETS = (Net("c3d", c3d, (3, 16, 112, 112), f"arXiv:1412.0767; {DEEPMARK}", "C3D", 78_409_573),)
