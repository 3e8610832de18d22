"""Modules made of modules."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from convnet_benchmarks.nets.modules.torch7 import Concat, ConcatTable
from lua_compat.torch_modules import shape
from lua_compat.torch_modules.base import InPlace

# Their output shares memory with their input.
_VIEWS = (nn.Identity, nn.Flatten, nn.Unflatten, InPlace)


def share_input(*branches: nn.Module) -> bool:
    """Makes layers that overwrite the branches' common input do so; returns whether there are any.

    All branches then see the overwritten values, as in Torch7. While autograd records, the caller passes a
    copy of the input, because the operation that produced it may need it for its gradient.
    """
    found = [layer for branch in branches for layer in _overwriting(branch)]
    for layer in found:
        layer.shared = True
    return bool(found)


def _overwriting(module: nn.Module) -> list[InPlace]:
    """Returns the layers that overwrite the module's input."""
    found: list[InPlace] = []
    if isinstance(module, InPlace):
        with torch.no_grad():
            return [module] if module.inplace else []
    if isinstance(module, nn.Sequential):
        for child in module:
            found += _overwriting(child)
            if not isinstance(child, _VIEWS) and type(child).__module__ != shape.__name__:
                break
    elif isinstance(module, Concat | ConcatTable | DepthConcat):
        for branch in module.branches if isinstance(module, Concat) else module:
            found += _overwriting(branch)
    return found


def copied(input: Any) -> Any:
    """Returns a tensor, or the tensors of a table, copied while autograd records; otherwise unchanged."""
    if not torch.is_grad_enabled():
        return input
    return input.clone() if isinstance(input, Tensor) else [copied(item) for item in input]


class SharedConcat(Concat):
    """A Concat some of whose branches overwrite their input."""

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(copied(input))


class SharedConcatTable(ConcatTable):
    """A ConcatTable some of whose children overwrite their input."""

    def forward(self, input: Any) -> list[Any]:
        return super().forward(copied(input))


class ParallelTable(nn.ModuleList):
    """The i-th child on the i-th element of the table."""

    def forward(self, input: list[Any]) -> list[Any]:
        return [module(element) for module, element in zip(self, input, strict=False)]


class MapTable(nn.ModuleList):
    """The one child on each element of the table."""

    def forward(self, input: list[Any]) -> list[Any]:
        return [self[0](element) for element in input]


class Parallel(nn.ModuleList):
    """The i-th child on the i-th slice of ``inputDimension``; joined along ``outputDimension``."""

    def __init__(self, modules: list[nn.Module], inputDimension: int, outputDimension: int) -> None:
        super().__init__(modules)
        self.inputDimension = inputDimension
        self.outputDimension = outputDimension

    def forward(self, input: Tensor) -> Tensor:
        slices = input.unbind(self.inputDimension - 1)
        outputs = [module(part) for module, part in zip(self, slices, strict=False)]
        return torch.cat(outputs, self.outputDimension - 1)


class DepthConcat(nn.ModuleList):
    """Like Concat along ``dimension``; smaller outputs are centred in the largest and padded with zeros.

    ``copies``: the input, because some children overwrite it.
    """

    def __init__(self, modules: list[nn.Module], dimension: int, copies: bool = False) -> None:
        super().__init__(modules)
        self.dimension = dimension
        self.copies = copies

    def forward(self, input: Tensor) -> Tensor:
        input = copied(input) if self.copies else input
        outputs = [module(input) for module in self]
        largest = [max(sizes) for sizes in zip(*(output.shape for output in outputs), strict=True)]
        return torch.cat([self._centred(output, largest) for output in outputs], self.dimension - 1)

    def _centred(self, output: Tensor, largest: list[int]) -> Tensor:
        padding: list[int] = []
        for dim in reversed(range(output.dim())):
            missing = 0 if dim == self.dimension - 1 else largest[dim] - output.shape[dim]
            padding += [missing // 2, missing - missing // 2]
        return functional.pad(output, padding)
