"""Makes a net ready to run on the kernels of a backend, for every command."""

import contextlib
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from convnet_benchmarks import environment
from convnet_benchmarks.nets import engine
from convnet_benchmarks.workload.backends import Backend, UnsupportedError
from convnet_benchmarks.workload.devices import CUDA
from convnet_benchmarks.workload.runtimes import open_runtime

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from convnet_benchmarks.nets.engine import EnginePhases, MixedPhases, Report
    from convnet_benchmarks.nets.gpu_engine import GpuPhases
    from convnet_benchmarks.nets.phases import Phases

    _Mode = type[torch.inference_mode] | type[torch.no_grad]


_JOINS = "{} joins the phases of training; it is measured in inference only"


@dataclass(frozen=True)
class Opened:
    """A net ready to run on its input.

    ``infer`` does one forward pass and returns its output. ``phases``: the three phases of training; None
    where only inference was asked for and PyTorch runs it. ``engine``: what the CPU engine chose, None if
    PyTorch runs the net. ``note``: what runs instead of what was asked for, empty if nothing does.
    ``timed_engine``: after a pass, the engine's report with the part of the machine's roof that each layer
    reaches, which takes some more passes. ``choosing_seconds``: how long an engine took to be ready, mostly
    to compile and to time kernels.
    """

    infer: Callable[[], Any]
    phases: "Phases | None" = None
    engine: "Report | None" = None
    note: str = ""
    timed_engine: "Callable[[], Report] | None" = None
    choosing_seconds: float = 0.0

    @property
    def notes(self) -> list[str]:
        """Returns what a user may not expect of these kernels. A pass may add to it."""
        from convnet_benchmarks.nets.phases import AutogradPhases

        found = self.phases.note if isinstance(self.phases, AutogradPhases) else ""
        return [note for note in (self.note, found) if note]


@contextlib.contextmanager
def open_training(
    backend: Backend,
    module: "nn.Module",
    input: Any,
    device: "torch.device",
    *,
    autograd_instead: bool = False,
    tuning: str = "thorough",
    tuning_seconds: float | None = None,
    told: Callable[[int, int], None] | None = None,
) -> Iterator[Opened]:
    """Makes the three phases of ``module`` ready to run on ``input`` with the kernels of ``backend``.

    ``input``: a tensor, or several in a tuple, list or dict, on ``device``.
    The module keeps its mode, and gets the backend's memory layout. While this is open, PyTorch's switches
    are the backend's. Raises UnsupportedError if the backend cannot run the net; with
    ``autograd_instead``, PyTorch's autograd runs what the CPU engine cannot, and the note says why.
    ``tuning``, ``tuning_seconds`` and ``told`` are about the choice of kernels, as in
    ``convnet_benchmarks.nets.engine.prepare``.
    """
    from convnet_benchmarks.nets.programs import is_compiled

    if backend.runtime:
        raise UnsupportedError(f"backend {backend.name} runs inference only")
    if any(map(is_compiled, module.modules())):
        raise UnsupportedError(_JOINS.format("torch.compile, which the net uses,"))
    note = ""
    started = time.perf_counter()
    if backend.engine and device.type == CUDA:
        with _gpu_engine(backend, module, input, False, tuning_seconds, told) as gpu_phases:
            seconds = time.perf_counter() - started
            infer, report = partial(gpu_phases.infer, input), gpu_phases.report()
            yield Opened(infer, gpu_phases, report, gpu_phases.captured, choosing_seconds=seconds)
        return
    if backend.engine:
        try:
            phases = _compiled(backend, module, input, False, tuning, tuning_seconds, told)
        except UnsupportedError as error:
            if not autograd_instead:
                raise
            note = f"{error}; PyTorch's autograd runs it instead"
        else:
            seconds = time.perf_counter() - started
            with phases:
                infer, report = partial(phases.updateOutput, input), phases.report()
                yield Opened(infer, phases, report, report.note, phases.timed_report, seconds)
            return
    if backend.compiled or backend.graph:
        what = "torch.compile" if backend.compiled else "a CUDA graph"
        raise UnsupportedError(_JOINS.format(what))
    input = laid_out(backend, module, input, device)
    if device.type == CUDA:
        _start_autograd(device)
    from convnet_benchmarks.nets.phases import AutogradPhases, NoGradientError

    with framework_switches(backend), AutogradPhases(module) as autograd:
        try:
            yield Opened(partial(autograd.updateOutput, input), autograd, note=note)
        except NoGradientError as error:
            raise UnsupportedError(f"this net cannot be trained: {error}") from None


