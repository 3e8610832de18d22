"""Which convolutions cannot run channels last, and what becomes of them."""

import copy
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from convnet_benchmarks.nets.channels_last import may_step_over, unsafe_convolution
from convnet_benchmarks.nets.engine import BACKENDS as ENGINE_BACKENDS
from convnet_benchmarks.nets.engine import compile
from convnet_benchmarks.workload.backends import BACKENDS, UnsupportedError
from convnet_benchmarks.workload.kernels import laid_out
from tests.helpers.engine_conditions import WITH_AND_WITHOUT, c_compiler
from tests.nets.engine.modules import exact_results, largest_error, run


def steps_over(size: int, kernel: int, stride: int, padding: int, dilation: int) -> bool:
    """Whether a tap lies left of an image for one output and right of it for the next."""
    outputs = (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
    starts = [tap * dilation - padding for tap in range(kernel)]
    return any(
        start + output * stride < 0 and start + (output + 1) * stride >= size
        for start in starts
        for output in range(outputs - 1)
    )


def test_no_image_is_skipped_except_by_convolutions_that_may() -> None:
    sizes = list(product(range(1, 6), range(1, 5), range(8), range(1, 4)))
    stepping = [how for how in sizes if any(steps_over(size, *how) for size in range(1, 8))]
    assert len(stepping) > 20
    assert all(may_step_over(*how) for how in stepping)
    assert not any(may_step_over(kernel, 2, kernel // 2, 1) for kernel in range(1, 20))  # as nets have them


class Functional(nn.Module):
    """A convolution, or a transposed one, by function."""

    def __init__(self, transposed: bool) -> None:
        super().__init__()
        self.transposed = transposed
        self.weight = nn.Parameter(torch.randn((4, 2, 1, 1) if transposed else (8, 2, 1, 1)))
        self.bias = nn.Parameter(torch.randn(4 if transposed else 8))

    def forward(self, x: Tensor) -> Tensor:
        if self.transposed:
            return F.conv_transpose2d(x, self.weight, self.bias, (1, 3), (0, 2), groups=2, dilation=(1, 3))
        return F.conv2d(x, self.weight, self.bias, (1, 3), (0, 2), (1, 3), groups=2)


def hooked(module: nn.Module) -> nn.Module:
    module.register_forward_hook(lambda *_: None)
    return module


# Those before "depthwise" ended the process; the last ones were wrong.
CASES = {
    "grouped": (lambda: nn.Conv2d(35, 7, 1, 4, (0, 2), 3, 7), (1, 35, 5, 1)),
    "two taps": (lambda: nn.Conv2d(64, 32, (1, 2), (4, 3), (0, 4), (1, 2), 8), (3, 64, 17, 1)),
    "one group": (lambda: nn.Conv2d(5, 4, 1, 2, (4, 3), (1, 2)), (3, 5, 12, 1)),
    "with others": (
        lambda: nn.Sequential(nn.ReLU(), nn.Conv2d(9, 3, 1, (1, 3), (2, 4), (1, 3), 3), nn.ReLU()),
        (1, 9, 17, 2),
    ),
    "function": (lambda: Functional(False), (2, 4, 12, 1)),
    "inside a hooked module": (
        lambda: hooked(nn.Sequential(nn.Conv2d(7, 28, 1, (1, 3), (2, 4), (1, 3), 7))),
        (3, 7, 5, 1),
    ),
    "depthwise": (lambda: nn.Conv2d(8, 8, 1, (1, 3), (2, 4), (1, 3), 8), (3, 8, 5, 1)),
    "transposed function": (lambda: Functional(True), (2, 4, 12, 3)),
    "transposed": (lambda: nn.ConvTranspose2d(4, 8, 1, (1, 3), (0, 2), 0, 2, True, (1, 3)), (2, 4, 12, 3)),
    "one column": (lambda: nn.Conv2d(1, 19, (3, 6), (1, 4), (1, 3)), (2, 1, 7, 3)),
    "one column, with ReLU": (
        lambda: nn.Sequential(nn.Conv2d(1, 4, (1, 3), (1, 3)), nn.ReLU()),
        (2, 1, 7, 3),
    ),
    "not dilated": (lambda: nn.Conv2d(4, 8, 1, (1, 3), (0, 4)), (2, 4, 12, 1)),
}


@pytest.mark.parametrize("compiler", WITH_AND_WITHOUT)
@pytest.mark.parametrize("name", CASES)
def test_the_engine_runs_them(name: str, compiler: str) -> None:
    make, shape = CASES[name]
    torch.manual_seed(0)
    module = make()
    x = torch.randn(shape)
    exact = exact_results(copy.deepcopy(module).double(), x.double())
    with c_compiler(compiler):
        for backend in ENGINE_BACKENDS:
            if backend == "stock" and name.startswith("one column"):
                continue  # PyTorch's own numbers, which are wrong
            with compile(module, shape, backend, tuning="quick", tuning_seconds=0) as phases:
                found = run(phases, x)
            for have, want in zip(found, exact, strict=True):
                assert largest_error(have, want) < 1e-5
            for parameter in module.parameters():
                parameter.grad = None


def test_the_studies_refuse_them_with_a_line() -> None:
    backend, x = BACKENDS["channels-last"], torch.zeros(1, 3, 8, 8)
    plain = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.ReLU())
    assert not unsafe_convolution(plain)
    assert laid_out(backend, plain, x, x.device).is_contiguous(memory_format=torch.channels_last)
    net = nn.Sequential(nn.ReLU(), nn.Sequential(nn.Conv2d(3, 4, 1, 2, 1)))
    with pytest.raises(UnsupportedError, match=r"convolution 1\.0, which .* accepted for it: backend stock$"):
        laid_out(backend, net, x, x.device)
    assert laid_out(BACKENDS["stock"], net, x, x.device) is x


@pytest.mark.parametrize("compiler", WITH_AND_WITHOUT)
@pytest.mark.parametrize(("groups", "outputs"), [(3, 24), (6, 6)])
def test_one_column_in_bfloat16(groups: int, outputs: int, compiler: str) -> None:
    torch.manual_seed(0)
    module = nn.Conv2d(6, outputs, (5, 2), (1, 4), (3, 0), groups=groups).bfloat16()
    x = torch.randn(3, 6, 4, 2).bfloat16()
    exact = exact_results(copy.deepcopy(module).double(), x.double())
    with c_compiler(compiler), compile(module, x.shape, "mm") as phases:
        for have, want in zip(run(phases, x), exact, strict=True):
            assert float((have.double() - want).abs().max()) < 2e-2 * float(want.abs().max())
