"""A net of several inputs as one of a single input, which is a tuple or a dict of them."""

from typing import Any

from torch import nn


class SeveralInputs(nn.Module):
    """``module``, called with one value: the tensors of a tuple in their order, those of a dict by name."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, inputs: Any) -> Any:
        return self.module(**inputs) if isinstance(inputs, dict) else self.module(*inputs)
