"""The kernels a net can be measured on, by name: the one list for every command."""

from dataclasses import dataclass

from convnet_benchmarks.nets.cudnn import MOST_TRIED
from convnet_benchmarks.workload.devices import CPU, CUDA


class UnsupportedError(Exception):
    """This net, number format, device and backend do not go together; the message says why."""


@dataclass(frozen=True)
class Backend:
    """One choice of kernels: PyTorch's with some switches, or an engine's (``engine``: its backend).

    Where the CPU engine cannot run a net, the switches are those that come closest to it in PyTorch.
    ``runtime``: another library that runs the net instead, in inference only. ``fuses``: whether the engine
    or such a library may join operations. ``cudnn_tries``: how many kernels of a convolution cuDNN may time.
    ``experimental``: whether the GPU engine may use kernels not yet verified on such a card.
    """

    name: str
    description: str
    devices: tuple[str, ...] = (CPU,)
    engine: str = ""
    onednn: bool = True
    nnpack: bool = True
    cudnn: bool = True
    cudnn_tries: int = MOST_TRIED
    tf32: bool = False
    channels_last: bool = False
    compiled: bool = False
    graph: bool = False
    runtime: str = ""
    fuses: bool = True
    experimental: bool = False

    def why_not_on(self, device_type: str) -> str:
        """Returns why the backend cannot run on ``cpu`` or ``cuda``; empty if it can."""
        if device_type in self.devices:
            return ""
        return f"backend {self.name} is for {' and '.join(self.devices)}, not for {device_type}"


def _on_engine(name: str, description: str, onednn: bool = True) -> Backend:
    return Backend(name, description, engine=name, onednn=onednn, nnpack=False)


def _by_runtime(runtime: str, description: str) -> Backend:
    return Backend(runtime, description, runtime=runtime)


def _named(*backends: Backend) -> dict[str, Backend]:
    return {backend.name: backend for backend in backends}


_BOTH = (CPU, CUDA)
BACKENDS = _named(
    Backend("stock", "PyTorch as it comes: oneDNN on a CPU, cuDNN autotuned on a GPU", _BOTH),
    Backend("no-onednn", "PyTorch without oneDNN: im2col and MKL's matrix product", onednn=False),
    Backend("no-cudnn", "PyTorch without cuDNN: its native CUDA kernels", (CUDA,), cudnn=False),
    Backend("tf32", "stock, matrix products and convolutions in TF32", (CUDA,), tf32=True),
    Backend("channels-last", "stock, tensors laid out NHWC", _BOTH, channels_last=True),
    Backend("compile", "torch.compile (needs a C++ compiler; Triton on a GPU)", _BOTH, compiled=True),
    Backend("cuda-graph", "stock, all of a pass issued at once as a CUDA graph", (CUDA,), graph=True),
    Backend("auto", "the fastest kernel for each layer and phase", _BOTH, engine="auto", nnpack=False),
    Backend(
        "auto-experimental",
        "auto, also with kernels not yet verified on this kind of card",
        (CUDA,),
        engine="auto",
        experimental=True,
    ),
    _on_engine("mm", "im2col and matrix product", onednn=False),
    _on_engine("direct", "oneDNN direct convolution"),
    _on_engine("winograd", "Winograd convolution where it applies"),
    _on_engine("fft", "FFT convolution where it applies"),
    Backend("unfused", "auto, no layers fused", engine="auto", nnpack=False, fuses=False),
    _by_runtime("onnxruntime", "ONNX Runtime, inference only (extra: runtimes)"),
    Backend("onnxruntime-unfused", "the same, no operations fused", runtime="onnxruntime", fuses=False),
    _by_runtime("openvino", "OpenVINO, inference only (extra: runtimes)"),
)

# What --backend of the legacy scripts takes: the engine's, and PyTorch's own.
LEGACY_BACKENDS = (*(name for name, backend in BACKENDS.items() if backend.engine == name), "stock")

GPU_BACKENDS = tuple(name for name in LEGACY_BACKENDS if CUDA in BACKENDS[name].devices)

# What the legacy switches (-convMM, -cudnn, -ccn2) select on a GPU; the names are those of the switches.
GPU_SWITCHES = _named(
    Backend("mm", "PyTorch's native CUDA convolution (im2col and matrix product)", (CUDA,), cudnn=False),
    Backend("direct", "PyTorch's native CUDA convolution", (CUDA,), cudnn=False),
    Backend("cudnn", "cuDNN, autotuned", (CUDA,)),
    Backend(
        "ccn2",
        "PyTorch's native CUDA convolution (cuda-convnet2's kernels no longer exist)",
        (CUDA,),
        cudnn=False,
    ),
)


def find(name: str) -> Backend:
    """Returns the backend called ``name``; raises KeyError with the accepted names otherwise."""
    try:
        return BACKENDS[name]
    except KeyError:
        raise KeyError(f"unknown backend '{name}'; accepted: {', '.join(BACKENDS)}") from None