@contextlib.contextmanager
def open_inference(
    backend: Backend, module: "nn.Module", input: Any, device: "torch.device"
) -> Iterator[Opened]:
    """Makes a forward pass of ``module`` ready to run, as ``open_training`` does its three phases."""
    from convnet_benchmarks.nets.phases import forward_only

    with forward_only():
        if backend.runtime:
            yield Opened(open_runtime(backend, module, input))
        elif backend.engine and device.type == CUDA:
            with _gpu_engine(backend, module, input, True) as gpu_phases:
                yield Opened(partial(gpu_phases.infer, input), None, gpu_phases.report(), gpu_phases.captured)
        elif backend.engine:
            with _compiled(backend, module, input, True) as phases:
                infer, report = partial(phases.updateOutput, input), phases.report()
                yield Opened(infer, None, report, report.note, timed_engine=phases.timed_report)
        else:
            input = laid_out(backend, module, input, device)
            with framework_switches(backend):
                yield Opened(_inference(backend, module, input, device))


def _compiled(
    backend: Backend,
    module: "nn.Module",
    input: Any,
    inference: bool,
    tuning: str = "thorough",
    tuning_seconds: float | None = None,
    told: Callable[[int, int], None] | None = None,
) -> "EnginePhases | MixedPhases":
    """Returns the net on the CPU engine; raises UnsupportedError where that cannot run it."""
    try:
        return engine.prepare(
            module,
            input,
            backend=backend.engine,
            tuning=tuning,
            tuning_seconds=tuning_seconds,
            told=told,
            inference=inference,
            fuse_layers=backend.fuses,
        )
    except (engine.CompileError, ValueError) as error:
        raise UnsupportedError(f"the CPU engine cannot run this net: {error}") from None


@contextlib.contextmanager
def _gpu_engine(
    backend: Backend,
    module: "nn.Module",
    input: Any,
    inference: bool,
    tuning_seconds: float | None = None,
    told: Callable[[int, int], None] | None = None,
) -> "Iterator[GpuPhases]":
    from convnet_benchmarks.nets import gpu_engine

    with (
        framework_switches(backend),
        gpu_engine.compile(
            module,
            _only(input, backend),
            experimental=backend.experimental,
            inference=inference,
            tuning_seconds=tuning_seconds,
            told=told,
        ) as phases,
    ):
        yield phases


def _only(input: Any, backend: Backend) -> "Tensor":
    """Returns the input of a net that takes one; raises UnsupportedError for several."""
    import torch

    if not isinstance(input, torch.Tensor):
        problem = "on a GPU runs nets of one input, and this one takes several"
        raise UnsupportedError(f"{backend.name} {problem}; accepted for it: backend stock")
    return input


def laid_out(backend: Backend, module: "nn.Module", input: Any, device: "torch.device") -> Any:
    """Gives ``module`` the memory layout of ``backend``, and returns ``input``, on ``device``, in it.

    Raises UnsupportedError if PyTorch cannot run the module in that layout.
    """
    if not backend.channels_last:
        return input
    import torch
    from torch.utils._pytree import tree_map

    from convnet_benchmarks.nets.channels_last import unsafe_convolution

    unsafe = "" if device.type == CUDA else unsafe_convolution(module)
    if unsafe:
        raise UnsupportedError(
            f"channels-last: PyTorch may crash in the convolution {unsafe}, which has a stride and a padding "
            "of more than half its window; accepted for it: backend stock"
        )
    if any(parameter.dim() == 5 for parameter in module.parameters()):
        raise UnsupportedError(
            "channels-last: PyTorch has this layout for images only, and the net has parameters of five "
            "dimensions; accepted for it: backend stock"
        )
    layout = torch.channels_last
    module.to(memory_format=layout)  # type: ignore[call-overload]
    return tree_map(lambda one: one.contiguous(memory_format=layout) if one.dim() == 4 else one, input)


def phase_steps(phases: "Phases", input: Any) -> dict[str, Callable[[], object]]:
    """Returns the three phases by name, to be run in this order; the output is its own gradient."""
    phases.zeroGradParameters()
    output: Any = input  # replaced by the first pass

    def update_output() -> None:
        nonlocal output
        output = phases.updateOutput(input)

    return {
        "updateOutput": update_output,
        "updateGradInput": lambda: phases.updateGradInput(input, output),
        "accGradParameters": lambda: phases.accGradParameters(input, output),
    }


