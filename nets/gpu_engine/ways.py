"""The ways to compute one convolution or Linear layer's three phases, by name.

A way is made for a shape; its results are checked and timed by ``nets/gpu_engine/choice.py``.
"""

import contextlib
import importlib.util
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from convnet_benchmarks.nets.gpu_engine.shape import Convolution
from convnet_benchmarks.nets.phases import FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT

_FEW = 4  # images: PyTorch's native kernels process them one after the other


@dataclass
class Pass:
    """The tensors of one call of a layer; ``kept`` has operands that a later phase can reuse.

    ``x`` and ``gradient`` are (n, channel, h, w), also for Linear, with h = w = 1.
    """

    shape: Convolution
    x: Tensor
    weight: Tensor
    bias: Tensor | None
    gradient: Tensor | None = None
    kept: dict[str, Any] = field(default_factory=dict)

    def again(self, kept: Mapping[str, Any] | None = None) -> "Pass":
        """Returns the same call with no operands except those in ``kept``."""
        return replace(self, kept=dict(kept or {}))

    def mapped(self, change: Callable[[Tensor], Tensor]) -> "Pass":
        """Returns the call with ``change`` applied to its tensors."""
        x, weight, bias, gradient = (
            None if one is None else change(one) for one in (self.x, self.weight, self.bias, self.gradient)
        )
        assert x is not None and weight is not None
        return Pass(self.shape, x, weight, bias, gradient)

    @property
    def sizes(self) -> tuple[Any, ...]:
        """Returns the arguments after the bias of PyTorch's convolution_backward."""
        return (list(self.shape.stride), list(self.shape.padding), [1, 1], False, [0, 0], 1)


Compute = Callable[[Pass], Tensor]


# Families of ways: PyTorch's own, and those on tensor cores, compiled by Triton.
PYTORCHS = ("cudnn", "native", "mm")
COMPILED = ("halves", "tf32x3")


def family(name: str) -> str:
    """Returns the part of a way's name before the bracket, which names a variant."""
    return name.partition("(")[0]


def is_compiled(name: str) -> bool:
    return family(name) in COMPILED


def has_triton() -> bool:
    return importlib.util.find_spec("triton") is not None


def rounds_to_tf32() -> bool:
    """Returns whether PyTorch's convolutions round float32 to TF32."""
    return bool(torch.backends.cudnn.allow_tf32)


def ways(shape: Convolution, phase: str, channels_last: bool) -> dict[str, Compute]:
    """Returns the ways to compute ``phase``, the simplest first: PyTorch's own."""
    if shape.is_product and shape.in_size == (1, 1):  # a Linear layer
        return {"mm": _PRODUCTS[phase], **_on_tensor_cores(shape, phase, channels_last)}
    found: dict[str, Compute] = {"cudnn": _by_pytorch(phase)}
    compiled = _on_tensor_cores(shape, phase, channels_last)
    if not compiled:  # cuDNN's tuner never found anything faster than these
        found["cudnn(tuned)"] = _by_pytorch(phase, benchmark=True)
    if shape.batch <= _FEW:
        found["native"] = _by_pytorch(phase, cudnn=False)
    if channels_last:
        found["cudnn(nchw)"] = _by_pytorch(phase, layout=torch.contiguous_format)
        if shape.is_product:
            found["mm"] = _PRODUCTS[phase]
    else:
        found["cudnn(channels-last)"] = _by_pytorch(phase, layout=torch.channels_last)
    return {**found, **compiled}


