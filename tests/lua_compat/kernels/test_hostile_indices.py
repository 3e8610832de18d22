"""Every kernel that takes indices refuses those out of range; none reads or writes outside its tensors."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from lua_compat.kernels import all_kernels

KERNELS = all_kernels()

# The parameters whose elements say where to read or write, or which class is meant.
NAMES = {"index", "indices", "keys", "sizes", "table", "target", "aliases"}

# Not places: what a kernel itself finds, sizes that are numbers, and what elements are compared with.
RESULTS = {
    "adaptive_max_pooling",
    "fractional_max_pooling",
    "nearest",
    "pool_regions",
    "spatial_max_pooling",
    "stochastic_choice",
    "temporal_max_pooling",
    "volumetric_max_pooling",
}
VALUES = {
    "binary_cross_entropy", "binary_cross_entropy_gradient", "elementwise_loss",
    "elementwise_loss_gradient", "make_link", "out_of_range",
}  # fmt: skip

HOSTILE = [
    sign * (2**power + more) for power in (7, 10, 31, 40, 53, 62) for sign in (1, -1) for more in (0, 1)
]
HOSTILE += [0, -1, -2, 2**63 - 1, -(2**63)]


def zeros(*sizes: int) -> Tensor:
    return torch.zeros(*sizes, dtype=torch.float64)


def places(hostile: int, *sizes: int) -> Tensor:
    """Returns whole numbers: all 1 but one, which is ``hostile``."""
    indices = torch.ones(*sizes, dtype=torch.int64)
    indices.view(-1)[indices.numel() // 2] = hostile
    return indices


def entries(hostile: int, column: int) -> Tensor:
    """Returns two places of a sparse 3 x 4 matrix, the second one with a hostile number in a column."""
    table = torch.tensor([[1.0, 1.0, 5.0], [2.0, 2.0, 5.0]], dtype=torch.float64)
    table[1, column] = hostile
    return table


def connections(hostile: int, column: int) -> Tensor:
    table = torch.tensor([[1, 1], [2, 2]])
    table[1, column] = hostile
    return table


IMAGE, POOLED, VOLUME, OF_VOLUME = zeros(2, 4, 4), zeros(2, 2, 2), zeros(2, 4, 4, 4), zeros(2, 2, 2, 2)
WINDOW = (2, 2, 2, 2, 0, 0, False, 1, 1)
VOLUME_WINDOW = (False, *[2] * 6, *[0] * 3, *[1] * 3)
REGION = torch.tensor([[1.0, 1.0, 1.0, 4.0, 4.0]], dtype=torch.float64)
FILTERS, BIAS = zeros(2, 3, 3), zeros(2)

# Each gives the arguments for one hostile index.
CASES: dict[str, tuple[str, Callable[[int], tuple[Any, ...]]]] = {
    "spatial pooling": (
        "spatial_max_pooling_grad_input",
        lambda i: (zeros(0), IMAGE, POOLED, places(i, 2, 2, 2), *WINDOW),
    ),
    "volumetric pooling": (
        "volumetric_max_pooling_grad_input",
        lambda i: (zeros(0), VOLUME, OF_VOLUME, places(i, 2, 2, 2, 2), *VOLUME_WINDOW),
    ),
    "fractional pooling": (
        "fractional_max_pooling_grad_input",
        lambda i: (zeros(0), IMAGE, POOLED, places(i, 2, 2, 2), 2),
    ),
    "adaptive pooling": (
        "adaptive_max_pooling_grad_input",
        lambda i: (zeros(0), zeros(1, 2, 2), zeros(1, 2, 2), places(i, 2, 1, 2, 2)),
    ),
    "temporal pooling": (
        "temporal_max_pooling_grad_input",
        lambda i: (zeros(0), zeros(4, 3), zeros(2, 3), places(i, 2, 3) - 1, 2, 2),
    ),
    "regions": (
        "pool_regions_gradient",
        lambda i: (zeros(0), places(i, 1, 2, 2, 2) - 2, zeros(1, 2, 4, 4), REGION, zeros(1, 2, 2, 2)),
    ),
    "stochastic pooling": (
        "stochastic_choice_gradient",
        lambda i: (zeros(0), zeros(1, 2, 4, 4), places(i, 1, 2, 2, 2) - 1, zeros(1, 2, 2, 2)),
    ),
    "unpooling": ("max_unpooling", lambda i: (zeros(0), POOLED, places(i, 2, 2, 2), 2, 2)),
    "unpooling's gradient": (
        "max_unpooling_grad_input",
        lambda i: (zeros(0), POOLED, POOLED, places(i, 2, 2, 2), 2, 2),
    ),
    "gather": ("gather", lambda i: (zeros(3), zeros(3), 1, places(i, 3))),
    "scatter": ("scatter", lambda i: (zeros(3), 1, places(i, 3), zeros(3))),
    "scatter_add": ("scatter_add", lambda i: (zeros(3), 1, places(i, 3), zeros(3))),
    "scatter_fill": ("scatter_fill", lambda i: (zeros(3), 1, places(i, 3), 1.0)),
    "index_select": ("index_select", lambda i: (zeros(3), zeros(3), 1, places(i, 3))),
    "index_add": ("index_add", lambda i: (zeros(3), 1, places(i, 3), zeros(3))),
    "index_copy": ("index_copy", lambda i: (zeros(3), 1, places(i, 3), zeros(3))),
    "index_fill": ("index_fill", lambda i: (zeros(3), 1, places(i, 3), 1.0)),
    "class_nll": ("class_nll", lambda i: (zeros(1), zeros(3, 4), places(i, 3), None, True, -100)),
    "class_nll's gradient": (
        "class_nll_gradient",
        lambda i: (zeros(0), zeros(3, 4), places(i, 3), None, zeros(1) + 3, True, -100),
    ),
    "lookup": ("lookup_grad_weight", lambda i: (zeros(4, 2), places(i, 3), zeros(3, 2), -100, 1.0, False)),
    "lookup by frequency": (
        "lookup_grad_weight",
        lambda i: (zeros(4, 2), places(i, 3), zeros(3, 2), -100, 1.0, True),
    ),
    "lookup_renorm": ("lookup_renorm", lambda i: (zeros(4, 2), places(i, 3), 1.0, 2.0)),
    "row of a sparse input": (
        "sparse_linear",
        lambda i: (zeros(0), entries(i, 0), zeros(2, 4), zeros(2), 3),
    ),
    "column of a sparse input": (
        "sparse_linear",
        lambda i: (zeros(0), entries(i, 1), zeros(2, 4), zeros(2), 3),
    ),
    "columns of a sparse input": (
        "sparse_linear_columns",
        lambda i: (torch.zeros(0, dtype=torch.int64), entries(i, 1), zeros(2, 4)),
    ),
    "gradient of a sparse input": (
        "sparse_linear_grad_parameters",
        lambda i: (zeros(2, 4), zeros(2), entries(i, 0), zeros(3, 2), zeros(2, 4), 0.0, 1.0),
    ),
    "key": (
        "index_linear",
        lambda i: (
            zeros(0),
            zeros(0),
            places(i, 3),
            zeros(3),
            torch.tensor([1, 2]),
            zeros(4, 2),
            zeros(2),
            -1,
            True,
        ),
    ),
    "normalized key": (
        "index_linear",
        lambda i: (
            zeros(0),
            zeros(0),
            places(i, 3),
            zeros(3),
            torch.tensor([1, 2]),
            zeros(4, 6),
            zeros(2),
            -1,
            True,
        ),
    ),
    "number of keys": (
        "index_linear",
        lambda i: (
            zeros(0),
            zeros(0),
            places(1, 3),
            zeros(3),
            torch.tensor([1, i]),
            zeros(4, 2),
            zeros(2),
            -1,
            True,
        ),
    ),
    "number of keys of a gradient": (
        "index_linear_grad_parameters",
        lambda i: (zeros(0), zeros(2), zeros(3), torch.tensor([1, i]), zeros(2, 2), zeros(4, 2), 1.0),
    ),
    "key of an update": (
        "index_linear_update",
        lambda i: (
            places(i, 3),
            zeros(3),
            torch.tensor([1, 2]),
            zeros(2, 2),
            zeros(4, 2),
            zeros(2),
            -1,
            0.0,
            1.0,
        ),
    ),
    "key of a step": (
        "index_linear_update_parameters",
        lambda i: (zeros(3, 2), zeros(2), zeros(4, 2), zeros(2), places(i, 3), -1, 0.0, 1.0),
    ),
    "input plane of a connection": (
        "mapped_convolution",
        lambda i: (zeros(0), IMAGE, FILTERS, BIAS, connections(i, 0), 1, 1, False),
    ),
    "output plane of a connection": (
        "mapped_convolution",
        lambda i: (zeros(0), IMAGE, FILTERS, BIAS, connections(i, 1), 1, 1, False),
    ),
    "connection in a gradient": (
        "mapped_convolution_grad_input",
        lambda i: (zeros(0), IMAGE, POOLED, FILTERS, BIAS, connections(i, 1), 1, 1, False),
    ),
    "connection in the parameters' gradient": (
        "mapped_convolution_grad_parameters",
        lambda i: (
            zeros(2, 3, 3),
            zeros(2),
            IMAGE,
            POOLED,
            FILTERS,
            BIAS,
            connections(i, 1),
            1,
            1,
            False,
            1.0,
        ),
    ),
    "multi margin": (
        "loss",
        lambda i: (zeros(3, 4), places(i, 3).double(), None, "multi_margin", True, 1.0, 1.0),
    ),
    "multi margin's gradient": (
        "loss_gradient",
        lambda i: (zeros(0), zeros(3, 4), places(i, 3).double(), None, "multi_margin", True, 1.0, 1.0),
    ),
}


def test_every_kernel_with_indices_has_a_case() -> None:
    with_indices = {
        name
        for name, kernel in KERNELS.items()
        for parameter in inspect.signature(kernel).parameters.values()
        if parameter.name in NAMES and parameter.kind is not inspect.Parameter.VAR_POSITIONAL
    }
    assert with_indices - RESULTS - VALUES == {kernel for kernel, _ in CASES.values()}


@pytest.mark.parametrize("case", CASES)
def test_an_index_within_is_taken(case: str) -> None:
    kernel, arguments = CASES[case]
    KERNELS[kernel](*arguments(2))


@pytest.mark.parametrize("case", CASES)
def test_an_index_outside_is_an_error(case: str) -> None:
    kernel, arguments = CASES[case]
    for hostile in HOSTILE:
        if hostile == 0 and case in MAXIMA:
            continue
        with pytest.raises((ValueError, IndexError, RuntimeError)):
            KERNELS[kernel](*arguments(hostile))


MAXIMA = [f"{what} pooling" for what in ("spatial", "volumetric", "fractional", "temporal", "adaptive")]


@pytest.mark.parametrize("case", MAXIMA)
def test_a_window_without_a_maximum_passes_no_gradient_on(case: str) -> None:
    kernel, arguments = CASES[case]
    gradient, x, grad_output, *rest = arguments(0)
    KERNELS[kernel](gradient, x, grad_output + 1, *rest)
    assert gradient.shape == x.shape
    assert gradient.sum() == grad_output.numel() - 1


@pytest.mark.parametrize("number", [float("nan"), -1.0, 1e18, 2.0])
def test_random_samples_outside_are_an_error(number: float) -> None:
    samples = zeros(1, 2, 2) + 0.5
    samples[0, 1, 0] = number
    with pytest.raises(ValueError, match="random samples"):
        KERNELS["fractional_max_pooling"](
            zeros(0), torch.zeros(0, dtype=torch.int64), IMAGE, samples, 2, 2, 2, 2
        )


def test_indices_of_another_shape_are_an_error() -> None:
    for sizes in ((2, 2, 1), (1, 2, 2), (2, 4, 4)):
        indices = torch.ones(*sizes, dtype=torch.int64)
        for grad_output in (POOLED, zeros(*sizes), zeros(3, 2, 2)):
            if sizes == tuple(grad_output.shape) == (2, 2, 2):
                continue
            with pytest.raises((ValueError, RuntimeError)):
                KERNELS["spatial_max_pooling_grad_input"](zeros(0), IMAGE, grad_output, indices, *WINDOW)
