"""Code that the machine's C compiler makes for the CPU engine: that it is right; what happens without it."""

import _ctypes
import ctypes
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from convnet_benchmarks.nets.engine import ahead, compile
from convnet_benchmarks.nets.engine.choice.algorithms import candidates
from convnet_benchmarks.nets.engine.kernels.bilinear import BilinearConvolution
from convnet_benchmarks.nets.engine.kernels.compiled import caches, compiling
from convnet_benchmarks.nets.engine.kernels.compiled import products as compiled_products
from convnet_benchmarks.nets.engine.kernels.compiled.compiling import NotCompiled
from convnet_benchmarks.nets.engine.kernels.compiled.tiles import CompiledTiles
from convnet_benchmarks.nets.engine.kernels.fft_convolution import fft
from convnet_benchmarks.nets.engine.kernels.operator_tiles import OperatorTiles
from convnet_benchmarks.nets.engine.kernels.tiles import TileGrid
from convnet_benchmarks.nets.engine.kernels.winograd import winograd
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.shapes import ConvolutionShape
from convnet_benchmarks.nets.engine.trace import trace
from convnet_benchmarks.nets.phases import WEIGHT_GRADIENT
from convnet_benchmarks.nets.user_cache import replace_whole, user_cache
from tests.helpers.engine_conditions import NO_COMPILER, c_compiler, needs_compiler, threads


def source(value: int) -> str:
    return f"int answer(void) {{ return {value}; }}\n"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "convnet-benchmarks" / "compiled"


@pytest.fixture
def forgetful() -> Iterator[None]:
    """As in a new process: no library is loaded yet."""
    compiling._place.cache_clear()
    yield
    compiling._place.cache_clear()


@needs_compiler
def test_a_library_is_kept_and_made_again_when_it_is_gone_or_damaged(cache: Path, forgetful: None) -> None:
    def tmp_library(text: str) -> bytes:
        """A library that loads, and has other functions."""
        made = cache.parent / "other.so"
        command = [*compiling._compiler("")[0], "-shared", "-x", "c", "-", "-o", str(made)]
        subprocess.run(command, input=text.encode(), check=True)
        return made.read_bytes()

    def answer(value: int) -> int:
        """As a new process gets it."""
        compiling._place.cache_clear()
        made = compiling.library(source(value))
        found: int = made.answer()
        _ctypes.dlclose(made._handle)  # else a library of the same path would not be read again
        return found

    assert answer(1) == 1
    (kept,) = cache.iterdir()
    made = kept.stat().st_mtime_ns
    assert answer(1) == 1
    assert kept.stat().st_mtime_ns == made  # loaded, not made again
    assert answer(2) == 2
    assert len(list(cache.iterdir())) == 2
    whole = kept.read_bytes()
    without = tmp_library("int other(void) { return 5; }")
    for text in (b"", b"no library", without, without + whole[-32:], whole[:-1], b"\0" * 2000 + whole[2000:]):
        kept.write_bytes(text)
        assert answer(1) == 1
        assert kept.stat().st_size > 1000
    kept.chmod(0o666)  # others may have written it
    made = kept.stat().st_mtime_ns
    assert answer(1) == 1
    assert kept.stat().st_mtime_ns != made and kept.stat().st_mode & 0o777 == 0o600
    shutil.rmtree(cache)
    assert answer(1) == 1


@pytest.fixture
def made_once() -> Iterator[None]:
    """What the tests' shared cache has is taken from there, and what is made is left there, too."""
    shared, make = user_cache() / "compiled", compiling._make

    def taken(source: str, command: tuple[str, ...], kept: Path) -> ctypes.CDLL:
        made = shared / kept.name
        found = compiling._load(made) or make(source, command, made)
        replace_whole(kept, made.read_bytes())
        return found

    with patch.object(compiling, "_make", taken):
        yield


slow_case = partial(pytest.param, marks=pytest.mark.slow)  # much is compiled that no other test needs


