"""Kernels of nn's layers from Python alone: against autograd and against dense arithmetic."""

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from lua_compat.kernels import all_kernels
from lua_compat.kernels.nn.layers import gradients

KERNELS = all_kernels()
DOUBLE = torch.float64


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(3)


def randn(*sizes: int) -> Tensor:
    return torch.randn(*sizes, dtype=DOUBLE)


def result(name: str, *arguments: Any) -> Tensor:
    out = torch.empty(0, dtype=DOUBLE)
    KERNELS[name](out, *arguments)
    return out


def slopes(name: str, x: Tensor, grad_output: Tensor, *numbers: float, step: float = 1e-6) -> Tensor:
    """Returns the gradient with respect to x by central differences of the kernel ``name``."""
    grad = torch.empty_like(x)
    for place in range(x.numel()):
        bump = torch.zeros_like(x)
        bump.view(-1)[place] = step
        difference = result(name, x + bump, *numbers) - result(name, x - bump, *numbers)
        grad.view(-1)[place] = (difference * grad_output).sum() / (2 * step)
    return grad


@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize(
    ("kind", "axes", "numbers", "reference"),
    [
        ("plain", 2, (1, 2, 2, 1, 2, 1), lambda x, w, b: F.conv2d(x, w, b, (2, 1), (1, 2), (1, 2))),
        ("plain", 3, (1, 1, 2, 0, 1, 1), lambda x, w, b: F.conv3d(x, w, b, (1, 2, 1), (0, 1, 1))),
        ("transposed", 2, (2, 3, 1, 0, 1, 2),
         lambda x, w, b: F.conv_transpose2d(x, w, b, (3, 2), (0, 1), (2, 1))),
        ("transposed", 3, (2, 1, 2, 0, 0, 1),
         lambda x, w, b: F.conv_transpose3d(x, w, b, (2, 2, 1), (0, 1, 0))),
    ],
)  # fmt: skip
def test_convolution(
    kind: str, axes: int, numbers: tuple[int, ...], reference: Callable[..., Tensor], batch: tuple[int, ...]
) -> None:
    x, bias = randn(*batch, 3, *(6, 7, 5)[:axes]), randn(4)
    weight = randn(*((4, 3) if kind == "plain" else (3, 4)), *(2, 3, 3)[:axes])
    y = reference(x, weight, bias)
    assert torch.allclose(result("convolution", x, weight, bias, kind, *numbers), y)
    grad_output = randn(*y.shape)
    expected = gradients(reference, [x, weight, bias], [0, 1, 2], grad_output)
    grad_input = result("convolution_grad_input", x, grad_output, weight, bias, kind, *numbers)
    assert torch.allclose(grad_input, expected[0])
    grad_weight, grad_bias = torch.ones_like(weight), torch.ones_like(bias)
    KERNELS["convolution_grad_parameters"](
        grad_weight, grad_bias, x, grad_output, weight, bias, 0.5, kind, *numbers
    )
    assert torch.allclose(grad_weight, 1 + 0.5 * expected[1])
    assert torch.allclose(grad_bias, 1 + 0.5 * expected[2])


@pytest.mark.parametrize(
    ("name", "sizes", "numbers"),
    [
        ("zero_padding", (2, 3, 4, 5), (1, 2, -1, 0)),
        ("upsample_nearest", (2, 3, 4), (6, 8)),
        ("upsample_nearest", (2, 3, 2, 3, 4), (4, 9, 8)),
        ("upsample_linear", (2, 3, 4, 5), (7, 9)),
        ("upsample_linear", (1, 2, 2, 3, 4), (3, 5, 4)),
        ("pixel_shuffle", (2, 8, 3, 3), (2,)),
        ("volumetric_average_pooling", (2, 3, 4, 5, 6), (2, 3, 2, 1, 2, 2)),
        ("feature_lp_pooling", (3, 8, 2), (3, 2, 2, 1)),
    ],
)
def test_gradients_that_are_written_out_agree_with_differences(
    name: str, sizes: tuple[int, ...], numbers: tuple[int, ...]
) -> None:
    x = randn(*sizes).abs() + 0.1
    y = result(name, x, *numbers)
    grad_output = randn(*y.shape)
    assert torch.allclose(
        result(f"{name}_gradient", x, grad_output, *numbers), slopes(name, x, grad_output, *numbers)
    )


