"""Products of float32 as pairs of bfloat16 on the processor's matrix unit. Most tests need one."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from nets.engine import compile
from nets.engine.choice.algorithms import candidates
from nets.engine.kernels.compiled import ahead, bf16x3
from nets.engine.kernels.compiled.library import NotCompiled
from nets.engine.kernels.windowed_product import SplitWindows
from nets.engine.memory import Memory
from nets.engine.shapes import ConvolutionShape
from nets.phases import PHASES
from tests.helpers.engine_conditions import needs_matrix_unit, threads
from tests.nets.engine.test_compiled_layers import beside, sliced
from tests.nets.engine.test_kernels import Reference, shapes

PART, FLOAT = 3 * 2**-16, 2**-23  # errors of a split product, and of a rounded sum


def errors_are_small(found: Tensor, a: Tensor, b: Tensor, others: list[Tensor], relu: bool) -> None:
    """Compares with the exact ``a b`` plus the ``others``, term by term."""
    exact = sum((other.double() for other in others), a.double() @ b.double())
    terms = a.double().abs() @ b.double().abs()
    sums = sum((other.double().abs() for other in others), terms)
    if relu:
        exact = exact.clamp_min(0)
    assert bool(((found.double() - exact).abs() <= PART * terms + FLOAT * (a.shape[-1] + 2) * sums).all())


@needs_matrix_unit
@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 3),
    st.integers(1, 300),
    st.sampled_from([1, 2, 31, 32, 33, 64, 255, 300, 600]),
    st.integers(1, 200),
    st.tuples(st.booleans(), st.booleans(), st.booleans(), st.booleans(), st.booleans(), st.booleans()),
    st.integers(1, 3),
    st.integers(0, 1000),
)
def test_products_of_any_layout(
    products: int, rows: int, inner: int, columns: int, kinds: tuple[bool, ...], count: int, seed: int
) -> None:
    turned_a, turned_b, packed, add, biased, relu = kinds
    random = torch.Generator().manual_seed(seed)

    def drawn(*size: int) -> Tensor:
        return torch.randn(*size, generator=random) * 10 ** torch.randn(*size, generator=random)

    a = drawn(products, inner, rows).transpose(1, 2) if turned_a else drawn(products, rows, inner)
    b = drawn(products, columns, inner).transpose(1, 2) if turned_b else drawn(products, inner, columns)
    out, bias = sliced(drawn(1, products, rows, columns))[0], drawn(columns) if biased else None
    others = ([out.clone()] if add else []) + ([] if bias is None else [bias])
    with threads(count):
        panels = bf16x3.pack(b, None, Memory()) if packed else None
        bf16x3.bmm(a, b, out, add, bias, relu, panels)
    errors_are_small(out, a, b, others, relu)
    assert bool((beside(out[None]) == 7).all())


@needs_matrix_unit
@settings(max_examples=25, deadline=None)
@given(
    shapes(),
    st.sampled_from([1, 3, 8, 16, 48]),
    st.integers(1, 40),
    st.booleans(),
    st.integers(1, 3),
    st.integers(0, 1000),
)
def test_every_phase_of_any_shape(
    shape: ConvolutionShape, in_channels: int, out_channels: int, relu: bool, count: int, seed: int
) -> None:
    shape = replace(shape, in_channels=in_channels, out_channels=out_channels, dtype=torch.float32)
    reference = Reference(shape, seed)
    with threads(count):
        for phase in PHASES:
            plain = candidates(shape, phase)
            for name, make in candidates(shape, phase, split=True).items():
                if name not in plain:
                    assert "bf16x3" in name
                    reference.check(make(Memory()), phase, relu)


@needs_matrix_unit
def test_windows_of_images_wherever_they_lie() -> None:
    for padding in ((0, 0), (1, 2)):
        shape = ConvolutionShape(3, 16, 20, (9, 8), (3, 3), (1, 1), padding, torch.float32)
        reference = Reference(shape, 0)
        reference.x, reference.grad_out = sliced(reference.x), sliced(reference.grad_out)
        for phase in PHASES:
            assert SplitWindows.applies(shape, phase)
            reference.check(SplitWindows(shape, Memory()), phase)
        out = sliced(torch.ones(shape.output_shape))
        SplitWindows(shape, Memory()).forward(
            reference.x, reference.weight, reference.bias, out, relu=True, add=True
        )
        exact = (reference.out + 1).clamp_min(0)
        assert float((out - exact).abs().max() / exact.abs().max()) < 3e-5
        assert bool((beside(out) == 7).all())


@needs_matrix_unit
def test_what_is_no_number_stays_so_and_zeros_stay_zeros() -> None:
    for bits in (0x7FC00000, 0x7F800001, 0x7FFFFFFF, -1):
        a = torch.ones(40, 50)
        a[3, 17] = torch.tensor(bits, dtype=torch.int32).view(torch.float32)
        for left, right in ((a, torch.ones(50, 20)), (torch.ones(20, 40), a)):
            for b in (right, right.t().contiguous().t()):
                out = torch.zeros(len(left), b.shape[1])
                bf16x3.mm(left, b, out)
                wanted = (left @ b).isnan()
                assert bool(wanted.any()) and torch.equal(out.isnan(), wanted)
    out = torch.ones(33, 33)
    bf16x3.mm(torch.zeros(33, 5), torch.ones(5, 33), out)
    assert torch.equal(out, torch.zeros(33, 33))
    whole = torch.arange(-128.0, 128.0).view(16, 16)  # exact in bfloat16
    out = torch.empty(16, 16)
    bf16x3.mm(whole, whole, out)
    assert torch.equal(out, whole @ whole)


@needs_matrix_unit
def test_a_net_with_all_phases(tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(16, 64, 3, padding=1), nn.Conv2d(64, 128, 1), nn.Tanh(), nn.Flatten())
    net.append(nn.Linear(128 * 144, 10))
    x = torch.randn(40, 16, 12, 12, requires_grad=True)
    with compile(net, (40, 16, 12, 12), tuning_file=tmp_path / "file", bf16x3=True) as phases:
        given = x.detach()
        out = phases.updateOutput(given).clone()
        grad_in = phases.updateGradInput(given, torch.ones_like(out)).clone()
        phases.accGradParameters(given, torch.ones_like(out))
    found = [parameter.grad for parameter in net.parameters()]
    net.zero_grad()
    exact = net(x)
    exact.backward(torch.ones_like(exact))
    wanted = [exact.detach(), x.grad, *(parameter.grad for parameter in net.parameters())]
    for one, other in zip([out, grad_in, *found], wanted, strict=True):
        assert one is not None and other is not None
        assert float((one - other).abs().max() / other.abs().max()) < 1e-4


def test_a_processor_without_a_matrix_unit_is_told_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = tmp_path / "cpuinfo"
    told.write_text("flags\t\t: fpu sse2 avx2\n")
    monkeypatch.setattr(bf16x3, "_PROCESSOR", told)
    bf16x3._has_matrix_unit.cache_clear()
    try:
        assert "amx_bf16" in bf16x3.why_not(torch.float32)
        with pytest.raises(NotCompiled, match="matrix unit"):
            bf16x3.mm(torch.ones(2, 2), torch.ones(2, 2), torch.ones(2, 2))
        with pytest.raises(ValueError, match="matrix unit"):
            compile(nn.Linear(3, 2), (1, 3), bf16x3=True)
    finally:
        bf16x3._has_matrix_unit.cache_clear()


def test_a_number_format_it_does_not_take_is_said() -> None:
    with pytest.raises(ValueError, match=r"bf16x3 multiplies float32, not .*float64"):
        compile(nn.Linear(3, 2).double(), (1, 3), bf16x3=True)


def test_its_library_is_compiled_ahead_where_it_is_wanted() -> None:
    module = nn.Sequential(nn.Conv2d(16, 16, 3), nn.ReLU())
    for split in (False, True):
        wanted = [
            getattr(make, "func", None)
            for make in ahead._libraries(module, "auto", torch.float32, (1, 16, 9, 9), split)
        ]
        assert (bf16x3.compiled in wanted) == split
