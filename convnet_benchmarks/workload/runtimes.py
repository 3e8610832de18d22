"""Inference by other libraries than PyTorch, on a CPU: the net becomes an ONNX program, which they run."""

import tempfile
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.workload.backends import Backend, UnsupportedError
from convnet_benchmarks.workload.program_files import computed_by_lua, export_onnx
from lua_compat.optional_packages import pip_install

if TYPE_CHECKING:
    from torch import Tensor, nn

_PACKAGES = ("onnx",)  # that PyTorch's exporter needs, besides the library itself


def missing_package(backend: Backend) -> str:
    """Returns the message that a package of ``backend`` is missing; empty if none is."""
    needed = (*_PACKAGES, backend.runtime) if backend.runtime else ()
    missing = [name for name in needed if find_spec(name) is None]
    if not missing:
        return ""
    return f"backend {backend.name} needs {' and '.join(missing)}: {pip_install('runtimes')}"


def open_runtime(backend: Backend, module: "nn.Module", input: "Tensor") -> "Callable[[], list[Tensor]]":
    """Returns what does one pass on ``input`` as it then is, with as many threads as PyTorch has now.

    The results are tensors, one after the other where the net gives several. Raises UnsupportedError if
    the library is missing, for other number formats than float32, and for nets that it cannot run.
    """
    import torch

    if missing := missing_package(backend):
        raise UnsupportedError(missing)
    if lua := computed_by_lua(module):
        raise UnsupportedError(lua)
    if any(parameter.dtype != torch.float32 for parameter in module.parameters()):
        raise UnsupportedError(f"backend {backend.name} runs nets in float32 only")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "net.onnx")
        try:
            with warnings.catch_warnings(), program.open("wb") as file:
                warnings.simplefilter("ignore")  # on tracing, and on what a later version will do
                export_onnx(module, (input,), file)
        except Exception as error:  # whatever PyTorch's exporter raises for what it cannot follow
            raise UnsupportedError(f"PyTorch cannot export this net: {_reason(error)}") from None
        try:
            run = _RUNTIMES[backend.runtime](program, backend.fuses, torch.get_num_threads())
            run(input.numpy())
        except Exception as error:  # libraries written in C++ have errors of their own
            raise UnsupportedError(f"{backend.runtime} cannot run this net: {_reason(error)}") from None
    given = input.numpy()
    return lambda: [torch.from_numpy(array) for array in run(given)]


def _reason(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _onnxruntime(program: Path, fuses: bool, threads: int) -> Callable[[Any], list[Any]]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if fuses else levels.ORT_DISABLE_ALL
    options.log_severity_level = 3  # errors
    session = onnxruntime.InferenceSession(str(program), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda array: list(session.run(None, {name: array}))


def _openvino(program: Path, fuses: bool, threads: int) -> Callable[[Any], list[Any]]:
    import openvino

    wanted = {
        "PERFORMANCE_HINT": "LATENCY",  # all threads on one batch, as the other libraries work
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",  # it would compute in bfloat16 where the processor can
    }
    request = openvino.Core().compile_model(str(program), "CPU", wanted).create_infer_request()

    def run(array: Any) -> list[Any]:
        found = request.infer([array], share_inputs=True, share_outputs=True)
        return [found[index] for index in range(len(found))]

    return run


_RUNTIMES: dict[str, Callable[[Path, bool, int], Callable[[Any], list[Any]]]] = {
    "onnxruntime": _onnxruntime,
    "openvino": _openvino,
}
