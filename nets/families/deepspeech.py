"""Deep Speech 2 (Amodei et al., 2015, arXiv:1512.02595): convolutions and recurrent layers on sound."""

from typing import TYPE_CHECKING

from convnet_benchmarks.nets.net import DEEPMARK, Net

if TYPE_CHECKING:
    from torch import nn

_FREQUENCIES, _FRAMES = 161, 100  # of the shortest utterances that DeepMark draws
_CHARACTERS = 29
_CEILING = 20.0  # of its clipped ReLUs


def deepspeech2(width: int = 1760, layers: int = 7) -> "nn.Module":
    """Builds the net as DeepMark ran it: 1x161xframes to the scores of 29 characters, (steps, batch, 29).

    ``layers`` recurrent ReLU layers of ``width`` units, each in both directions over a normalised product of
    its input; the directions are added.
    """
    from torch import nn

    from convnet_benchmarks.nets.modules.speech import BidirectionalReLU, ColumnsToSteps

    def convolution(n_in: int, size: tuple[int, int], stride: tuple[int, int]) -> list[nn.Module]:
        return [
            nn.Conv2d(n_in, 32, size, stride),
            nn.BatchNorm2d(32),
            nn.Hardtanh(0.0, _CEILING, inplace=True),
        ]

    features = 32 * 75
    recurrent = [BidirectionalReLU(width if layer else features, width, _CEILING) for layer in range(layers)]
    return nn.Sequential(
        *convolution(1, (5, 20), (2, 2)),
        *convolution(32, (5, 10), (1, 2)),
        ColumnsToSteps(),
        *recurrent,
        nn.Linear(width, _CHARACTERS),
    )


_SOURCE = f"arXiv:1512.02595; {DEEPMARK}"
NETS = (Net("deepspeech2", deepspeech2, (1, _FREQUENCIES, _FRAMES), _SOURCE, "Deep Speech 2", 66_355_581),)