def test_feature_lp_pooling_has_no_gradient_where_it_is_zero() -> None:
    x = torch.zeros(4, dtype=DOUBLE)
    grad_output = torch.ones(2, dtype=DOUBLE)
    assert result("feature_lp_pooling_gradient", x, grad_output, 2, 2, 2, 0).tolist() == [0] * 4


@pytest.mark.parametrize("sizes", [(3, 6, 8), (2, 3, 6, 8)])
def test_unpooling_undoes_pooling(sizes: tuple[int, ...]) -> None:
    x = randn(*sizes)
    pooled, places = F.max_pool2d(x, 2, return_indices=True)
    indices = places + 1
    whole = result("max_unpooling", pooled, indices, 6, 8)
    assert torch.equal(whole[whole != 0], x[whole != 0])
    assert int((whole != 0).sum()) == pooled.numel()
    assert torch.equal(result("max_unpooling_grad_input", pooled, whole, indices, 6, 8), pooled)
    with pytest.raises(ValueError, match=r"found an invalid max index \d+ .*size 2x2"):
        result("max_unpooling", pooled, indices, 2, 2)
    with pytest.raises(ValueError, match="Inconsistent gradOutput size"):
        result("max_unpooling_grad_input", pooled, whole, indices, 6, 6)


@pytest.mark.parametrize("axes", [2, 3])
def test_fractional_pooling_takes_maxima_at_rising_places(axes: int) -> None:
    x, indices = randn(2, 3, *(9, 8, 7)[:axes]), torch.empty(0, dtype=torch.int64)
    samples = torch.rand(2, 3, axes, dtype=DOUBLE)
    y = torch.empty(0, dtype=DOUBLE)
    KERNELS["fractional_max_pooling"](y, indices, x, samples, *[4] * axes, *[2] * axes)
    assert torch.equal(x.flatten(2).gather(2, indices.flatten(2) - 1), y.flatten(2))
    grad = result("fractional_max_pooling_grad_input", x, torch.ones_like(y), indices, axes)
    assert float(grad.sum()) == y.numel()
    with pytest.raises(ValueError, match=r"poolSize \(4\) too large relative to input size"):
        KERNELS["fractional_max_pooling"](y, indices, x, samples, *[7] * axes, *[4] * axes)


def test_sparse_linear_is_linear_of_the_dense_input() -> None:
    table = torch.tensor([[1, 2, 0.5], [1, 4, -1], [3, 2, 2], [3, 2, 1]], dtype=DOUBLE)  # one entry twice
    dense = torch.zeros(3, 5, dtype=DOUBLE)
    dense.index_put_((table[:, 0].long() - 1, table[:, 1].long() - 1), table[:, 2], accumulate=True)
    weight, bias, grad_output = randn(4, 5), randn(4), randn(3, 4)
    assert torch.allclose(result("sparse_linear", table, weight, bias, 3), F.linear(dense, weight, bias))
    grad_weight, grad_bias = torch.zeros_like(weight), torch.zeros_like(bias)
    KERNELS["sparse_linear_grad_parameters"](grad_weight, grad_bias, table, grad_output, weight, 0, 2)
    assert torch.allclose(grad_weight, 2 * grad_output.t() @ dense)
    assert torch.allclose(grad_bias, 2 * grad_output.sum(0))
    columns = torch.empty(0, dtype=torch.int64)
    KERNELS["sparse_linear_columns"](columns, table, weight)
    assert columns.tolist() == [2, 4]
    with pytest.raises(ValueError, match=r"index out of bound. 6 not between 1 and 5"):
        result("sparse_linear", torch.tensor([[1.0, 6, 1]], dtype=DOUBLE), weight, bias, 1)