def _start_autograd(device: "torch.device") -> None:
    """Has PyTorch's thread for backward passes first use the GPU in a small operation.

    Where its first is a matrix product, PyTorch warns that the thread has no CUDA context.
    """
    import torch

    torch.ones(1, device=device, requires_grad=True).add(1).backward()


def _inference(
    backend: Backend, module: "nn.Module", input: Any, device: "torch.device"
) -> Callable[[], Any]:
    import torch

    run: Callable[..., Any] = module
    if backend.graph:
        return _captured(module, input, device)
    if backend.compiled:
        _check_compiler()
        run = torch.compile(module)

    mode: _Mode | None = None

    def infer() -> Any:
        nonlocal mode
        if mode is None:
            output, mode = first_inference(lambda: run(input))
            return output
        with mode():
            return run(input)

    return infer


def first_inference(run: Callable[[], Any]) -> "tuple[Any, _Mode]":
    """Returns what ``run``, the first pass or passes, gives, and the mode for later ones: PyTorch's inference
    mode; ``no_grad`` if a pass computes gradients itself: that mode refuses them."""
    import torch

    try:
        with torch.inference_mode():
            return run(), torch.inference_mode
    except RuntimeError:
        pass  # and lets go of what the pass has made
    with torch.no_grad():
        return run(), torch.no_grad


def _captured(module: "nn.Module", input: Any, device: "torch.device") -> Callable[[], Any]:
    """Returns the replay of a CUDA graph of one pass; its output is the same memory each time."""
    import torch

    aside = torch.cuda.Stream(device)
    aside.wait_stream(torch.cuda.current_stream())
    with torch.inference_mode(), torch.cuda.stream(aside):
        for _ in range(3):  # what is made or chosen in the first passes must be there before the capture
            module(input)
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.inference_mode(), torch.cuda.graph(graph):
        output = module(input)

    def infer() -> Any:
        graph.replay()
        return output

    return infer


def _check_compiler() -> None:
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None:
        raise UnsupportedError(f"torch.compile needs a C++ compiler, and '{compiler}' (CXX) was not found")


@contextlib.contextmanager
def framework_switches(backend: Backend) -> Iterator[None]:
    """Sets PyTorch's process-wide switches (cuDNN with its autotuner) and puts them back afterwards."""
    import torch

    cudnn, tf32 = backend.cudnn, backend.tf32
    matmul = torch.backends.cuda.matmul
    # mkldnn.flags would also touch its TF32 setting, which warns on a CPU build.
    (mkldnn_before, *_) = torch.backends.mkldnn.set_flags(backend.onednn)
    tf32_before, matmul.allow_tf32 = matmul.allow_tf32, tf32
    try:
        with (
            torch.backends.nnpack.flags(enabled=backend.nnpack),
            torch.backends.cudnn.flags(
                cudnn,
                benchmark=cudnn,
                benchmark_limit=backend.cudnn_tries,
                deterministic=False,
                allow_tf32=tf32,
            ),
        ):
            yield
    finally:
        torch.backends.mkldnn.set_flags(mkldnn_before)
        matmul.allow_tf32 = tf32_before


def environment_of(device: "torch.device", backend: Backend) -> dict[str, Any]:
    """Returns ``environment.collect`` of ``device``, with PyTorch's switches as ``backend`` has them."""
    with framework_switches(backend):
        return environment.collect(device)


@contextlib.contextmanager
def recorded_kernels(module: "nn.Module") -> Iterator[Counter[str]]:
    """Counts, while open, which kernel family PyTorch selects for each convolution: what really ran."""
    import torch

    counts: Counter[str] = Counter()
    select: Callable[..., object] | None = getattr(torch._C, "_select_conv_backend", None)

    def record(layer: "nn.Module", inputs: "tuple[torch.Tensor, ...]") -> None:
        assert isinstance(layer, torch.nn.Conv2d)
        if select is None or isinstance(layer.padding, str):
            counts["unknown"] += 1
            return
        input = inputs[0] if inputs[0].dim() == 4 else inputs[0].unsqueeze(0)
        sizes = (layer.stride, layer.padding, layer.dilation, False, (0, 0), layer.groups)
        chosen = select(input, layer.weight, layer.bias, *sizes)
        counts[str(chosen).rsplit(".", 1)[-1]] += 1

    hooks = [m.register_forward_pre_hook(record) for m in module.modules() if isinstance(m, torch.nn.Conv2d)]
    try:
        yield counts
    finally:
        for hook in hooks:
            hook.remove()
