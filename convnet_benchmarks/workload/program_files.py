"""Nets as programs that run without their Python code: ONNX files, and PyTorch's exported programs (.pt2)."""

import contextlib
import inspect
import io
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.workload.model_files import check_folder
from lua_compat.whole_file import write_when_whole

if TYPE_CHECKING:
    import torch
    from torch import nn

PROGRAMS = (".onnx", ".pt2")
Size = tuple[int | None, ...]  # of an input, None where the batch is

_OPERATORS = 17  # the version of ONNX's set of operators that programs are written in


def is_program(path: str) -> bool:
    return Path(path).suffix.lower() in PROGRAMS


def check_program(path: str, sizes: Sequence[Size] | None, option: str) -> None:
    """Raises UserError where ``write_program`` could not write: before the model is made."""
    if sizes is None:
        raise UserError(f"{option}: '{path}' needs the size of one input, as --input-size 3x224x224")
    if path.lower().endswith(".onnx") and find_spec("onnx") is None:
        raise UserError(f"{option}: .onnx needs the package onnx (pip install onnx)")
    check_folder(path, option)


def write_program(
    module: "nn.Module", path: str, sizes: Sequence[Size], option: str, as_it_is: bool = False
) -> None:
    """Writes the net in evaluation mode, for batches of any size. Raises UserError if that cannot be.

    ``sizes``: of the inputs, None for the batch; a net of several takes a table of them. States of recurrent
    layers are further inputs and outputs. The number type is that of the parameters; in ONNX double becomes
    float, for which its runtimes have all operators, but not if it shall be ``as_it_is``.
    """
    import torch

    if lua := computed_by_lua(module):
        raise UserError(f"{option}: {lua}; write .pt or .t7")
    parameter = next((p for p in module.parameters() if p.is_floating_point()), None)
    dtype = torch.get_default_dtype() if parameter is None else parameter.dtype
    is_onnx = path.lower().endswith(".onnx")
    if is_onnx and dtype == torch.float64 and not as_it_is:
        module, dtype = module.float(), torch.float32
    write = _write_onnx if is_onnx else _write_exported
    try:
        program = _Program(module.eval(), sizes, dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on tracing, and on what a later version will do
            write_when_whole(path, partial(write, program))
    except OSError as error:
        raise UserError(f"{option}: cannot write '{path}': {error.strerror or error}") from None
    except Exception as error:  # whatever PyTorch's exporters raise for what they cannot follow
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise UserError(f"{option}: PyTorch cannot export this net: {reason.strip()}") from None
    if program.states:
        print(f"{path}: {program.told()}", file=sys.stderr)
    if is_onnx and dtype in (torch.float64, torch.bfloat16):
        lacks = f"ONNX Runtime lacks layers in {str(dtype).removeprefix('torch.')}, such as convolutions"
        print(f"{path}: {lacks}; --dtype float32 runs there", file=sys.stderr)


class _Program:
    """A net with inputs to try, and which axes of what goes in and comes out are the batch."""

    def __init__(self, module: "nn.Module", sizes: Sequence[Size], dtype: "torch.dtype") -> None:
        import torch

        from lua_compat.conversion.with_states import WithStates

        def ones(batch: int) -> list[torch.Tensor]:  # a zero is no index of Torch7's
            return [torch.ones([batch if n is None else n for n in size], dtype=dtype) for size in sizes]

        def tried(batch: int) -> tuple[WithStates, list[torch.Tensor], list[torch.Tensor]]:
            net = WithStates(module, ones(batch))
            given = [*ones(batch), *(torch.zeros(shape, dtype=dtype) for _, shape in net.states)]
            with torch.no_grad():
                found = net(*given)
            return net, given, [found] if isinstance(found, torch.Tensor) else list(found)

        _, other, others = tried(3)
        self.net, self.inputs, outputs = tried(2)
        self.states = self.net.states
        self.program: nn.Module = self.net if self.states or len(sizes) > 1 else module
        self.names = _numbered("input", len(sizes)) + [f"state{i + 1}" for i in range(len(self.states))]
        self.outputs = _numbered("output", len(outputs) - len(self.states))
        self.outputs += [f"new_{name}" for name in self.names[len(sizes) :]]
        self.axes = {
            name: [axis for axis, (one, two) in enumerate(zip(a.shape, b.shape, strict=True)) if one != two]
            for name, a, b in zip(
                (*self.names, *self.outputs), (*self.inputs, *outputs), (*other, *others), strict=True
            )
        }

    def told(self) -> str:
        """Returns what the states are, for people."""
        shown = [
            f"{name} ({'x'.join('N' if axis in self.axes[name] else str(n) for axis, n in enumerate(shape))},"
            f" of {layer.rpartition('.')[0]})"
            for name, (layer, shape) in zip(self.names[-len(self.states) :], self.states, strict=True)
        ]
        return f"states are inputs, zeros at the beginning: {', '.join(shown)}"


def _numbered(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}{place + 1}" for place in range(count)]


def computed_by_lua(module: "nn.Module") -> str:
    """Returns the message that Lua computes layers of ``module``; empty if it does not."""
    from lua_compat.lua_modules import LuaModule

    lua = sorted({layer.typename for layer in module.modules() if isinstance(layer, LuaModule)})
    return f"Lua computes {', '.join(lua)}, which cannot run without it" if lua else ""


def _write_onnx(program: _Program, file: Any) -> None:
    axes = {name: dict.fromkeys(found, "batch") for name, found in program.axes.items()}
    names = {"input_names": program.names, "output_names": program.outputs}
    export_onnx(program.program, tuple(program.inputs), file, dynamic_axes=axes, **names)


def export_onnx(module: "nn.Module", inputs: tuple[Any, ...], file: Any, **options: Any) -> None:
    """Writes the net as an ONNX program to an open file; ``options`` as of ``torch.onnx.export``.

    Raises whatever PyTorch's exporter does for a net that it cannot follow.
    """
    import torch

    export: Callable[..., Any] = torch.onnx.export
    # The exporter that needs nothing but onnx; versions before 2.5 have no other.
    kind = {"dynamo": False} if "dynamo" in inspect.signature(export).parameters else {}
    printed = io.StringIO()  # the whole graph, before an error is raised
    with _thresholds_known(), contextlib.redirect_stdout(printed):
        export(module, inputs, file, opset_version=_OPERATORS, **options, **kind)


@contextlib.contextmanager
def _thresholds_known() -> Iterator[None]:
    """Lets PyTorch's exporter write nn.Threshold, which it knows only where it is a ReLU."""
    import torch
    from torch.onnx import symbolic_helper

    def threshold(graph: Any, input: Any, limit: float, value: float) -> Any:
        def constant(number: float) -> Any:
            return graph.op("CastLike", graph.op("Constant", value_t=torch.tensor(number)), input)

        return graph.op(
            "Where", graph.op("LessOrEqual", input, constant(limit)), constant(value), input
        ).setType(input.type())

    name = "aten::threshold"
    read = symbolic_helper.parse_args("v", "f", "f")
    torch.onnx.register_custom_op_symbolic(name, read(threshold), _OPERATORS)
    try:
        yield
    finally:
        torch.onnx.unregister_custom_op_symbolic(name, _OPERATORS)


def _write_exported(program: _Program, file: Any) -> None:
    import torch

    batch = torch.export.Dim("batch")
    shapes = tuple(dict.fromkeys(program.axes[name], batch) for name in program.names)
    wrapped = program.program is program.net
    export: Callable[..., Any] = torch.export.export
    found = export(
        program.program,
        tuple(program.inputs),
        dynamic_shapes=(shapes,) if wrapped else shapes,
        **({"strict": False} if wrapped else {}),  # layers get and lose their states while it runs
    )
    torch.export.save(found, file)
