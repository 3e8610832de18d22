"""Parameters that needed no gradient when the phases of a module were prepared."""

from collections.abc import Iterable
from operator import attrgetter

from torch import nn
from torch.nn import Parameter

_WANTED = attrgetter("requires_grad")


class Frozen:
    """The ``parameters`` that need no gradient now, for which none will be computed."""

    def __init__(self, module: nn.Module, parameters: Iterable[Parameter]) -> None:
        self._module = module
        self._parameters = [parameter for parameter in parameters if not parameter.requires_grad]

    def check(self) -> None:
        """Raises RuntimeError if one of them now needs a gradient, which it would not get."""
        if not any(map(_WANTED, self._parameters)):
            return
        thawed = {parameter for parameter in self._parameters if parameter.requires_grad}
        name = next((name for name, one in self._module.named_parameters() if one in thawed), "a parameter")
        raise RuntimeError(
            f"{name}: frozen (requires_grad=False) when the phases were prepared, and not now: "
            "prepare them again"
        )