def _by_pytorch(
    phase: str, *, benchmark: bool = False, cudnn: bool = True, layout: torch.memory_format | None = None
) -> Compute:
    def in_layout(x: Tensor) -> Tensor:
        return x if layout is None else x.contiguous(memory_format=layout)

    def forward(one: Pass) -> Tensor:
        with _switched(cudnn, benchmark):
            sizes = (one.shape.stride, one.shape.padding)
            out = torch.conv2d(in_layout(one.x), in_layout(one.weight), one.bias, *sizes)
        return out if layout is None else out.contiguous(memory_format=_other(layout))

    def backward(one: Pass, index: int) -> Tensor:
        mask = [False, False, False]
        mask[index] = True
        assert one.gradient is not None
        with _switched(cudnn, benchmark):
            found = torch.ops.aten.convolution_backward.default(
                in_layout(one.gradient), in_layout(one.x), in_layout(one.weight), None, *one.sizes, mask
            )[index]
        assert isinstance(found, Tensor)
        return found if layout is None or index else found.contiguous(memory_format=_other(layout))

    if phase == FORWARD:
        return forward
    return lambda one: backward(one, 0 if phase == INPUT_GRADIENT else 1)


def _other(layout: torch.memory_format) -> torch.memory_format:
    return torch.contiguous_format if layout is torch.channels_last else torch.channels_last


@contextlib.contextmanager
def _switched(cudnn: bool, benchmark: bool) -> Iterator[None]:
    switches: Any = torch.backends.cudnn
    before = switches.enabled, switches.benchmark
    switches.enabled, switches.benchmark = cudnn, benchmark
    try:
        yield
    finally:
        switches.enabled, switches.benchmark = before


def _rows(x: Tensor) -> Tensor:
    """Returns (n, channel, h, w) as one row of channels for each pixel."""
    return x.permute(0, 2, 3, 1).reshape(-1, x.shape[1])


def _image(rows: Tensor, like: tuple[int, int, int]) -> Tensor:
    batch, height, width = like
    return rows.view(batch, height, width, -1).permute(0, 3, 1, 2)


def _product_forward(one: Pass) -> Tensor:
    weight = one.weight.flatten(1).t()
    rows = _rows(one.x)
    found = rows @ weight if one.bias is None else torch.addmm(one.bias, rows, weight)
    return _image(found, (one.shape.batch, *one.shape.out_size))


def _product_input_gradient(one: Pass) -> Tensor:
    assert one.gradient is not None
    return _image(_rows(one.gradient) @ one.weight.flatten(1), (one.shape.batch, *one.shape.in_size))


def _product_weight_gradient(one: Pass) -> Tensor:
    assert one.gradient is not None
    return (_rows(one.gradient).t() @ _rows(one.x)).view(one.weight.shape)


_PRODUCTS: dict[str, Compute] = {
    FORWARD: _product_forward,
    INPUT_GRADIENT: _product_input_gradient,
    WEIGHT_GRADIENT: _product_weight_gradient,
}


def _on_tensor_cores(shape: Convolution, phase: str, channels_last: bool) -> dict[str, Compute]:
    if not channels_last or rounds_to_tf32():  # more exact ones are slower
        return {}
    if not has_triton():
        return {}
    from convnet_benchmarks.nets.gpu_engine.kernels import tensor_cores

    if not tensor_cores.applies(shape):
        return {}
    return {
        f"{'halves' if one.halves else 'tf32x3'}({one.tile})": _implicit(one, phase)
        for one in tensor_cores.variants(shape, phase)
    }


def _implicit(kernel: Any, phase: str) -> Compute:
    """``kernel``: a :class:`tensor_cores.Implicit`."""

    def x_of(one: Pass) -> Any:
        name = f"x, {kernel.halves}"
        if name not in one.kept:
            one.kept[name] = kernel.input_operand(one.x)
        return one.kept[name]

    def gradient_of(one: Pass) -> Any:
        name = f"gradient, {kernel.halves}"
        if name not in one.kept:
            one.kept[name] = kernel.gradient_operand(one.gradient)
        return one.kept[name]

    def forward(one: Pass) -> Tensor:
        found: Tensor = kernel.forward(x_of(one), one.weight, one.bias)
        return found

    def input_gradient(one: Pass) -> Tensor:
        found: Tensor = kernel.input_gradient(gradient_of(one), one.weight)
        return found

    def weight_gradient(one: Pass) -> Tensor:
        found: Tensor = kernel.weight_gradient(x_of(one), gradient_of(one))
        return found

    return {FORWARD: forward, INPUT_GRADIENT: input_gradient, WEIGHT_GRADIENT: weight_gradient}[phase]
