"""Nets as programs that run without their Python code: ONNX files, and PyTorch's exported programs (.pt2)."""

import contextlib
import inspect
import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.workload.model_files import check_folder
from lua_compat.whole_file import replaced_when_whole

if TYPE_CHECKING:
    from torch import nn

PROGRAMS = (".onnx", ".pt2")

_OPERATORS = 17  # the version of ONNX's set of operators that programs are written in


def is_program(path: str) -> bool:
    return Path(path).suffix.lower() in PROGRAMS


def check_program(path: str, input_size: Sequence[int] | None, option: str) -> None:
    """Raises UserError where ``write_program`` could not write: before the model is made."""
    if input_size is None:
        raise UserError(f"{option}: '{path}' needs the size of one input, as --input-size 3x224x224")
    if path.lower().endswith(".onnx") and find_spec("onnx") is None:
        raise UserError(f"{option}: .onnx needs the package onnx (pip install onnx)")
    check_folder(path, option)


def write_program(
    module: "nn.Module", path: str, input_size: Sequence[int], option: str, as_it_is: bool = False
) -> None:
    """Writes the net in evaluation mode, for batches of any size. Raises UserError where that cannot be.

    ``input_size``: of one sample. The number type is that of the parameters; in ONNX double becomes float,
    for which its runtimes have all operators, but not if it shall be ``as_it_is``.
    """
    import torch

    if lua := computed_by_lua(module):
        raise UserError(f"{option}: {lua}; write .pt or .t7")
    parameter = next((p for p in module.parameters() if p.is_floating_point()), None)
    dtype = torch.get_default_dtype() if parameter is None else parameter.dtype
    if path.lower().endswith(".onnx") and dtype == torch.float64 and not as_it_is:
        module, dtype = module.float(), torch.float32
    input = torch.zeros(2, *input_size, dtype=dtype)
    write = _write_onnx if path.lower().endswith(".onnx") else _write_exported
    try:
        with replaced_when_whole(path) as temporary, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on tracing, and on what a later version will do
            with temporary.open("wb") as file:
                write(module.eval(), input, file)
    except OSError as error:
        raise UserError(f"{option}: cannot write '{path}': {error.strerror or error}") from None
    except Exception as error:  # whatever PyTorch's exporters raise for what they cannot follow
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise UserError(f"{option}: PyTorch cannot export this net: {reason.strip()}") from None


def computed_by_lua(module: "nn.Module") -> str:
    """Returns what says that layers of ``module`` are Lua's; empty where none is."""
    from lua_compat.lua_modules import LuaModule

    lua = sorted({layer.typename for layer in module.modules() if isinstance(layer, LuaModule)})
    return f"Lua computes {', '.join(lua)}, which cannot run without it" if lua else ""


def _write_onnx(module: "nn.Module", input: Any, file: Any) -> None:
    names = {"input_names": ["input"], "output_names": ["output"]}
    axes = {name: {0: "batch"} for name in ("input", "output")}
    export_onnx(module, input, file, dynamic_axes=axes, **names)


def export_onnx(module: "nn.Module", input: Any, file: Any, **options: Any) -> None:
    """Writes the net as an ONNX program to an open file; ``options`` as of ``torch.onnx.export``.

    Raises whatever PyTorch's exporter does for a net that it cannot follow.
    """
    import torch

    export: Callable[..., Any] = torch.onnx.export
    # The exporter that needs nothing but onnx; versions before 2.5 have no other.
    kind = {"dynamo": False} if "dynamo" in inspect.signature(export).parameters else {}
    printed = io.StringIO()  # the whole graph, before an error is raised
    with _thresholds_known(), contextlib.redirect_stdout(printed):
        export(module, (input,), file, opset_version=_OPERATORS, **options, **kind)


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


def _write_exported(module: "nn.Module", input: Any, file: Any) -> None:
    import torch

    program = torch.export.export(module, (input,), dynamic_shapes=({0: torch.export.Dim("batch")},))
    torch.export.save(program, file)
