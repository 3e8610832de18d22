"""Products by the BLAS inside numpy: equal to PyTorch's, and only where PyTorch is not to compute them."""

import functools
import os

import pytest
import torch

from lua_compat.kernels import openblas

pytestmark = pytest.mark.skipif(
    not openblas.product_library()[0], reason="PyTorch's BLAS is used on this processor"
)

LAYOUTS = [(False, False), (False, True), (True, False), (True, True)]


def made(rows: int, columns: int, transposed: bool, dtype: torch.dtype) -> torch.Tensor:
    """A matrix that is a part of a larger one."""
    if transposed:
        return made(columns, rows, False, dtype).t()
    return torch.randn(rows, columns + 3, dtype=dtype)[:, 1 : columns + 1]


@pytest.mark.parametrize("sizes", [(1, 1, 1), (5, 1, 3), (50, 64, 65), (1, 9, 7), (130, 70, 90)])
@pytest.mark.parametrize("layouts", LAYOUTS)
def test_products_are_those_of_pytorch(sizes: tuple[int, int, int], layouts: tuple[bool, bool]) -> None:
    torch.manual_seed(1)
    rows, inner, columns = sizes
    a, b = (
        made(rows, inner, layouts[0], torch.float64),
        made(inner, columns, layouts[1], torch.float64),
    )
    for beta, alpha in ((0.0, 1.0), (1.0, -2.0), (0.5, 0.25)):
        out = made(rows, columns, False, torch.float64)
        expected = (beta * out if beta else 0) + alpha * (a @ b)
        assert openblas.multiply(out, a, b, beta, alpha)
        torch.testing.assert_close(out, expected)


def test_what_was_in_the_result_does_not_count() -> None:
    out = torch.full((4, 5), float("nan"), dtype=torch.float64)
    assert openblas.multiply(out, torch.ones(4, 3).double(), torch.ones(3, 5).double(), 0, 1)
    assert torch.equal(out, torch.full_like(out, 3))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("sizes", [(1, 1), (5, 1), (1, 9), (50, 64), (130, 700)])
def test_products_with_a_vector_are_those_of_pytorch(
    sizes: tuple[int, int], transposed: bool, dtype: torch.dtype
) -> None:
    torch.manual_seed(1)
    rows, inner = sizes
    a = made(rows, inner, transposed, dtype)
    assert_close = functools.partial(torch.testing.assert_close, rtol=1e-4, atol=1e-4)
    for apart in (1, 2):
        b, out = torch.randn(inner, apart, dtype=dtype)[:, 0], torch.randn(rows, apart, dtype=dtype)[:, 0]
        t = torch.randn(rows, dtype=dtype)
        for beta, alpha in ((0.0, 1.0), (1.0, -2.0), (0.5, 0.25)):
            expected = beta * t + alpha * (a @ b)
            assert openblas.multiply_vector(out, a, b, beta, alpha, t)
            assert_close(out, expected)
            expected = beta * out + alpha * (a @ b)
            assert openblas.multiply_vector(out, a, b, beta, alpha)
            assert_close(out, expected)
        out.fill_(float("nan"))
        assert openblas.multiply_vector(out, a, b, 0, 1)
        assert_close(out, a @ b)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("transposed", [False, True])
def test_products_with_a_vector_do_not_depend_on_its_address(transposed: bool, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    results = []
    for first in range(4):
        memory = torch.zeros(3, 40 * 50 + 4, dtype=dtype)
        numbers = torch.arange(40 * 50, dtype=dtype).sin()
        a, b, out = (row[first : first + len(numbers)] for row in memory)
        a.copy_(numbers)
        b[:50] = numbers[:50].cos()
        matrix = a.view(50, 40).t() if transposed else a.view(40, 50)
        assert openblas.multiply_vector(out[:40], matrix, b[:50], 0, 1)
        results.append(out[:40].clone())
    assert all(torch.equal(results[0], result) for result in results)


@pytest.mark.parametrize("layouts", LAYOUTS)
def test_products_of_floats_are_those_of_pytorch(layouts: tuple[bool, bool]) -> None:
    torch.manual_seed(1)
    a, b = made(6, 70, layouts[0], torch.float32), made(70, 8, layouts[1], torch.float32)
    out = torch.randn(6, 8)
    expected = 0.5 * out + 0.25 * (a @ b)
    assert openblas.multiply(out, a, b, 0.5, 0.25)
    torch.testing.assert_close(out, expected)


def test_other_types_layouts_and_large_products_on_threads_are_for_pytorch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = torch.ones(4, 4, dtype=torch.int64)
    assert not openblas.multiply(whole, whole.clone(), whole.clone(), 0, 1)
    a = torch.randn(4, 8, dtype=torch.float64)
    apart = torch.randn(4, 8, dtype=torch.float64)[:, ::2]
    assert not openblas.multiply(apart.clone(memory_format=torch.contiguous_format), apart, a[:, :4], 0, 1)
    assert not openblas.multiply(apart, a[:, :4], a[:, 4:], 0, 1)
    assert not openblas.multiply_vector(whole[0], whole, whole[1], 0, 1)
    assert not openblas.multiply_vector(a[:, 0].clone(), apart, a[0, :4], 0, 1)
    assert not openblas.multiply_vector(torch.empty(4).double(), a[:, :0], a[0, :0], 0, 1)
    large = torch.randn(200, 200, dtype=torch.float64)
    for threads, computed in ((1, True), (2, False)):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        assert openblas.multiply(torch.empty_like(large), large, large, 0, 1) is computed


def test_the_environment_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("3", None):
        if value is None:
            monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
        else:
            monkeypatch.setenv("OPENBLAS_NUM_THREADS", value)
        assert openblas._load.__wrapped__() is not None
        assert os.environ.get("OPENBLAS_NUM_THREADS") == value
