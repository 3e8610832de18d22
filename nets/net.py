"""The facts about a net that are known before it is built."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

IMAGENET = (3, 224, 224)
SOUMITH = "soumith/convnet-benchmarks"
DEEPMARK = "DeepMark/deepmark"
GLUON = "MXNet gluon model zoo"


@dataclass(frozen=True)
class Net:
    """A net under its name. ``definition`` makes the module; it imports torch when it is called."""

    name: str
    definition: "Callable[[], nn.Module]"
    input_size: tuple[int, ...]  # of one sample: planes, height, width; or what ``tokens`` says
    source: str  # the paper, or the benchmark that ran it
    family: str = ""  # nets of one design at several sizes
    parameters: int | None = None  # numbers in parameters(); None if only building it can tell
    unbatched: bool = False  # also takes one sample without a batch dimension, as Torch7's nets did
    tokens: int = 0  # where the input is token ids: how many there are; the ids are 0 to tokens - 1
    original: bool = (
        False  # Torch7's convnet benchmarks of 2012-2017 ran it: its kernels are theirs by default
    )
    own_parameters: bool = False  # its definition gives it parameters to keep (a file's, or its author's)

    def define(self) -> "nn.Module":
        """Returns the module as its definition makes it, with whatever parameters the current device
        gives."""
        return self.definition()

    def sample(self, shape: tuple[int, ...], generator: "torch.Generator") -> "Tensor":
        """Draws an input of ``shape`` on the CPU: float32 normal numbers, or equally likely int64 token ids.

        A batch of N has the shape (N, *input_size).
        """
        import torch

        if self.tokens:
            return torch.randint(self.tokens, shape, generator=generator)
        return torch.randn(shape, generator=generator)
