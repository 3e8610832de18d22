"""Which kernels the legacy switches select, and what really ran."""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.legacy.options import LegacyOptions

if TYPE_CHECKING:
    import torch
    from torch import nn

    from nets.engine import Report
    from nets.phases import Phases
    from nets.torch7.printing import ClassNames


@dataclass(frozen=True)
class Backend:
    """A choice of kernels. ``forced`` says that --backend named it, rather than the legacy switches."""

    name: str  # one of legacy_options.BACKENDS on a CPU; mm, direct, cudnn or ccn2 on a GPU
    description: str
    on_gpu: bool = False
    forced: bool = False

    @property
    def runs_on_engine(self) -> bool:
        return not self.on_gpu and self.name != "stock"

    def class_names(self, relu_cudnn: bool) -> "ClassNames":
        """The Torch7 classes that ``print(model)`` shows for this choice."""
        from nets.torch7.printing import ClassNames

        if self.name == "cudnn":
            relu = "cudnn.ReLU" if relu_cudnn else "nn.ReLU"
            return ClassNames("cudnn.SpatialConvolution", "cudnn.SpatialMaxPooling", False, relu)
        if self.name == "ccn2":
            return ClassNames("ccn2.SpatialConvolution", "ccn2.SpatialMaxPooling", False)
        return ClassNames("nn.SpatialConvolutionMM" if self.name == "mm" else "nn.SpatialConvolution")


_DESCRIPTIONS = {
    "auto": "the fastest kernel for each layer and phase",
    "mm": "im2col and matrix product",
    "direct": "oneDNN direct convolution",
    "winograd": "Winograd convolution where it applies",
    "fft": "FFT convolution where it applies",
    "stock": "PyTorch's autograd with its default kernels",
}
_ON_GPU = {
    "mm": "PyTorch's native CUDA convolution (im2col and matrix product)",
    "direct": "PyTorch's native CUDA convolution",
    "cudnn": "cuDNN, autotuned",
    "ccn2": "PyTorch's native CUDA convolution (cuda-convnet2's kernels no longer exist)",
}


def choose(options: LegacyOptions) -> Backend:
    """The backend that the switches select; the later of the original's assignments wins.

    Raises UserError for a switch that needs, or excludes, another one.
    """
    for switch in ("cudnn", "ccn2"):
        if getattr(options, switch) and not options.cuda:
            raise UserError(f"option -{switch} true needs -cuda true")
    if options.backend is not None and options.cuda:
        raise UserError("option --backend is for the CPU; on a GPU use -convMM, -cudnn or -ccn2")
    if options.cuda:
        name = "ccn2" if options.ccn2 else "cudnn" if options.cudnn else "mm" if options.convMM else "direct"
        return Backend(name, _ON_GPU[name], on_gpu=True)
    name = options.backend or ("mm" if options.convMM else "direct")
    return Backend(name, _DESCRIPTIONS[name], forced=options.backend is not None)


@dataclass
class OpenPhases:
    """The phases of one module, and how they run. ``engine`` is None where PyTorch's autograd runs them."""

    phases: "Phases"
    engine: "Report | None" = None
    note: str = ""


@contextlib.contextmanager
def open_phases(
    backend: Backend, module: "nn.Module", input_shape: tuple[int, ...], dtype: "torch.dtype", tf32: bool
) -> Iterator[OpenPhases]:
    """The three phases of ``module`` on the kernels of ``backend``, the framework's switches set for them.

    Where the CPU engine cannot run the module, PyTorch's autograd does and ``note`` says why; UserError if
    --backend had asked for the engine.
    """
    from nets.phases import AutogradPhases

    note = ""
    if backend.runs_on_engine:
        import nets.engine

        try:
            phases = nets.engine.compile(module, input_shape, backend.name, dtype)
        except (nets.engine.CompileError, ValueError) as error:
            if backend.forced:
                raise UserError(f"option --backend {backend.name}: {error}") from None
            note = f"PyTorch's autograd runs this net, because the CPU engine cannot: {error}"
        else:
            with phases:
                yield OpenPhases(phases, phases.report())
            return
    switches = framework_switches(
        onednn=backend.name != "mm", nnpack=backend.name == "stock", cudnn=backend.name == "cudnn", tf32=tf32
    )
    with switches, AutogradPhases(module) as autograd:
        yield OpenPhases(autograd, note=note)


@contextlib.contextmanager
def framework_switches(*, onednn: bool, nnpack: bool, cudnn: bool, tf32: bool) -> Iterator[None]:
    """Sets PyTorch's process-wide switches (cuDNN with its autotuner) and puts them back afterwards."""
    import torch

    matmul = torch.backends.cuda.matmul
    # mkldnn.flags would also touch its TF32 setting, which warns on a CPU build.
    (mkldnn_before, *_) = torch.backends.mkldnn.set_flags(onednn)
    tf32_before, matmul.allow_tf32 = matmul.allow_tf32, tf32
    try:
        with (
            torch.backends.nnpack.flags(enabled=nnpack),
            torch.backends.cudnn.flags(cudnn, benchmark=cudnn, deterministic=False, allow_tf32=tf32),
        ):
            yield
    finally:
        torch.backends.mkldnn.set_flags(mkldnn_before)
        matmul.allow_tf32 = tf32_before


def check_ccn2(module: "nn.Module", input_shape: tuple[int, ...]) -> None:
    """cuda-convnet2's constraints; raises UserError that names the first layer that breaks one."""
    from torch import nn

    if len(input_shape) != 4 or input_shape[0] % 32:
        raise UserError("option -ccn2 true: cuda-convnet2 takes a multiple of 32 samples (-batch_size)")
    if input_shape[2] != input_shape[3]:
        raise UserError("option -ccn2 true: cuda-convnet2 takes square inputs only (-x and -y)")
    for name, layer in module.named_modules():
        if not isinstance(layer, nn.Conv2d):
            continue
        where = f"option -ccn2 true: layer {name} ({layer.in_channels} -> {layer.out_channels})"
        if layer.in_channels > 3 and layer.in_channels % 4:
            raise UserError(f"{where}: cuda-convnet2 takes 1, 2, 3 or a multiple of 4 input planes")
        if layer.out_channels % 16:
            raise UserError(f"{where}: cuda-convnet2 gives a multiple of 16 output planes")


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
