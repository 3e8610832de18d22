"""Operations by formula and by flop_counter, the slope test, the knee, the roofline, hardware counters."""

import json
import math
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from convnet_benchmarks.cli import main
from convnet_benchmarks.commands.flops import counters
from convnet_benchmarks.commands.flops.knee import find_knee
from convnet_benchmarks.commands.flops.roofline import LayerPoint, Roofs, layer_points
from convnet_benchmarks.commands.flops.show import roofline_table, throughput_table
from convnet_benchmarks.commands.flops.slope import measure_slope, repeated
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.nets import registry
from convnet_benchmarks.nets.net import Net
from convnet_benchmarks.points.point import Point
from convnet_benchmarks.timing.loops import HostClock, Settling
from convnet_benchmarks.workload.inputs import counted_on
from convnet_benchmarks.workload.nets import find
from convnet_benchmarks.workload.operations.counting import OUTSIDE, count_forward, count_phases
from convnet_benchmarks.workload.operations.formulas import Operations
from tests.helpers.commands import run_python

COMMAND = ("-m", "convnet_benchmarks", "flops")


def on_meta(module: nn.Module, *shape: int) -> tuple[nn.Module, Tensor]:
    return module.to("meta").eval(), torch.empty(shape, device="meta")


@st.composite
def convolutions(draw: st.DrawFn) -> tuple[nn.Module, tuple[int, ...]]:
    """A convolution of any kind, and the shape of an input that it accepts."""
    groups = draw(st.integers(1, 3))
    planes_in, planes_out = groups * draw(st.integers(1, 4)), groups * draw(st.integers(1, 4))
    kernel = (draw(st.integers(1, 4)), draw(st.integers(1, 4)))
    kind = draw(st.sampled_from([nn.Conv2d, nn.ConvTranspose2d]))
    layer = kind(
        planes_in,
        planes_out,
        kernel,
        stride=draw(st.integers(1, 3)),
        padding=0 if kind is nn.ConvTranspose2d else draw(st.integers(0, 2)),
        groups=groups,
        bias=draw(st.booleans()),
    )
    size = draw(st.integers(4, 9))
    return layer, (draw(st.integers(1, 3)), planes_in, size, size)


@settings(deadline=None, max_examples=60)
@given(convolutions())
def test_the_formula_of_a_convolution_is_flop_counters_count_in_every_phase(
    case: tuple[nn.Module, tuple[int, ...]],
) -> None:
    layer, shape = case
    phases = count_phases(*on_meta(layer, *shape))
    for counted, formula in (phases["updateOutput"], phases["updateGradInput"]):
        assert counted == formula.matrix > 0
    counted, formula = phases["accGradParameters"]
    # flop_counter takes no account of the groups in the weight's gradient (PyTorch 2.4 to 2.13).
    assert formula.matrix == phases["updateOutput"][1].matrix
    assert counted in (formula.matrix, formula.matrix * layer.groups)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 5), st.booleans())
def test_the_formula_of_linear_is_flop_counters_count(n_in: int, n_out: int, batch: int, bias: bool) -> None:
    count = count_forward(*on_meta(nn.Linear(n_in, n_out, bias), batch, n_in))
    assert count.counted == count.formula.matrix == 2 * batch * n_in * n_out
    assert count.formula.other == batch * n_out * bias


def comparisons_and_sums(module: nn.Module, *shape: int) -> Any:
    return count_forward(*on_meta(module, *shape)).formula


@pytest.mark.parametrize(
    ("module", "other"),
    [
        (nn.MaxPool2d(2), 2 * 16 * 3),
        (nn.MaxPool2d((1, 3), (2, 1)), 2 * 4 * 6 * 2),
        (nn.AvgPool2d(4), 2 * 4 * 16),
        (nn.AdaptiveAvgPool2d(1), 2 * 64),
        (nn.AdaptiveAvgPool2d(3), 2 * (3 + 4 + 3) ** 2),  # windows of 8 into 3 parts: 0-3, 2-6, 5-8
        (nn.BatchNorm2d(2), 2 * 128),
        (nn.ReLU(inplace=True), 128),
        (nn.Threshold(0, 1e-6), 128),
        (nn.Softmax(1), 5 * 128),
        (nn.Flatten(), 0),
        (nn.Dropout(), 0),
    ],
)
def test_formulas_of_other_layers(module: Any, other: Any) -> None:
    assert comparisons_and_sums(module, 1, 2, 8, 8) == Operations(0, other)