@needs_compiler
@pytest.mark.parametrize(
    ("layers", "backend"),
    [
        ((nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.MaxPool2d(2)), "mm"),
        slow_case((nn.Conv2d(16, 16, 5, groups=16), nn.MaxPool2d(2)), "mm"),
        slow_case((nn.Conv2d(16, 8, 3, 2), nn.ReLU()), "mm"),
        ((nn.Conv2d(16, 64, 3), nn.ReLU(), nn.Conv2d(64, 16, 3, 2)), "winograd"),
        slow_case((nn.Conv2d(16, 64, 3, padding=1), nn.Conv2d(64, 16, 3, 2, padding=1)), "winograd"),
        slow_case((nn.Conv2d(16, 16, 5), nn.ReLU(), nn.MaxPool2d(2)), "direct"),
        slow_case((nn.Flatten(), nn.Linear(16 * 14 * 14, 3)), "mm"),
    ],
)
def test_what_is_compiled_ahead_is_all_that_a_plan_needs(
    made_once: None, cache: Path, forgetful: None, layers: tuple[nn.Module, ...], backend: str
) -> None:
    module = nn.Sequential(*layers)
    ahead.compile_ahead(module.to("meta"), backend, torch.float32, (2, 16, 14, 14))
    ahead.wait()
    before = {path.name for path in cache.iterdir()}
    compile(module.to_empty(device="cpu"), (2, 16, 14, 14), backend)
    assert {path.name for path in cache.iterdir()} == before != set()


