"""Inception v3 (Szegedy et al., 2015, arXiv:1512.00567), v4 and Inception-ResNet v2 (2016, arXiv:1602.07261).

The trunks without auxiliary classifiers, written as data. A path is a sequence of steps:
``(planes, kernel)`` a convolution that keeps the size, ``(planes, kernel, stride)`` one without padding, each
with batch normalisation and ReLU; MAX 3x3 pooling, strided, AVG and SAME_MAX, size-keeping; a list of paths,
whose outputs are joined along the channels; a ``_Residual``.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.nets.net import DEEPMARK, GLUON, Net

if TYPE_CHECKING:
    from torch import nn

MAX, AVG, SAME_MAX = "max", "avg", "same max"
_EPS = 1e-3


@dataclass(frozen=True)
class _Residual:
    """The input plus ``scale`` times a linear 1x1 convolution of the joined ``paths``."""

    paths: list[Any]
    scale: float
    relu: bool = True


def _v3_a(pool: int) -> list[Any]:
    return [
        [(64, 1)],
        [(48, 1), (64, 5)],
        [(64, 1), (96, 3), (96, 3)],
        [AVG, (pool, 1)],
    ]


def _v3_c(width: int) -> list[Any]:
    return [
        [(192, 1)],
        [(width, 1), (width, (1, 7)), (192, (7, 1))],
        [(width, 1), (width, (7, 1)), (width, (1, 7)), (width, (7, 1)), (192, (1, 7))],
        [AVG, (192, 1)],
    ]


_STEM = [(32, 3, 2), (32, 3, 1), (64, 3)]
_STEM_TO_192 = [*_STEM, MAX, (80, 1), (192, 3, 1), MAX]
_V3_B = [[(384, 3, 2)], [(64, 1), (96, 3), (96, 3, 2)], [MAX]]
_V3_D = [
    [(192, 1), (320, 3, 2)],
    [(192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3, 2)],
    [MAX],
]
_V3_FORK = [[(384, (1, 3))], [(384, (3, 1))]]
_V3_E = [
    [(320, 1)],
    [(384, 1), _V3_FORK],
    [(448, 1), (384, 3), _V3_FORK],
]
_V3_BUT_LAST = [
    *_STEM_TO_192,
    *(_v3_a(32), _v3_a(64), _v3_a(64)),
    _V3_B,
    *(_v3_c(128), _v3_c(160), _v3_c(160), _v3_c(192)),
    _V3_D,
    [*_V3_E, [AVG, (192, 1)]],
]
_V3 = [*_V3_BUT_LAST, [*_V3_E, [AVG, (192, 1)]]]
_V3_OF_THE_RELEASED_MODEL = [*_V3_BUT_LAST, [*_V3_E, [SAME_MAX, (192, 1)]]]

_V4_FORK = [[(256, (1, 3))], [(256, (3, 1))]]
_V4_A = [
    [(96, 1)],
    [(64, 1), (96, 3)],
    [(64, 1), (96, 3), (96, 3)],
    [AVG, (96, 1)],
]
_V4_B = [
    [(384, 1)],
    [(192, 1), (224, (1, 7)), (256, (7, 1))],
    [(192, 1), (192, (7, 1)), (224, (1, 7)), (224, (7, 1)), (256, (1, 7))],
    [AVG, (128, 1)],
]
_V4_C = [
    [(256, 1)],
    [(384, 1), _V4_FORK],
    [(384, 1), (448, (3, 1)), (512, (1, 3)), _V4_FORK],
    [AVG, (256, 1)],
]
_V4 = [
    *_STEM,
    [[MAX], [(96, 3, 2)]],
    [[(64, 1), (96, 3, 1)], [(64, 1), (64, (1, 7)), (64, (7, 1)), (96, 3, 1)]],
    [[(192, 3, 2)], [MAX]],
    *[_V4_A] * 4,
    [[(384, 3, 2)], [(192, 1), (224, 3), (256, 3, 2)], [MAX]],
    *[_V4_B] * 7,
    [[(192, 1), (192, 3, 2)], [(256, 1), (256, (1, 7)), (320, (7, 1)), (320, 3, 2)], [MAX]],
    *[_V4_C] * 3,
]

_RESNET_A = _Residual([[(32, 1)], [(32, 1), (32, 3)], [(32, 1), (48, 3), (64, 3)]], 0.17)
_RESNET_B = _Residual([[(192, 1)], [(128, 1), (160, (1, 7)), (192, (7, 1))]], 0.1)
_RESNET_C = _Residual([[(192, 1)], [(192, 1), (224, (1, 3)), (256, (3, 1))]], 0.2)
_RESNET_V2 = [
    *_STEM_TO_192,
    [[(96, 1)], [(48, 1), (64, 5)], [(64, 1), (96, 3), (96, 3)], [AVG, (64, 1)]],
    *[_RESNET_A] * 10,
    [[(384, 3, 2)], [(256, 1), (256, 3), (384, 3, 2)], [MAX]],
    *[_RESNET_B] * 20,
    [[(256, 1), (384, 3, 2)], [(256, 1), (288, 3, 2)], [(256, 1), (288, 3), (320, 3, 2)], [MAX]],
    *[_RESNET_C] * 9,
    replace(_RESNET_C, scale=1.0, relu=False),
    (1536, 1),
]


def inception_v3() -> "nn.Module":
    """Builds the net from 3x299x299 to 1000 scores, as in the MXNet gluon model zoo."""
    return _with_classifier(_V3, dropout=0.5)


def inception_v3_deepmark() -> "nn.Module":
    """Builds the net from 3x299x299 to 1008 scores as DeepMark ran it: that of Moodstocks/inception-v3.torch.

    It has the released TensorFlow model's layers: the last block pools by the maximum.
    """
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import UnbiasedConv2d, View

    features, planes = _Builder(UnbiasedConv2d).path(3, _V3_OF_THE_RELEASED_MODEL)
    return nn.Sequential(*features, nn.AvgPool2d(8, 1), View(-1, num_input_dims=3), nn.Linear(planes, 1008))


def inception_v4() -> "nn.Module":
    """Builds the net from 3x299x299 to 1000 scores."""
    return _with_classifier(_V4, dropout=0.2)


def inception_resnet_v2() -> "nn.Module":
    """Builds the net from 3x299x299 to 1000 scores: the widths and scales of the authors' code, which differ
    from the paper's."""
    return _with_classifier(_RESNET_V2, dropout=0.2)


