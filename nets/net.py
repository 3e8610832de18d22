"""The properties of a net that are known before it is built."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

IMAGENET = (3, 224, 224)
SOUMITH = "soumith/convnet-benchmarks"
DEEPMARK = "DeepMark/deepmark"
GLUON = "MXNet gluon model zoo"
LIST = "[]"  # the name of an input of which the net takes a list of samples


@dataclass(frozen=True)
class Input:
    """One of several inputs of a net, under its name in the forward's signature, or '' for a positional one.

    ``shape``: of the whole input, samples first. ``kind``: a number format, or how many different integers
    there are (from 0 on), as text; '' for the net's own type.
    """

    name: str
    shape: tuple[int, ...]
    kind: str = ""

    def __str__(self) -> str:
        if self.name == LIST:
            return f"[{'x'.join(map(str, self.shape[1:]))}]"
        return f"{self.name} {'x'.join(map(str, self.shape))}".strip()

    def of(self, samples: int) -> "Input":
        """Returns the input for this many samples."""
        return replace(self, shape=(samples, *self.shape[1:]))


InputSize = tuple[int, ...] | tuple[Input, ...]  # of one sample, or several inputs


def size_of(content: Any) -> InputSize | None:
    """Returns an input size from plain JSON values: numbers, or an object for each of several inputs."""
    if content is None:
        return None
    return tuple(
        Input(one["name"], tuple(one["shape"]), one["kind"]) if isinstance(one, dict) else one
        for one in content
    )


def size_text(size: InputSize) -> str:
    """Returns a size as people write it: 3x224x224, or ids 2x128, mask 2x128."""
    parts = [str(part) for part in size]
    return ", ".join(parts) if isinstance(size[0], Input) else "x".join(parts)


@dataclass(frozen=True)
class Net:
    """A net under its name. ``definition`` makes the module; it imports torch when it is called."""

    name: str
    definition: "Callable[[], nn.Module]"
    input_size: tuple[int, ...]  # of one sample: planes, height, width; or what ``tokens`` says
    source: str  # the paper, or the benchmark that ran it
    family: str = ""  # nets of one design at several sizes
    parameters: int | None = None  # numbers in parameters(); None if only building it can tell
    unbatched: bool = False  # also takes a single sample without a batch dimension, as Torch7's nets did
    tokens: int = 0  # where the input is token ids: how many there are; the ids are 0 to tokens - 1
    original: bool = (
        False  # Torch7's convnet benchmarks of 2012-2017 ran it: its kernels are theirs by default
    )
    own_parameters: bool = False  # its definition sets its parameters (from a file, or by its author)
    inputs: tuple[Input, ...] = ()  # where it takes several, in one dict; input_size is then the first one's

    def define(self) -> "nn.Module":
        """Returns the module as made by its definition, with the parameters that the current device gives
        it."""
        return self.definition()

    def sample(self, shape: tuple[int, ...], generator: "torch.Generator") -> "Tensor":
        """Draws an input of ``shape`` on the CPU: float32 normal numbers, or equally likely int64 token ids.

        A batch of N has the shape (N, *input_size).
        """
        import torch

        if self.tokens:
            return torch.randint(self.tokens, shape, generator=generator)
        return torch.randn(shape, generator=generator)
