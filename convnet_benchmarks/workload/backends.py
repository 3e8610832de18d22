"""The kernels a study may measure a net on, by name; ``backends.py`` has those of the legacy switches."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.legacy.backends import framework_switches

if TYPE_CHECKING:
    import torch
    from torch import nn


class UnsupportedError(Exception):
    """This net, number format, device and backend do not go together; the message says why."""


@dataclass(frozen=True)
class StudyBackend:
    """One choice of kernels: PyTorch's with some switches, or the CPU engine's (``engine``: its backend)."""

    name: str
    description: str
    devices: tuple[str, ...] = ("cpu",)
    engine: str = ""
    onednn: bool = True
    cudnn: bool = True
    tf32: bool = False
    channels_last: bool = False
    compiled: bool = False

    def why_not_on(self, device_type: str) -> str:
        """Why the backend cannot run on ``cpu`` or ``cuda``; empty where it can."""
        if device_type in self.devices:
            return ""
        return f"backend {self.name} is for {' and '.join(self.devices)}, not for {device_type}"


_BOTH = ("cpu", "cuda")
BACKENDS: dict[str, StudyBackend] = {
    backend.name: backend
    for backend in (
        StudyBackend("stock", "PyTorch as it comes: oneDNN on a CPU, cuDNN autotuned on a GPU", _BOTH),
        StudyBackend("no-onednn", "PyTorch without oneDNN: im2col and MKL's matrix product", onednn=False),
        StudyBackend("no-cudnn", "PyTorch without cuDNN: its native CUDA kernels", ("cuda",), cudnn=False),
        StudyBackend("tf32", "stock, matrix products and convolutions in TF32", ("cuda",), tf32=True),
        StudyBackend("channels-last", "stock, tensors laid out NHWC", _BOTH, channels_last=True),
        StudyBackend(
            "compile", "torch.compile (needs a C++ compiler; Triton on a GPU)", _BOTH, compiled=True
        ),
        StudyBackend("auto", "CPU engine: the fastest kernel for each layer and phase", engine="auto"),
        StudyBackend("mm", "CPU engine: im2col and matrix product", engine="mm"),
        StudyBackend("direct", "CPU engine: oneDNN direct convolution", engine="direct"),
        StudyBackend("winograd", "CPU engine: Winograd convolution where it applies", engine="winograd"),
        StudyBackend("fft", "CPU engine: FFT convolution where it applies", engine="fft"),
    )
}


def find(name: str) -> StudyBackend:
    """The backend called ``name``; raises KeyError with the accepted names otherwise."""
    try:
        return BACKENDS[name]
    except KeyError:
        raise KeyError(f"unknown backend '{name}'; accepted: {', '.join(BACKENDS)}") from None


@dataclass(frozen=True)
class Opened:
    """How to run a net: one pass of inference or training, and in training its phases one by one.

    ``infer`` returns the output. ``facts`` are what the engine chose, as plain JSON values.
    """

    infer: "Callable[[], Any]"
    phases: dict[str, Callable[[], object]]
    facts: dict[str, Any] | None = None

    def train(self) -> None:
        """One pass of the three phases; the gradient of the output is the output itself."""
        for phase in self.phases.values():
            phase()


@contextlib.contextmanager
def open_backend(
    backend: StudyBackend, module: "nn.Module", inputs: "tuple[torch.Tensor, ...]", training: bool
) -> Iterator[Opened]:
    """Makes ``module`` ready to run on ``inputs``; raises UnsupportedError where it cannot be.

    The module is left in training or evaluation mode, as asked, and in the backend's layout.
    """
    import torch

    module.train(training)
    if backend.channels_last:
        layout = torch.channels_last
        module.to(memory_format=layout)  # type: ignore[call-overload]
        inputs = tuple(x.contiguous(memory_format=layout) if x.dim() == 4 else x for x in inputs)
    with framework_switches(onednn=backend.onednn, nnpack=True, cudnn=backend.cudnn, tf32=backend.tf32):
        if backend.engine:
            yield from _on_engine(backend, module, inputs)
        elif training:
            yield from _training(backend, module, inputs)
        else:
            yield _inference(backend, module, inputs)


def _inference(backend: StudyBackend, module: "nn.Module", inputs: "tuple[torch.Tensor, ...]") -> Opened:
    import torch

    run: Callable[..., Any] = module
    if backend.compiled:
        _check_compiler()
        run = torch.compile(module)

    def infer() -> Any:
        with torch.inference_mode():
            return run(*inputs)

    return Opened(infer, {})


def _training(
    backend: StudyBackend, module: "nn.Module", inputs: "tuple[torch.Tensor, ...]"
) -> Iterator[Opened]:
    from nets.phases import AutogradPhases

    if backend.compiled:
        raise UnsupportedError("torch.compile fuses the phases of training; it is measured in inference only")
    with AutogradPhases(module) as phases:
        yield _three_phases(phases, _only_input(inputs))


def _on_engine(
    backend: StudyBackend, module: "nn.Module", inputs: "tuple[torch.Tensor, ...]"
) -> Iterator[Opened]:
    import nets.engine

    input = _only_input(inputs)
    try:
        compiled = nets.engine.compile(module, tuple(input.shape), backend.engine)
    except (nets.engine.CompileError, ValueError) as error:
        raise UnsupportedError(f"the CPU engine cannot run this net: {error}") from None
    with compiled as phases:
        yield _three_phases(phases, input, phases.report().as_dict())


def _three_phases(phases: Any, input: "torch.Tensor", facts: dict[str, Any] | None = None) -> Opened:
    phases.zeroGradParameters()
    output = input  # replaced by the first pass

    def update_output() -> "torch.Tensor":
        nonlocal output
        output = phases.updateOutput(input)
        return output

    steps: dict[str, Callable[[], object]] = {
        "updateOutput": update_output,
        "updateGradInput": lambda: phases.updateGradInput(input, output),
        "accGradParameters": lambda: phases.accGradParameters(input, output),
    }
    return Opened(update_output, steps, facts)


def _only_input(inputs: "tuple[torch.Tensor, ...]") -> "torch.Tensor":
    if len(inputs) != 1:
        raise UnsupportedError("the three phases take a net of one input")
    return inputs[0]


def _check_compiler() -> None:
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None:
        raise UnsupportedError(f"torch.compile needs a C++ compiler, and '{compiler}' (CXX) was not found")
