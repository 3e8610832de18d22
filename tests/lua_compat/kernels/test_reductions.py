"""Reductions of many elements, which are taken in pieces."""

import math

import numpy as np
import pytest
import torch

from lua_compat.kernels import reductions

DTYPES = [torch.float32, torch.float64, torch.uint8, torch.int64]


def _tensors(dtype: torch.dtype) -> list[torch.Tensor]:
    t = (torch.randn(5, 6, 7, dtype=torch.float64) * 3).to(dtype)
    return [t, t.transpose(0, 2), t[::2, :, 1:], t[0, 0], t.permute(1, 2, 0).contiguous()]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("piece", [1, 10, 100])
def test_pieces_give_what_the_whole_gives(
    dtype: torch.dtype, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reductions, "_PIECE", piece)
    for t in _tensors(dtype):
        wide = t.double()
        assert reductions.sum_all(t) == pytest.approx(wide.sum().item())
        assert reductions.mean_all(t) == pytest.approx(wide.mean().item())
        for biased in (False, True):
            expected = wide.var(correction=0 if biased else 1).item()
            assert reductions.var_all(t, biased) == pytest.approx(expected)
        for p in (0.0, 0.5, 1.0, 2.0, 3.0):
            norm = torch.linalg.vector_norm(wide, p).item()
            assert reductions.norm_all(t, p) == pytest.approx(norm)
            if p > 0:
                assert reductions.dist(t, torch.zeros_like(t), p) == pytest.approx(norm)
        for dim in range(t.dim()):
            out = torch.empty_like(t.sum(dim, keepdim=True), dtype=dtype)
            reductions.sum(out, t, dim + 1)
            torch.testing.assert_close(out, wide.sum(dim, keepdim=True).to(dtype))
            reductions.mean(out, t, dim + 1)
            torch.testing.assert_close(out, wide.mean(dim, keepdim=True).to(dtype))
            added = torch.empty_like(t)
            reductions.cumsum(added, t, dim + 1)
            torch.testing.assert_close(added, wide.cumsum(dim).to(dtype))
            if dtype.is_floating_point:
                reductions.std(out, t, dim + 1, False)
                torch.testing.assert_close(out, wide.std(dim, keepdim=True).to(dtype))
                reductions.norm(out, t, dim + 1, 2.0)
                torch.testing.assert_close(out, wide.norm(dim=dim, keepdim=True).to(dtype))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64])
def test_whole_numbers_wrap_as_in_64_bits(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    t = torch.full((40,), 3, dtype=dtype)
    whole = reductions.prod_all(t)
    monkeypatch.setattr(reductions, "_PIECE", 7)
    assert reductions.prod_all(t) == whole == t.to(torch.int64).prod().item()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_deviations_are_the_rounded_roots_of_the_variances(dtype: torch.dtype) -> None:
    """Of as many as PyTorch's library of vector functions is called for."""
    t = torch.randn(20_011, 5, generator=torch.Generator().manual_seed(1), dtype=dtype)
    variances, deviations = torch.empty(20_011, 1, dtype=dtype), torch.empty(20_011, 1, dtype=dtype)
    reductions.var(variances, t, 2, False)
    reductions.std(deviations, t, 2, False)
    exact = np.sqrt(variances.numpy().astype(np.float64)).astype(deviations.numpy().dtype)
    assert np.array_equal(deviations.numpy(), exact)


@pytest.mark.parametrize(
    ("p", "length", "distance"), [(math.inf, 1.0, 1.0), (-math.inf, 1.0, 1.0), (0.0, 4.0, math.inf)]
)
def test_norms_at_the_ends_are_torch7s(p: float, length: float, distance: float) -> None:
    """It takes the sum of the powers to 1 / p, but for the count of p 0: real Torch7's numbers."""
    t = torch.tensor([1, -2, 3.5, 0, -0.25], dtype=torch.float64)
    assert reductions.norm_all(t, p) == length
    assert reductions.dist(t, torch.ones_like(t), p) == distance
    assert reductions.dist(t[:1] + 1, t[:1], p) == 1
    rows = torch.arange(1.0, 13.0, dtype=torch.float64).view(3, 4)
    out = torch.empty(1, 4, dtype=torch.float64)
    reductions.norm(out, rows, 1, p)
    assert out.tolist() == [[3.0 if p == 0 else 1.0] * 4]
    if p == math.inf:
        for most, first in ((0.5, 0.49999995000000497), (0.999, 0.99899990010000994), (1.0, 1.0), (2.0, 1.0)):
            scaled = torch.empty_like(rows)
            reductions.renorm(scaled, rows, p, 1, most)
            assert scaled[0, 0].item() == first