def test_batch_normalisation_does_more_in_training() -> None:
    module, input = on_meta(nn.BatchNorm2d(2), 3, 2, 8, 8)
    phases = count_phases(module.train(), input)
    assert phases["updateOutput"][1] == Operations(0, 6 * input.numel())


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_a_checkpointed_part_is_counted_again_in_the_backward(use_reentrant: bool) -> None:
    class Checkpointed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            # Tanh keeps its output: without it, PyTorch would not have to run the Linear layer again.
            self.inner = nn.Sequential(nn.Linear(4, 4), nn.Tanh())

        def forward(self, input: Tensor) -> Any:
            return checkpoint(self.inner, input, use_reentrant=use_reentrant)

    once = 2 * 5 * 4 * 4
    counts = {phase: count for phase, (count, _) in count_phases(*on_meta(Checkpointed(), 5, 4)).items()}
    assert counts == {"updateOutput": once, "updateGradInput": 3 * once, "accGradParameters": 0}


def test_a_net_of_other_numbers_is_counted_in_float32() -> None:
    net = find("tests.helpers.own_nets:halves", (6,))
    module, input, on_shapes = counted_on(net, 2, 1)
    assert on_shapes and input.dtype == torch.float32
    assert count_forward(module, input).counted == 2 * 2 * 6 * 3


def test_arithmetic_between_the_layers_is_counted_apart() -> None:
    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(4, 4)

        def forward(self, input: Tensor) -> Tensor:
            return torch.relu(self.inner(input) + input)

    count = count_forward(*on_meta(Residual(), 5, 4))
    assert [layer.path for layer in count.layers] == ["inner", OUTSIDE]
    assert count.layers[1].formula == Operations(0, 2 * 20)


def test_an_operator_without_a_formula_is_named() -> None:
    class Spectrum(nn.Module):
        def forward(self, input: Tensor) -> Tensor:
            return torch.fft.rfft(input)

    assert list(count_forward(*on_meta(Spectrum(), 2, 8)).unknown) == ["_fft_r2c"]


@pytest.mark.parametrize("name", sorted(registry.NETS))
def test_every_operator_of_every_net_has_a_formula_that_agrees_with_flop_counter(name: str) -> None:
    from convnet_benchmarks.workload.inputs import meta_batch

    net = registry.NETS[name]
    module = registry.on_meta(net).eval()
    count = count_forward(module, meta_batch(net, 1, module))
    assert count.counted == count.formula.matrix > 0
    assert not count.unknown


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("wanted", ["1", "4", None])
def test_the_slope_of_a_stacked_layer_is_what_the_layer_does(training: bool, wanted: str | None) -> None:
    layers = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Flatten()
    module, input = on_meta(nn.Sequential(*layers, nn.Linear(288, 288)), 2, 3, 8, 8)
    slope = measure_slope(module, input, wanted, training)
    assert slope.expected == {"1": 8 * 36 * 8 * 9, "4": 288 * 288}[slope.path]
    assert wanted in (None, slope.path)
    assert [point.ratio for point in slope.points] == [None, 1.0, 1.0]


