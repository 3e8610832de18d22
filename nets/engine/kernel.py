"""What every algorithm of a weighted layer looks like."""

from torch import Tensor


class Kernel:
    """A layer's weighted phases, on (batch, height, width, channel) activations, for Linear (rows, channel).

    ``weight`` and ``grad_weight`` are (out, in, ...), contiguous. An algorithm need not have all three
    phases: ``algorithms.candidates`` knows which it is for. Nothing is kept between calls but copies of the
    weight.
    """

    def invalidate(self) -> None:
        """Forgets the copies of the weight."""

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor, relu: bool) -> None:
        """Fills ``out``; with ``relu`` its negative values become 0."""
        raise NotImplementedError

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        """Fills ``grad_in``."""
        raise NotImplementedError

    def weight_gradient(self, x: Tensor, grad_out: Tensor, grad_weight: Tensor) -> None:
        """Adds to ``grad_weight``."""
        raise NotImplementedError
