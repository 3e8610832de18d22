"""nngraph's gModule."""

from typing import Any

from torch import nn

from lua_compat.torch_modules.containers import copied, share_input


class GraphModule(nn.Module):
    """nngraph's gModule: ``steps`` in an order in which every step comes after its inputs.

    A step is (child, inputs, select): the index of its child or None for none, the indices of the steps whose
    outputs it takes in order, and the position it selects from a table, or None. Step 0 is the input.
    """

    def __init__(
        self,
        modules: list[nn.Module],
        steps: list[tuple[int | None, tuple[int, ...], int | None]],
        outputs: tuple[int, ...],
        inputs: int,
    ) -> None:
        super().__init__()
        self.children_in_order = nn.ModuleList(modules)
        self.steps = steps
        self.outputs = outputs
        self.inputs = inputs
        self._copied = {place for place in range(len(steps)) if self._is_overwritten_for_others(place)}

    def _is_overwritten_for_others(self, place: int) -> bool:
        """Returns whether several steps take the step's output, and some overwrite it."""
        takers = [child for child, sources, _ in self.steps for source in sources if source == place]
        modules = [self.children_in_order[child] for child in takers if child is not None]
        return len(takers) + self.outputs.count(place) > 1 and share_input(*modules)

    def forward(self, input: Any) -> Any:
        values: list[Any] = []
        for child, sources, select in self.steps:
            taken = [values[source] for source in sources] if sources else [input]
            value: Any = taken[0] if len(taken) == 1 else taken
            if select is not None:
                value = value[select - 1]
            if child is not None:
                value = self.children_in_order[child](value)
            values.append(copied(value) if len(values) in self._copied else value)
        chosen = [values[place] for place in self.outputs]
        return chosen[0] if len(chosen) == 1 else chosen
