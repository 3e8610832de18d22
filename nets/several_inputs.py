"""Wraps a net of several inputs as a net of a single one, which is a tuple, a dict or a batch of them."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor, nn


class SeveralInputs(nn.Module):
    """``module``, called with one value: the tensors of a tuple in their order, those of a dict by name.

    A forward that has none of the names, and takes one value, gets the dict.
    """

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module
        self.takes_dict: bool | None = None  # known from the first dict on

    def forward(self, inputs: Any) -> Any:
        if not isinstance(inputs, dict):
            return self.module(*inputs)
        if self.takes_dict is None:
            self.takes_dict = _takes_dict(self.module, inputs)
        return self.module(inputs) if self.takes_dict else self.module(**inputs)


class ListOfSamples(SeveralInputs):
    """``module``, called with a batch, or with batches of one: it gets a list of the samples."""

    def forward(self, inputs: Tensor | Sequence[Tensor]) -> Any:
        if isinstance(inputs, Tensor):
            return self.module(list(inputs.unbind(0)))
        return self.module([one[0] for one in inputs])


def net_within(module: nn.Module) -> nn.Module:
    """Returns the net itself."""
    return module.module if isinstance(module, SeveralInputs) else module


def _takes_dict(module: nn.Module, inputs: Mapping[str, Any]) -> bool:
    try:
        parameters = inspect.signature(module.forward).parameters
    except (TypeError, ValueError):  # not written in Python
        return False
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [one for one in parameters.values() if one.default is one.empty]
    return (
        len(required) == 1
        and required[0].kind in by_place
        and not any(one.kind is one.VAR_KEYWORD or name in inputs for name, one in parameters.items())
    )
