"""Faster R-CNN (Ren et al., 2015, arXiv:1506.01497) on VGG-16."""

from typing import TYPE_CHECKING

from convnet_benchmarks.nets.families.vgg import stages
from convnet_benchmarks.nets.net import Net

if TYPE_CHECKING:
    from torch import nn

_VOC = 21  # classes, the background among them
_STRIDE = 16  # image pixels per element of the last feature map


def faster_rcnn_vgg16(classes: int = _VOC, proposals: int = 300, hidden: int = 4096) -> "nn.Module":
    """Builds the net from 3x600x800 (or another size) to the inputs of both losses: see ``FasterRCNN``."""
    from torch import nn

    from convnet_benchmarks.nets.modules.detection import FasterRCNN, Proposals, RegionPooling
    from convnet_benchmarks.nets.modules.torch7 import View

    *pooled, last = stages(16)
    features = [layer for stage in pooled for layer in (*stage, nn.MaxPool2d(2, 2))]
    pooled_size = 7
    layers: list[nn.Module] = [View(512 * pooled_size**2, num_input_dims=3)]
    for n_in in (512 * pooled_size**2, hidden):
        layers += [nn.Linear(n_in, hidden), nn.ReLU(inplace=True), nn.Dropout(0.5)]
    return FasterRCNN(
        nn.Sequential(*features, *last),
        512,
        Proposals(_STRIDE, count=proposals),
        RegionPooling(_STRIDE, pooled_size),
        nn.Sequential(*layers),
        hidden,
        classes,
    )


NETS = (
    Net(
        "faster_rcnn_vgg16",
        faster_rcnn_vgg16,
        (3, 600, 800),
        "arXiv:1506.01497; PASCAL VOC",
        "Faster R-CNN",
        137_078_239,
    ),
)