def _with_classifier(path: list[Any], dropout: float) -> "nn.Sequential":
    from torch import nn

    from convnet_benchmarks.nets.modules.torch7 import global_average_pooling

    features, planes = _Builder(nn.Conv2d).path(3, path)
    classifier = [*global_average_pooling(planes), nn.Dropout(dropout), nn.Linear(planes, 1000)]
    return nn.Sequential(*features, *classifier)


@dataclass(frozen=True)
class _Builder:
    """Makes layers of the data above, with convolutions of the class ``convolution``."""

    convolution: "type[nn.Conv2d]"

    def path(self, planes: int, steps: list[Any]) -> tuple[list["nn.Module"], int]:
        """Returns the layers of a path that gets ``planes`` planes, and how many it gives."""
        layers: list[nn.Module] = []
        for step in steps:
            more, planes = self._step(planes, step)
            layers += more
        return layers, planes

    def _step(self, planes: int, step: Any) -> tuple[list["nn.Module"], int]:
        from torch import nn

        from convnet_benchmarks.nets.modules.torch7 import MulConstant, residual

        if step == MAX:
            return [nn.MaxPool2d(3, 2)], planes
        if step == SAME_MAX:
            return [nn.MaxPool2d(3, 1, 1)], planes
        if step == AVG:
            return [nn.AvgPool2d(3, 1, 1)], planes
        if isinstance(step, list):
            joined, out = self._join(planes, step)
            return [joined], out
        if isinstance(step, _Residual):
            joined, width = self._join(planes, step.paths)
            body = [joined, nn.Conv2d(width, planes, 1), MulConstant(step.scale)]
            return [residual(body), *([nn.ReLU(inplace=True)] if step.relu else [])], planes
        return self._normalised(planes, *step), step[0]

    def _join(self, planes: int, paths: list[Any]) -> tuple["nn.Module", int]:
        from torch import nn

        from convnet_benchmarks.nets.modules.torch7 import Concat

        built = [self.path(planes, path) for path in paths]
        return Concat(-3, *(nn.Sequential(*layers) for layers, _ in built)), sum(out for _, out in built)

    def _normalised(
        self, planes: int, out: int, kernel: int | tuple[int, int], stride: int | None = None
    ) -> list["nn.Module"]:
        from torch import nn

        height, width = (kernel, kernel) if isinstance(kernel, int) else kernel
        padding = (height // 2, width // 2) if stride is None else 0
        convolution = self.convolution(planes, out, kernel, stride or 1, padding, bias=False)
        return [convolution, nn.BatchNorm2d(out, _EPS), nn.ReLU(inplace=True)]


_SIZE = (3, 299, 299)
_V4_PAPER = "arXiv:1602.07261"
NETS = (
    Net("inceptionv3", inception_v3, _SIZE, f"arXiv:1512.00567; {GLUON}", "Inception", 23_834_568),
    Net(
        "inceptionv3_deepmark",
        inception_v3_deepmark,
        _SIZE,
        f"arXiv:1512.00567; {DEEPMARK}",
        "Inception",
        23_850_960,
    ),
    Net("inceptionv4", inception_v4, _SIZE, _V4_PAPER, "Inception", 42_679_816),
    Net("inception_resnet_v2", inception_resnet_v2, _SIZE, _V4_PAPER, "Inception-ResNet", 55_843_464),
)
