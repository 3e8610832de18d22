"""Inference by other libraries than PyTorch, on a CPU: the net becomes an ONNX program, which they run."""

import tempfile
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.workload.backends import Backend, UnsupportedError
from convnet_benchmarks.workload.program_files import computed_by_lua, export_onnx
from convnet_benchmarks.workload.tensors import tensors_in
from lua_compat.optional_packages import pip_install

if TYPE_CHECKING:
    from torch import Tensor, nn

Run = Callable[[dict[str, Any]], list[Any]]  # from arrays by the names of the inputs to the outputs
_PACKAGES = ("onnx",)  # that PyTorch's exporter needs, besides the library itself


def missing_package(backend: Backend) -> str:
    """Returns the message that a package of ``backend`` is missing; empty if none is."""
    needed = (*_PACKAGES, backend.runtime) if backend.runtime else ()
    missing = [name for name in needed if find_spec(name) is None]
    if not missing:
        return ""
    return f"backend {backend.name} needs {' and '.join(missing)}: {pip_install('runtimes')}"


def open_runtime(backend: Backend, module: "nn.Module", input: Any) -> "Callable[[], list[Tensor]]":
    """Returns what does one pass on ``input`` as it then is, with as many threads as PyTorch has now.

    ``input``: a tensor, or several in a tuple, list or dict. The results are tensors, one after the other
    where the net gives several. Raises UnsupportedError if
    the library is missing, for other number formats than float32, and for nets that it cannot run.
    """
    import torch

    if missing := missing_package(backend):
        raise UnsupportedError(missing)
    if lua := computed_by_lua(module):
        raise UnsupportedError(lua)
    if any(parameter.dtype != torch.float32 for parameter in module.parameters()):
        raise UnsupportedError(f"backend {backend.name} runs nets in float32 only")
    tensors = tensors_in(input)
    names = [f"input{place}" for place in range(len(tensors))]
    arrays = {name: tensor.numpy() for name, tensor in zip(names, tensors, strict=True)}
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "net.onnx")
        try:
            with warnings.catch_warnings(), program.open("wb") as file:
                warnings.simplefilter("ignore")  # on tracing, and on what a later version will do
                export_onnx(_of_tensors(module, input), tuple(tensors), file, input_names=names)
        except Exception as error:  # whatever PyTorch's exporter raises for what it cannot follow
            raise UnsupportedError(f"PyTorch cannot export this net: {_reason(error)}") from None
        try:
            run = _RUNTIMES[backend.runtime](program, backend.fuses, torch.get_num_threads())
            run(arrays)
        except Exception as error:  # libraries written in C++ have errors of their own
            raise UnsupportedError(f"{backend.runtime} cannot run this net: {_reason(error)}") from None
    return lambda: [torch.from_numpy(array) for array in run(arrays)]


def _of_tensors(module: "nn.Module", input: Any) -> "nn.Module":
    """Returns ``module`` as a net from tensors, those of ``input``, to tensors, as ONNX knows them."""
    from torch import nn
    from torch.utils._pytree import tree_flatten, tree_unflatten

    _, structure = tree_flatten(input)

    class OfTensors(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, *tensors: "Tensor") -> "tuple[Tensor, ...]":
            return tuple(tensors_in(self.module(tree_unflatten(list(tensors), structure))))

    return OfTensors().train(module.training)


def _reason(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _onnxruntime(program: Path, fuses: bool, threads: int) -> Run:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if fuses else levels.ORT_DISABLE_ALL
    options.log_severity_level = 3  # errors
    session = onnxruntime.InferenceSession(str(program), options, providers=["CPUExecutionProvider"])
    taken = [one.name for one in session.get_inputs()]  # an input that nothing reads is no longer there
    return lambda arrays: list(session.run(None, {name: arrays[name] for name in taken}))


def _openvino(program: Path, fuses: bool, threads: int) -> Run:
    import openvino

    wanted = {
        "PERFORMANCE_HINT": "LATENCY",  # all threads on one batch, as the other libraries work
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",  # it would compute in bfloat16 where the processor can
    }
    model = openvino.Core().compile_model(str(program), "CPU", wanted)
    request, taken = model.create_infer_request(), [one.any_name for one in model.inputs]

    def run(arrays: dict[str, Any]) -> list[Any]:
        given = {name: arrays[name] for name in taken}
        found = request.infer(given, share_inputs=True, share_outputs=True)
        return [found[index] for index in range(len(found))]

    return run


_RUNTIMES: dict[str, Callable[[Path, bool, int], Run]] = {
    "onnxruntime": _onnxruntime,
    "openvino": _openvino,
}