def test_the_slope_finds_a_layer_that_is_counted_too_low(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test can fail: with half of the products counted the slope is half of what it should be."""
    from convnet_benchmarks.commands.flops import slope as slope_module

    whole = slope_module.count_forward

    def half(module: nn.Module, input: Tensor) -> Any:
        count = whole(module, input)
        for layer in count.layers:
            layer.counted //= 2
        return count

    monkeypatch.setattr(slope_module, "count_forward", half)
    found = measure_slope(*on_meta(nn.Sequential(nn.Linear(6, 6)), 1, 6), None, training=False)
    assert [point.ratio for point in found.points] == [None, 0.5, 0.5]


def test_the_slope_of_a_grouped_convolution_shows_flop_counters_mistake_in_training() -> None:
    case = on_meta(nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, groups=4)), 2, 8, 6, 6)
    assert [point.ratio for point in measure_slope(*case, None, training=False).points] == [None, 1.0, 1.0]
    assert measure_slope(*case, None, training=True).points[1].ratio in (1.0, (1 + 1 + 4) / 3)


def test_a_net_without_a_repeatable_layer() -> None:
    with pytest.raises(UserError, match="no convolution or Linear"):
        measure_slope(*on_meta(nn.Sequential(nn.Linear(6, 5)), 1, 6), None, training=False)


def test_repeated_leaves_the_net_as_it_was() -> None:
    net = nn.Sequential(nn.Linear(6, 6), nn.ReLU())
    assert len(repeated(net, "0", 4)[0]) == 4 and isinstance(net[0], nn.Linear)


def test_the_knee() -> None:
    assert find_knee([(1, 50.0), (2, 91.0), (4, 100.0), (8, 99.0)]).batch == 2
    plateau, rising = [(1, 50.0), (2, 97.0), (4, 100.0)], [(1, 50.0), (2, 80.0), (4, 100.0)]
    assert not find_knee(plateau).still_rising
    assert find_knee(rising).still_rising and find_knee(rising).batch == 4


@pytest.mark.parametrize(("verdict", "uncertain"), [("stable", False), ("noisy", True)])
def test_the_knee_is_uncertain_where_figures_are_not_stable(verdict: str, uncertain: bool) -> None:
    points: list[dict[str, Any]] = [
        {
            "point": {"batch_size": batch},
            "samples_per_second": 100.0,
            "pass_ms": {"median": 1.0, "verdict": found},
            "ran": {"unit": "images"},
        }
        for batch, found in ((1, "stable"), (2, verdict))
    ]
    points.append({"point": {"batch_size": 4}, "status": "out of memory", "ran": {"unit": "images"}})
    (note,) = throughput_table(points, find_knee([(1, 100.0), (2, 100.0)]), "a net").notes
    assert note.startswith("knee: batch 1") and note.endswith("not all figures are stable") == uncertain


def test_the_roofline() -> None:
    roofs = Roofs(100.0, "test", 10.0)
    assert roofs.ridge == 10 and roofs.attainable(5) == 50 and roofs.attainable(20) == 100
    net = nn.Sequential(nn.Conv2d(16, 16, 3, bias=False), nn.ReLU(), nn.Flatten()).eval()
    convolution, relu, flatten = layer_points(net, torch.randn(2, 16, 18, 18), HostClock(), roofs, 2)
    assert convolution.operations == 2 * 2 * 16 * 16**2 * 16 * 9
    assert convolution.bytes == 4 * (2 * 16 * 18**2 + 2 * 16 * 16**2 + 16 * 16 * 9)
    assert convolution.bound == "compute" and relu.bound == "memory" and flatten.bound == "moves data"
    assert math.isclose(relu.intensity, 1 / 8)
    assert relu.share_of_roof is not None and math.isclose(relu.share_of_roof, relu.gflops / (10 / 8))


def test_events_of_processors() -> None:
    assert 16 in counters.processor_events("processor\t: 0\nvendor_id\t: GenuineIntel\n").values()
    with pytest.raises(UserError, match="accepted: GenuineIntel, AuthenticAMD"):
        counters.processor_events("CPU implementer\t: 0x41\n")


@pytest.mark.parametrize("state", ["<not supported>", "<not counted>"])
def test_counters_that_do_not_count(state: str) -> None:
    with pytest.raises(UserError, match=state.strip("<>")):
        counters.parse_report(f"# started\n\n{state};;event;0;100.00;;\n", {"event": 1})


def test_counts_are_weighted_operations() -> None:
    text = "# started\n\n10;;scalar;5;100.00;;\n3;;packed;5;100.00;;\n"
    assert counters.parse_report(text, {"scalar": 1, "packed": 8}) == 34
    with pytest.raises(UserError, match="2 of 3 events"):
        counters.parse_report(text, {"scalar": 1, "packed": 8, "other": 1})


FAKE_PERF = f"""#!{sys.executable}
import json, subprocess, sys
report, events = sys.argv[sys.argv.index("-o") + 1], sys.argv[sys.argv.index("-e") + 1]
command = sys.argv[sys.argv.index("--") + 1:]
given = "" if command == ["true"] else sys.stdin.read()
code = subprocess.run(command, input=given, text=True).returncode
request = json.loads(given) if given else {{"passes": 0, "repeats": 0}}
counted = 5000 + request["passes"] * (100 + 10 * request["repeats"])
with open(report, "w") as file:
    for event in __import__("re").findall(r"cpu/[^/]*/u", events):
        file.write(f"{{counted}};;{{event}};1;100.00;;\\n")
        counted = 0
sys.exit(code)
"""


@pytest.fixture
def folder_with_perf(tmp_path: Path) -> str:
    perf = tmp_path / "perf"
    perf.write_text(FAKE_PERF)
    perf.chmod(0o755)
    return str(tmp_path)


def has_known_processor() -> bool:
    info = Path("/proc/cpuinfo")
    text = info.read_text() if info.exists() else ""
    return "GenuineIntel" in text or "AuthenticAMD" in text


@pytest.mark.skipif(not has_known_processor(), reason="no events are known for this processor")
def test_hardware_counts_are_those_of_a_pass(folder_with_perf: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{folder_with_perf}:/usr/bin:/bin")
    events = counters.check_counters()
    request = {"net": "any", "passes": 3, "repeats": 2}
    monkeypatch.setattr(counters, "child_process", FakeProcess(folder_with_perf))
    count = counters.count_passes(request, events)
    assert count.operations == (100 + 10 * 2) * next(iter(events.values()))
    assert count.slow_down == 4.0


class FakeProcess:
    """Runs the wrapper around ``true`` in place of a net, and says how long that took."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def call(self, function: str, request: Any, wrapper: Sequence[str] = ()) -> Any:
        if wrapper:
            subprocess.run(
                [*wrapper, "cat"], input=json.dumps(request), text=True, check=True, stdout=subprocess.DEVNULL
            )
        return 2.0 if wrapper else 0.5


@pytest.mark.skipif(not has_known_processor(), reason="no events are known for this processor")
def test_without_perf_one_line_says_so(tmp_path: Path) -> None:
    done = run_python(*COMMAND, "--parts", "counters", environment={"PATH": str(tmp_path)})
    assert done.returncode == 2
    assert "perf was not found" in done.stderr and done.stderr.count("\n") == 1


def test_the_command_counts_and_writes_files(tmp_path: Path) -> None:
    files = {name: tmp_path / f"flops.{name}" for name in ("json", "csv", "md")}
    options = [part for name, path in files.items() for part in (f"--{name}", str(path))]
    wanted = ("--parts", "counts,slope", "--mode", "training", "--slope-layer", "1.3", "--batch-size", "2")
    done = run_python(*COMMAND, *wanted, *options)
    assert done.returncode == 0 and done.stderr == ""
    assert "expected 16,777,216 multiply-adds" in done.stdout
    result = json.loads(files["json"].read_text())
    assert result["kind"] == "flops" and result["status"] == "complete"
    assert [point["ratio"] for point in result["slope"]["points"]] == [None, 1.0, 1.0]
    assert result["counts"]["counted"] == result["counts"]["formula"]["matrix"] == 2856753920
    assert "## " not in files["md"].read_text() and "| layer |" in files["md"].read_text()
    assert "16781312" not in files["csv"].read_text()  # what hardware counts: with the bias


class OnData(nn.Module):
    """Runs a layer as often as the data says, and uses its weight twice."""

    def __init__(self, times: int | None = None) -> None:
        super().__init__()
        self.first, self.norm, self.again = nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Linear(6, 6)
        self.again.weight, self.times = self.first.weight, times

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(self.times or 3 * math.isfinite(x[0, 0].item())):
            x = self.norm(self.first(x))
        return self.again(x)


@pytest.mark.parametrize("mode", ["inference", "training"])
def test_a_net_that_needs_numbers_is_counted_as_one_that_does_not(
    mode: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    found = []
    for name, times in (("shapes", 3), ("numbers", None)):
        definition = partial(OnData, times)
        monkeypatch.setitem(registry.NETS, name, Net(name, definition, (6,), "", own_parameters=True))
        path = tmp_path / f"{name}.json"
        assert main(["flops", "--net", name, "--batch-size", "3", "--mode", mode, "--json", str(path)]) == 0
        assert ("counted while it ran" in capsys.readouterr().out) == (times is None)
        counts = json.loads(path.read_text())["counts"]
        del counts["unknown"]
        found.append([counts["counted"], counts["layers"][:6], counts["phases"]])
    assert found[0] == found[1] and found[0][0] == 4 * 2 * 3 * 36


def test_an_lstm_is_counted_alike_with_numbers_and_without() -> None:
    layer = nn.LSTM(4, 3, batch_first=True).eval()
    with_numbers = count_forward(layer, torch.randn(2, 5, 4))
    without = count_forward(*on_meta(layer, 2, 5, 4))
    assert with_numbers.counted == without.counted == 2 * 2 * 5 * 4 * 3 * (4 + 3)
    assert with_numbers.formula == without.formula


SMALL = ("flops", "--net", "recognize_digits", "--threads", "1")


@pytest.mark.slow
def test_throughput_against_batch(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "flops.json"
    options = ("--parts", "throughput", "--batch-sizes", "4,1", "--seconds", "1", "--json", str(path))
    assert main([*SMALL, *options]) == 0
    result = json.loads(path.read_text())["throughput"]
    assert [point["point"]["batch_size"] for point in result["points"]] == [1, 4]
    assert result["knee"]["batch"] in (1, 4)
    assert "images/s" in capsys.readouterr().out


def test_ctrl_c_keeps_the_measured_batches(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def measure_apart(point: Point, settling: Settling) -> dict[str, Any]:
        if point.batch_size == 4:
            raise KeyboardInterrupt
        found = {
            "ran": {"unit": "images"},
            "samples_per_second": 100.0 * point.batch_size,
            "pass_ms": {"median": 1.0, "verdict": "stable"},
        }
        return {"point": point.as_dict(), "status": "ok", **found}

    monkeypatch.setattr("convnet_benchmarks.commands.flops.parts.measure_apart", measure_apart)
    path = tmp_path / "flops.json"
    options = ("--parts", "counts,throughput", "--batch-sizes", "1,2,4", "--json", str(path))
    assert main([*SMALL, *options]) == 130
    assert "Images per second" in capsys.readouterr().out
    result = json.loads(path.read_text())
    assert result["status"] == "interrupted" and len(result["tables"]) == 2
    assert [point["point"]["batch_size"] for point in result["throughput"]["points"]] == [1, 2]


def test_a_batch_that_fails_keeps_those_before_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def measure_apart(point: Point, settling: Settling) -> dict[str, Any]:
        found: dict[str, Any] = {"status": "failed", "reason": "no such kernel"}
        if point.batch_size == 1:
            figures = {"samples_per_second": 100.0, "pass_ms": {"median": 1.0, "verdict": "stable"}}
            found = {"status": "ok", "ran": {"unit": "images"}, **figures}
        return {"point": point.as_dict(), **found}

    monkeypatch.setattr("convnet_benchmarks.commands.flops.parts.measure_apart", measure_apart)
    path = tmp_path / "flops.json"
    assert main([*SMALL, "--parts", "throughput", "--batch-sizes", "1,2", "--json", str(path)]) == 2
    said = capsys.readouterr()
    assert "Images per second" in said.out and said.err.endswith("no such kernel\n")
    assert len(json.loads(path.read_text())["throughput"]["points"]) == 1


def test_a_roofline_that_is_out_of_memory_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("convnet_benchmarks.commands.flops.parts.measure_roofs", lambda *_: None)
    assert main([*SMALL, "--parts", "roofline", "--batch-size", str(10**13)]) == 3
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.endswith("recognize_digits, batch 10000000000000, float32, cpu: out of memory")


def test_the_roofline_of_a_net(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "flops.json"
    assert main([*SMALL, "--parts", "roofline", "--passes", "1", "--json", str(path)]) == 0
    result = json.loads(path.read_text())["roofline"]
    assert [layer["kind"] for layer in result["layers"]][:3] == ["Conv2d", "ReLU", "MaxPool2d"]
    assert all(layer["ms"] > 0 for layer in result["layers"]) and result["roofs"]["gflops"] > 0
    assert "roofs measured here" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--parts", "size"), "accepted: counts, slope, throughput, roofline, counters"),
        (("--net", "alexnot"), "option --net: unknown net"),
        (("--parts", "slope", "--slope-layer", "0.0"), "cannot follow itself; accepted: 0.10, 1.3"),
        (("--batch-size", "0"), "--batch-size"),
        (("--device", "tpu"), "option --device"),
        (("--json", "/nowhere/f.json"), "--json"),
    ],
)
def test_bad_options_are_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert main(["flops", *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1


def test_layers_above_the_roof_are_explained() -> None:
    def point(path: str, share: float) -> LayerPoint:
        return LayerPoint(path, "Linear", 10**8, 10**6, 1.0, 100 * share, 100.0, "compute", share)

    roofs = Roofs(gflops=100.0, fastest="matrix products", gbytes=10.0)
    notes = roofline_table(roofs, [point("fc1", 0.9), point("fc2", 3.79), point("fc3", 1.2)], "a net").notes
    assert "above the roof: fc2, fc3; most of all fc2, with 379 %" in notes[-1]
    quiet = roofline_table(roofs, [point("fc1", 0.9)], "a net").notes
    assert not any("above the roof" in note for note in quiet)
