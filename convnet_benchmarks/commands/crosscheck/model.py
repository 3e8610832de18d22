"""A Torch7 model converted to PyTorch, run on its recorded input, against the recorded output."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from convnet_benchmarks.commands.crosscheck.tensors import Comparison, Tolerance, compare_entries
from convnet_benchmarks.commands.crosscheck.tree import ROOT, Entry, ResultTree, tree_of
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.workload.torch7_models import convert_model, is_model

if TYPE_CHECKING:
    import torch

    from lua_compat import t7
    from lua_compat.conversion import Converted

MODEL_NAMES = ("net", "model", "module", "network")
# Two libraries sum in another order: a whole net agrees less closely than one tensor with its copy.
RELATIVE_TOLERANCES = {"float64": 1e-6, "float32": 1e-5, "float16": 1e-2}


@dataclass(frozen=True)
class Recorded:
    """A model and what it computed in Torch7. Values are tensors, or lists of them for Lua tables."""

    model: "t7.TorchObject"
    path: str  # of the model in its file
    input: Any
    output: Any


def find_recorded(value: Any, other: ResultTree | None) -> Recorded | None:
    """Returns the model in ``value`` with its input and output, found next to it or in ``other``; None
    if there is none.

    Two files that both hold an input and an output are two records, not a model and its record.
    """
    from lua_compat.t7 import LuaTable

    beside = _beside(value)
    if beside is not None and other is not None:
        return None
    path, model = ROOT, value
    if isinstance(value, LuaTable):
        models = {key: item for key, item in value.items() if is_model(item)}
        name = next((name for name in MODEL_NAMES if name in models), None)
        if name is None:
            return None
        path, model = name, models[name]
    if not is_model(model):
        return None
    tree = beside or other
    if tree is None:
        return None
    input, output = _value(tree, "input"), _value(tree, "output")
    return None if input is None or output is None else Recorded(model, path, input, output)


def _beside(value: Any) -> ResultTree | None:
    from lua_compat.t7 import LuaTable

    if not isinstance(value, LuaTable) or "input" not in value or "output" not in value:
        return None
    return tree_of({name: value[name] for name in ("input", "output")})


def _value(tree: ResultTree, path: str) -> Any:
    """Returns the tensor at ``path``, or the list of what is at path.1, path.2, ...; None if there is
    nothing.
    """
    import torch

    entry = tree.find(path)
    if entry is not None:
        return torch.from_numpy(np.array(entry.value)) if entry.is_array else None
    if not tree.holds(path):
        return None
    elements: list[Any] = []
    while (element := _value(tree, f"{path}.{len(elements) + 1}")) is not None:
        elements.append(element)
    return elements or None


def compare_model(
    recorded: Recorded, tolerance: Tolerance, mode: str, file: str, lua_files: Sequence[str]
) -> tuple[list[Comparison], list[str]]:
    """Returns one comparison for each tensor of the output, and notes on what may explain a difference.

    ``mode``: 'recorded' as the file says, 'train' or 'evaluate'. ``file``: where the model is from.
    ``lua_files`` declare classes of its own. Raises UserError for a model that cannot be
    converted or does not take the recorded input.
    """
    import torch

    converted = convert_model(recorded.model, recorded.path, file, lua_files)
    if mode != "recorded":
        converted.module.train(mode == "train")
    try:
        with torch.no_grad(), _kept_outputs(converted) as outputs:
            output = converted.module(_as_parameters(recorded.input, converted.module))
    except (RuntimeError, ValueError, TypeError, IndexError, AttributeError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{recorded.path}: the model does not take the recorded input: {reason}") from None
    comparisons = list(_compare_values("output", recorded.output, output, tolerance))
    if all(row.verdict == "same" for row in comparisons):
        return comparisons, []
    return comparisons, _notes(converted, recorded, outputs, tolerance)


def _as_parameters(value: Any, module: "torch.nn.Module") -> Any:
    """Returns a copy (in-place layers write to their input) in the number type of the parameters."""
    if isinstance(value, list):
        return [_as_parameters(item, module) for item in value]
    parameter = next(module.parameters(), None)
    if parameter is not None and value.is_floating_point():
        return value.to(parameter.dtype, copy=True)
    return value.clone()


def _compare_values(path: str, a: Any, b: Any, tolerance: Tolerance) -> Iterator[Comparison]:
    if isinstance(a, list) and isinstance(b, list | tuple) and len(a) == len(b):
        for place, (one, other) in enumerate(zip(a, b, strict=True), 1):
            yield from _compare_values(f"{path}.{place}", one, other, tolerance)
    elif isinstance(a, list) or isinstance(b, list | tuple):
        yield Comparison(path, "differs", values=(_table_size(a), _table_size(b)), cause="tables differ")
    else:
        yield compare_entries(path, _entry(a), _entry(b), tolerance)


def _table_size(value: Any) -> str:
    return f"a table of {len(value)}" if isinstance(value, list | tuple) else "a tensor"


def _entry(tensor: "torch.Tensor") -> Entry:
    (entry,) = tree_of(tensor).entries.values()
    return entry


class _kept_outputs:
    """While open, keeps what each module of the model gives, in the order of execution.

    The tensors themselves are kept, not copies: an in-place layer after a module overwrites that module's
    output here as it did in Torch7.
    """

    def __init__(self, converted: "Converted") -> None:
        self._places = converted.places
        self._kept: list[tuple[str, Any, Any]] = []
        self._handles: list[Any] = []

    def __enter__(self) -> list[tuple[str, Any, Any]]:
        for path, source, module in self._places:

            def keep(_module: Any, _input: Any, output: Any, path: str = path, source: Any = source) -> None:
                self._kept.append((path, source, output))

            self._handles.append(module.register_forward_hook(keep))
        return self._kept

    def __exit__(self, *_: object) -> None:
        for handle in self._handles:
            handle.remove()


def _notes(
    converted: "Converted", recorded: Recorded, outputs: list[tuple[str, Any, Any]], tolerance: Tolerance
) -> list[str]:
    notes = []
    training = {source.typename for _, source, module in converted.places if module.training}
    random = sorted(name for name in training if any(word in name for word in ("Dropout", "Noise", "RReLU")))
    if random:
        notes.append(f"random in training mode: {', '.join(random)} (try --mode evaluate)")
    if _was_last_output(recorded, tolerance):
        first = next((row for row in _module_comparisons(outputs, tolerance) if row.verdict != "same"), None)
        if first is not None:
            notes.append(f"first module whose recorded output differs: {first.path}")
    return notes


def _was_last_output(recorded: Recorded, tolerance: Tolerance) -> bool:
    """Returns whether the outputs that the modules in the file hold belong to the recorded one."""
    last = _recorded_output(recorded.model)
    if last is None or isinstance(recorded.output, list) or last.shape != recorded.output.shape:
        return False
    return compare_entries("", _entry(recorded.output), _entry(last), tolerance).verdict == "same"


def _module_comparisons(outputs: list[tuple[str, Any, Any]], tolerance: Tolerance) -> Iterator[Comparison]:
    import torch

    for path, source, output in outputs:
        last = _recorded_output(source)
        if last is not None and isinstance(output, torch.Tensor):
            yield compare_entries(f"{path} ({source.typename})", _entry(last), _entry(output), tolerance)


def _recorded_output(source: "t7.TorchObject") -> "torch.Tensor | None":
    import torch

    from lua_compat.t7 import Tensor

    output = source.get("output")
    if not isinstance(output, Tensor) or not output.numel():
        return None
    return torch.from_numpy(np.array(output.numpy()))