def test_index_linear_normalises_by_the_largest_value_so_far() -> None:
    keys, sizes = torch.tensor([2, 3, 2]), torch.tensor([2, 1])
    values = torch.tensor([2.0, -1, 4], dtype=DOUBLE)
    weight, bias = torch.zeros(3, 6, dtype=DOUBLE), randn(2)
    weight[:, 4:] = randn(3, 2)
    normalized = torch.empty(0, dtype=DOUBLE)
    out = result("index_linear", normalized, keys, values, sizes, weight, bias, -1, True)
    assert normalized.tolist() == [1, -1, 1]
    assert weight[1, :3].tolist() == [4, 0.25, 1]
    assert torch.allclose(out[0], bias + weight[1, 4:] - weight[2, 4:])
    KERNELS["index_linear"](out, normalized, keys, values, sizes, weight, bias, -1, False)
    assert normalized.tolist() == [0.5, -1, 1]


@pytest.mark.parametrize("outputs", [2, 40])
def test_index_linear_steps_along_the_gradient(outputs: int) -> None:
    keys, sizes, values = torch.tensor([1, 3, 1]), torch.tensor([1, 2]), randn(3)
    weight, bias, grad_output = randn(4, outputs), randn(outputs), randn(2, outputs)
    dense = torch.zeros(2, 4, dtype=DOUBLE)
    dense[0, 0], dense[1, 2], dense[1, 0] = values[0], values[1], values[2]
    expected = weight - 0.1 * dense.t() @ grad_output
    grad_weight, grad_bias = torch.empty(0, dtype=DOUBLE), torch.zeros(outputs, dtype=DOUBLE)
    KERNELS["index_linear_grad_parameters"](grad_weight, grad_bias, values, sizes, grad_output, weight, 1)
    stepped, at_once = weight.clone(), weight.clone()
    KERNELS["index_linear_update_parameters"](grad_weight, grad_bias, stepped, bias.clone(), keys, -1, 0, 0.1)
    KERNELS["index_linear_update"](keys, values, sizes, grad_output, at_once, bias.clone(), -1, 0, 0.1)
    assert torch.allclose(stepped, expected) and torch.allclose(at_once, expected)


@pytest.mark.parametrize("examples", [1, 3, 70])
@pytest.mark.parametrize("columns", [0, 4])
def test_index_linear_gives_a_row_of_gradients_for_each_key(examples: int, columns: int) -> None:
    sizes, outputs = torch.arange(examples) % 3, 5
    values, grad_output = randn(int(sizes.sum())), randn(examples, outputs)
    weight, grad_weight, grad_bias = randn(9, outputs + columns), torch.empty(0, dtype=DOUBLE), randn(outputs)
    of_bias = grad_bias + 2 * grad_output.sum(0)
    KERNELS["index_linear_grad_parameters"](grad_weight, grad_bias, values, sizes, grad_output, weight, 2)
    of_keys = 2 * grad_output.repeat_interleave(sizes, 0)
    products = of_keys * values.unsqueeze(1)
    assert torch.equal(grad_weight, torch.cat([of_keys, products], 1) if columns else products)
    assert torch.allclose(grad_bias, of_bias)


