"""The interface of every algorithm of a weighted layer."""

from collections.abc import Iterator

from torch import Tensor

from convnet_benchmarks.nets.engine.weights import CachedWeight


class Kernel:
    """A weighted layer's phases, on (batch, height, width, channel) activations, for Linear (rows, channel).

    ``weight`` and ``grad_weight`` are (out, in, ...), contiguous. An algorithm need not have all three
    phases: ``algorithms.candidates`` knows which ones it has. Only copies of the weight are kept between
    calls, in attributes of type :class:`CachedWeight`, here or in the :meth:`parts`.
    """

    @property
    def adds(self) -> bool:
        """Returns whether :meth:`forward` can add to what the output holds."""
        return False

    @property
    def adds_gradient(self) -> bool:
        """Returns whether it has :meth:`add_input_gradient`."""
        return False

    def parts(self) -> "list[Kernel]":
        """Returns the kernels that this one is made of."""
        return [part for part in vars(self).values() if isinstance(part, Kernel)]

    def copies(self) -> Iterator[CachedWeight]:
        """Yields the copies of the weight."""
        yield from (kept for kept in vars(self).values() if isinstance(kept, CachedWeight))
        for part in self.parts():
            yield from part.copies()

    def invalidate(self) -> None:
        """Discards the copies of the weight."""
        for kept in self.copies():
            kept.invalidate()

    def forward(
        self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor, relu: bool, add: bool = False
    ) -> None:
        """Fills ``out``, or with ``add``, if the kernel :attr:`adds`, adds to it; then with ``relu`` negative
        values become 0."""
        raise NotImplementedError

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        """Fills ``grad_in``."""
        raise NotImplementedError

    def add_input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        """Adds to ``grad_in``."""
        raise NotImplementedError

    def weight_gradient(self, x: Tensor, grad_out: Tensor, grad_weight: Tensor) -> None:
        """Adds to ``grad_weight``."""
        raise NotImplementedError