@needs_compiler
@pytest.mark.parametrize("shape", [(2, 16, 14, 14), slow_case((1, 16, 14, 14))])
def test_without_timing_only_what_the_plan_needs_is_compiled(
    made_once: None, cache: Path, forgetful: None, tmp_path: Path, shape: tuple[int, ...]
) -> None:
    module = nn.Sequential(nn.Conv2d(16, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(64, 32, 7))
    traced = trace(module, torch.zeros(shape))
    ahead.compile_ahead(module, "auto", torch.float32, shape, timed=False, traced=traced)
    ahead.wait()
    before = {path.name for path in cache.iterdir()}
    file = tmp_path / "tuning.json"
    compile(module, shape, "auto", tuning="quick", tuning_file=file)
    assert {path.name for path in cache.iterdir()} == before != set()
    compiling._place.cache_clear()
    ahead.compile_ahead(module, "auto", torch.float32, shape)  # what may be timed
    ahead.wait()
    assert {path.name for path in cache.iterdir()} > before


def test_a_module_does_not_run_while_others_may_be_at_work(
    made_once: None, cache: Path, forgetful: None
) -> None:
    class Noisy(nn.Conv2d):
        def forward(self, input: Tensor) -> Tensor:
            ran.append(threading.current_thread())
            return super().forward(input)

    ran: list[threading.Thread] = []
    ahead.compile_ahead(Noisy(16, 64, 3).to("meta"), "auto", torch.float32, (1, 16, 14, 14), timed=False)
    ahead.wait()
    assert not ran


@needs_compiler
def test_the_products_are_compiled_before_pytorch_is_loaded(tmp_path: Path) -> None:
    program = f"""
import sys, time
from pathlib import Path
from convnet_benchmarks.nets.engine.kernels.compiled import early
early.start("float32")
early.start("bfloat16")  # has none
made = Path({str(tmp_path)!r}) / "convnet-benchmarks" / "compiled"
until = time.monotonic() + 60
while not list(made.glob("*.so")) and time.monotonic() < until:
    time.sleep(0.05)
before = list(made.iterdir())
assert "torch" not in sys.modules and len(before) == 1, before
import torch
from convnet_benchmarks.nets.engine.kernels.compiled import products
products.compiled(torch.float32)
assert list(made.iterdir()) == before
"""
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


def test_what_has_not_been_begun_in_time_is_not_compiled_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    at_work, go_on = threading.Semaphore(0), threading.Event()

    def slow() -> None:
        at_work.release()
        go_on.wait()
        made.append("slow")

    cores = os.cpu_count() or 1
    wanted = [slow] * cores + [lambda: made.append("late")]
    monkeypatch.setattr(ahead, "_libraries", lambda *_: iter(wanted))
    ahead.compile_ahead(torch.nn.Identity(), "mm", torch.float32, (1, 3, 4, 4))
    for _ in range(cores):
        at_work.acquire()
    ahead.wait(until=time.monotonic())
    go_on.set()
    ahead.wait()
    assert made == ["slow"] * cores


@needs_compiler
def test_who_asks_for_a_library_that_is_being_made_gets_the_same(cache: Path, forgetful: None) -> None:
    with ThreadPoolExecutor(4) as threads_at_once:
        found = list(threads_at_once.map(compiling.library, [source(7)] * 4))
    assert all(one is found[0] for one in found) and found[0].answer() == 7


@needs_compiler
def test_a_cache_that_cannot_be_written_to_costs_only_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgetful: None
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert compiling.library(source(3)).answer() == 3


@needs_compiler
def test_why_there_is_no_library(cache: Path) -> None:
    with pytest.raises(NotCompiled, match=r"failed: .*error"):
        compiling.library("this is not C")
    for command, told in (
        (NO_COMPILER, r"no C compiler found \(tried no-such-compiler\)"),
        ("false", "false failed: exit code 1"),
        (os.fspath(cache.parent), "no C compiler found"),
    ):
        with c_compiler(command), pytest.raises(NotCompiled, match=told):
            compiling.library(source(4))
    assert not cache.exists()


def strided(size: tuple[int, ...], order: int, dtype: torch.dtype, seed: int) -> Tensor:
    """Random numbers with a gap after each row, the last two dimensions in memory as given or swapped."""
    generator = torch.Generator().manual_seed(seed)
    products, rows, columns = size
    if order:
        return strided((products, columns, rows), 0, dtype, seed).transpose(1, 2)
    whole = torch.randn(products, rows, columns + 3, generator=generator, dtype=torch.float64)
    return whole.to(dtype)[:, :, :columns]


# of sums; short ones, and more than are added up at once
LENGTHS = st.one_of(st.integers(1, 600), st.integers(1000, 1300))


@needs_compiler
@settings(max_examples=80, deadline=None)
@given(
    st.tuples(st.integers(1, 4), st.integers(1, 40), LENGTHS, st.integers(1, 150)),
    st.tuples(st.integers(0, 1), st.integers(0, 1)),
    st.sampled_from([torch.float32, torch.float64]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.integers(1, 3),
    st.sampled_from([128, 1024]),
)
def test_products_of_any_size_and_layout(
    size: tuple[int, int, int, int],
    orders: tuple[int, int],
    dtype: torch.dtype,
    add: bool,
    with_bias: bool,
    relu: bool,
    count: int,
    inner_at_once: int,
) -> None:
    products, rows, inner, columns = size
    a, b = (
        strided((products, rows, inner), orders[0], dtype, 1),
        strided((products, inner, columns), orders[1], dtype, 2),
    )
    out, bias = strided((products, rows, columns), 0, dtype, 3), torch.randn(columns, dtype=dtype)
    exact = a.double() @ b.double() + (out.double() if add else 0) + (bias.double() if with_bias else 0)
    exact = exact.clamp_min(0) if relu else exact
    beside = out.as_strided((products, rows, columns + 3), out.stride())[:, :, columns:].clone()
    with threads(count):
        compiled_products.bmm(a, b, out, add, bias if with_bias else None, relu)
    packed_out = torch.zeros(products, rows, columns, dtype=dtype)
    with threads(count), patch.object(compiled_products, "_inner_at_once", lambda: inner_at_once):
        packed = compiled_products.pack(b, None, Memory())
        compiled_products.bmm(a, b, packed_out, packed=packed)
        with patch.object(compiled_products, "second_cache", lambda: 20 * inner * a.itemsize):
            in_few_rows = torch.zeros_like(packed_out)
            compiled_products.bmm(a, b, in_few_rows, packed=packed)
    assert torch.equal(in_few_rows, packed_out)
    tolerance = (1e-12 if dtype == torch.float64 else 2e-6) * (inner + 10)
    assert float((packed_out.double() - a.double() @ b.double()).abs().max()) <= tolerance
    assert float((out.double() - exact).abs().max()) <= tolerance
    assert torch.equal(out.as_strided((products, rows, columns + 3), out.stride())[:, :, columns:], beside)


@needs_compiler
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("size", [(1, 530, 515, 1045), (2, 16, 300, 513), (3, 7, 2, 16)])
def test_products_whose_inner_index_is_the_rows_of_both(size: tuple[int, int, int, int], count: int) -> None:
    products, rows, inner, columns = size
    a = strided((products, rows, inner), 1, torch.float32, 1)
    b = strided((products, inner, columns), 0, torch.float32, 2)
    out = strided((products, rows, columns), 0, torch.float32, 3)
    exact = out.double() + a.double() @ b.double()
    with threads(count):
        compiled_products.bmm(a, b, out, add=True)
    assert float((out.double() - exact).abs().max()) <= 2e-6 * inner
    compiled_products.bmm(a, b, out)
    assert float((out.double() - a.double() @ b.double()).abs().max()) <= 2e-6 * inner


@needs_compiler
def test_products_pass_on_what_is_not_a_number_and_refuse_scattered_results() -> None:
    a, b = torch.ones(1, 2, 3), torch.ones(1, 3, 4)
    a[0, 1, 1] = float("nan")
    out = torch.empty(1, 2, 4)
    compiled_products.bmm(a, b, out, relu=True)
    assert torch.equal(out[0, 0], torch.full((4,), 3.0)) and bool(out[0, 1].isnan().all())
    with pytest.raises(ValueError, match="must be contiguous"):
        compiled_products.bmm(a, b, torch.empty(1, 4, 2).transpose(1, 2))
    with pytest.raises(NotCompiled, match="bfloat16"):
        compiled_products.bmm(a.bfloat16(), b.bfloat16(), out.bfloat16())


@needs_compiler
@pytest.mark.parametrize("count", [1, 2, 3])
def test_which_transforms_are_compiled(count: int) -> None:
    with threads(count):
        shape = ConvolutionShape(1, 4, 4, (8, 8), (3, 3), (1, 1), (1, 1), torch.float32)
        assert isinstance(BilinearConvolution(shape, Memory(), winograd(3)).tiles, CompiledTiles)
        assert isinstance(BilinearConvolution(shape, Memory(), fft(3, 3)).tiles, OperatorTiles)
        transforms = fft(3, 3)
        with pytest.raises(NotCompiled, match=r"no compiled transforms for fft\(3\)"):
            CompiledTiles(TileGrid(shape, transforms.output_tile, transforms.input_tile), transforms)
        with c_compiler(NO_COMPILER):
            assert isinstance(BilinearConvolution(shape, Memory(), winograd(3)).tiles, OperatorTiles)


def test_without_a_compiler_the_engine_runs_and_says_so() -> None:
    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 4, 3))
    x = torch.randn(2, 3, 9, 9)
    exact = net(x)
    with c_compiler(NO_COMPILER):
        phases = compile(net, tuple(x.shape), "winograd")
        report = phases.report()
        assert float((phases.updateOutput(x) - exact).detach().abs().max()) < 1e-5
        assert report.compiled == "no compiled code: no C compiler found (tried no-such-compiler)"
        assert list(report.below())[-1] == report.compiled
        shape = ConvolutionShape(2, 3, 8, (9, 9), (3, 3), (1, 1), (1, 1), torch.float32)
        assert not [name for name in candidates(shape, WEIGHT_GRADIENT) if "compiled" in name]


@needs_compiler
def test_the_report_names_the_compiler() -> None:
    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1))
    assert (
        compile(net, (2, 3, 9, 9), "winograd").report().compiled == f"compiled code by {compiling.compiler()}"
    )
    assert compile(net, (2, 3, 9, 9), "stock").report().compiled == ""


@pytest.mark.parametrize(("told", "found"), [("48K\n", 48 << 10), ("2048K\n", 2 << 20), ("many\n", 32 << 10)])
def test_sizes_of_caches_as_linux_tells_them(
    told: str, found: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "index0").mkdir()
    (tmp_path / "index0" / "size").write_text(told)
    monkeypatch.setattr(caches, "_TOLD", tmp_path)
    caches._size.cache_clear()
    try:
        assert caches.first_cache() == found
        assert caches.second_cache() == 1 << 20  # not told
    finally:
        caches._size.cache_clear()