@pytest.mark.parametrize("batch", [(), (4,)])
def test_cosine_and_distances(batch: tuple[int, ...]) -> None:
    x, grad_output, weight = randn(*batch, 5), randn(*batch, 3), randn(3, 5)

    def cosines(t: Tensor, w: Tensor) -> Tensor:
        return F.cosine_similarity(t.unsqueeze(-2), w, dim=-1)

    assert torch.allclose(result("cosine", x, weight), cosines(x, weight))
    of_input, of_weight = gradients(cosines, [x, weight], [0, 1], grad_output)
    assert torch.allclose(result("cosine_grad_input", x, grad_output, weight), of_input)
    gathered = torch.zeros_like(weight)
    KERNELS["cosine_grad_weight"](gathered, x, grad_output, weight, 1)
    assert torch.allclose(gathered, of_weight)

    columns, scales = weight.t().contiguous(), randn(5, 3)

    def distances(t: Tensor, w: Tensor, s: Tensor) -> Tensor:
        return torch.linalg.vector_norm((t.unsqueeze(-1) - w) * s, dim=-2)

    assert torch.allclose(result("euclidean", x, columns, scales), distances(x, columns, scales))
    expected = gradients(distances, [x, columns, scales], [0, 1, 2], grad_output)
    close = functools.partial(torch.allclose, rtol=1e-5, atol=1e-6)  # Torch7 adds 1e-7 to the distance
    slopes = grad_output / (distances(x, columns, scales) + 1e-7)
    assert close(result("euclidean_grad_input", x, slopes, columns, scales), expected[0])
    of_columns, of_scales = torch.zeros_like(columns), torch.zeros_like(scales)
    KERNELS["euclidean_grad_parameters"](of_columns, of_scales, x, slopes, columns, scales, 1)
    assert close(of_columns, expected[1])
    assert close(of_scales, expected[2])


def test_rounding_of_log_softmax_is_not_the_same_for_all_classes() -> None:
    for seed in range(3):
        x = torch.randn(1000, generator=torch.Generator().manual_seed(seed)) / 50
        y, grad = torch.empty(0), torch.empty(0)
        KERNELS["class_softmax"](y, x, "log_softmax")
        assert abs(y.double().exp().sum().item() - 1) < 3e-8
        KERNELS["class_softmax_gradient"](grad, y, y, "log_softmax")
        assert abs(grad.double().sum().item()) < 3e-4  # of terms that add up to 6900


@pytest.mark.parametrize("name", ["sigmoid", "tanh"])
def test_transfer_functions_write_over_what_they_read(name: str) -> None:
    """A result may be what is read, or lie in the same memory one element further."""
    x, g = randn(6), randn(6)
    expected = result("transfer", x, name)
    gradient = result("transfer_gradient", expected, g, name)
    for shift in (0, 1):
        memory = torch.cat((x, x[-1:]))
        KERNELS["transfer"](memory[shift : shift + 6], memory[:6], name)
        assert torch.equal(memory[shift : shift + 6], expected)
        memory = torch.cat((g, g[-1:]))
        KERNELS["transfer_gradient"](memory[shift : shift + 6], expected, memory[:6], name)
        assert torch.equal(memory[shift : shift + 6], gradient)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("sizes", [(4, 3), (4, 3, 5, 6), (4, 1, 5, 6), (4, 3, 1, 1)])
@pytest.mark.parametrize("memory", ["ready", "empty", "in another order"])
def test_batch_normalization_wherever_its_result_is_to_be(
    dtype: torch.dtype, sizes: tuple[int, ...], memory: str
) -> None:
    x, planes = torch.randn(sizes).to(dtype), sizes[1]
    weight, bias = torch.rand(2, planes).to(dtype)
    out = torch.full((0,) if memory == "empty" else sizes, torch.nan, dtype=dtype)
    if memory == "in another order":
        out = out.transpose(0, 1).contiguous().transpose(0, 1)
    mean, variance, save_mean, save_std = (
        torch.full((planes,), value, dtype=dtype) for value in (0, 1, 9, 9)
    )
    KERNELS["batch_normalization"](out, x, weight, bias, mean, variance, save_mean, save_std, True, 0.1, 1e-5)
    rows = x.double().transpose(0, 1).flatten(1)
    std = (rows.var(1, unbiased=False) + 1e-5).sqrt()
    expected = (rows - rows.mean(1, keepdim=True)) / std[:, None] * weight[:, None] + bias[:, None]
    found = (out.transpose(0, 1).flatten(1), save_mean, save_std, mean, variance)
    wanted = (expected, rows.mean(1), 1 / std, 0.1 * rows.mean(1), 0.9 + 0.1 * rows.var(1))
    for one, right in zip(found, wanted, strict=True):
        torch.testing.assert_close(one.double(), right, rtol=1e-4, atol=1e-5)
