"""Preserves and watches the state of a module on a GPU: gradients, statistics, random numbers, memory,
modes."""

import contextlib
from collections.abc import Iterator

import torch
from torch import nn

from convnet_benchmarks.nets.state.kept_state import KeptState


@contextlib.contextmanager
def all_kept(module: nn.Module) -> Iterator[None]:
    """Restores the module's buffers and gradients, and the random generators, afterwards."""
    gradients = [
        (one, one.grad, None if one.grad is None else one.grad.clone()) for one in module.parameters()
    ]
    random = torch.cuda.get_rng_state()
    try:
        with KeptState(module, parameters=True):
            yield
    finally:
        with torch.no_grad():
            for parameter, gradient, before in gradients:
                if gradient is not None and before is not None:
                    gradient.copy_(before)
                parameter.grad = gradient
        torch.cuda.set_rng_state(random)


class Watched:
    """Checks whether a module still has the memory and the modes that a CUDA graph was captured with."""

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        self._captured = self._now()

    def changed(self) -> bool:
        return self._now() != self._captured

    def _now(self) -> list[object]:
        module = self._module
        memory = [one.data_ptr() for one in (*module.parameters(), *module.buffers())]
        wanted = [one.requires_grad for one in module.parameters()]
        return [*memory, *wanted, *(part.training for part in module.modules())]
