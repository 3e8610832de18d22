"""Which kernels the legacy switches select, and the names that Torch7 prints for them."""

from dataclasses import replace
from typing import TYPE_CHECKING

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.legacy.options import LegacyOptions
from convnet_benchmarks.nets import registry
from convnet_benchmarks.nets.cudnn import MOST_TRIED, MOST_TRIED_THOROUGHLY
from convnet_benchmarks.workload.backends import BACKENDS, GPU_BACKENDS, GPU_SWITCHES, Backend

if TYPE_CHECKING:
    from torch import nn

    from convnet_benchmarks.nets.torch7.printing import ClassNames


def choose(options: LegacyOptions) -> Backend:
    """Returns the backend that the switches select; the later of the original's assignments wins.

    Raises UserError for a switch that needs, or excludes, another one.
    """
    for switch in ("cudnn", "ccn2"):
        if getattr(options, switch) and not options.cuda:
            raise UserError(f"option -{switch} true needs -cuda true")
    if options.cuda and options.backend not in (None, *GPU_BACKENDS):
        accepted = f"{', '.join(GPU_BACKENDS)}, or -convMM, -cudnn or -ccn2"
        raise UserError(f"option --backend {options.backend} is for the CPU; on a GPU {accepted}")
    if options.experimental and not (options.cuda and options.backend == "auto"):
        raise UserError("option --experimental: needs --cuda --backend auto")
    framework = "direct" if options.convMM is False else "mm"
    if takes_stock(options):
        backend = BACKENDS["stock"]
    elif options.experimental:
        backend = BACKENDS["auto-experimental"]
    elif options.cuda and options.backend is None:
        backend = GPU_SWITCHES["ccn2" if options.ccn2 else "cudnn" if options.cudnn else framework]
    else:
        backend = BACKENDS[options.backend or framework]
    tries = MOST_TRIED if options.tuning == "quick" else MOST_TRIED_THOROUGHLY
    return replace(backend, tf32=options.tf32, cudnn_tries=tries)


def takes_stock(options: LegacyOptions) -> bool:
    """Returns whether no option names kernels, and the net is not one of the originals', whose are im2col."""
    named = options.backend or options.convMM is not None or options.cudnn or options.ccn2
    original = options.net in registry.NETS and registry.NETS[options.net].original
    return not named and not original


def class_names(backend: Backend, relu_cudnn: bool) -> "ClassNames":
    """Returns the Torch7 classes that ``print(model)`` shows for ``backend``."""
    from convnet_benchmarks.nets.torch7.printing import ClassNames

    if backend.name == "cudnn":
        relu = "cudnn.ReLU" if relu_cudnn else "nn.ReLU"
        return ClassNames("cudnn.SpatialConvolution", "cudnn.SpatialMaxPooling", False, relu)
    if backend.name == "ccn2":
        return ClassNames("ccn2.SpatialConvolution", "ccn2.SpatialMaxPooling", False)
    return ClassNames("nn.SpatialConvolutionMM" if backend.name == "mm" else "nn.SpatialConvolution")


def check_ccn2(module: "nn.Module", input_shape: tuple[int, ...]) -> None:
    """Checks cuda-convnet2's constraints; raises UserError that names the first layer that breaks one."""
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
