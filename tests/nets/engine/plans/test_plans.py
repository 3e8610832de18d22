"""A plan of the engine: its promises about state, its report, and what it refuses."""

import threading
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from convnet_benchmarks.nets.engine import EFFORTS, QUICK, CompileError, StaleWeightError, compile
from tests.nets.engine.modules import MODULES, check, exact_results, largest_error, run


class DependsOnData(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x if x.sum() > 0 else -x


class Pair(nn.Module):
    """A table of outputs, one of which depends on a shape."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x, x.permute(0, 2, 3, 1).reshape(x.shape[0], -1, 3)


@pytest.mark.parametrize("backend", ["mm", "direct", "winograd", "fft"])
def test_weights_changed_between_phases_are_seen(backend: str) -> None:
    torch.manual_seed(0)
    module, other = (
        nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 5, 3, 2)).double()
        for _ in range(2)
    )
    phases = compile(module, (2, 3, 9, 9), backend)
    x = torch.randn(2, 3, 9, 9).double()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)

    def scale() -> None:
        with torch.no_grad():
            module[0].weight.mul_(3)

    def replace() -> None:
        weight = module.get_parameter("2.weight")
        weight.data = torch.randn_like(weight)

    def load() -> None:
        module.load_state_dict(other.state_dict())

    for change in (optimizer.step, load, scale, replace):
        before = run(phases, x)
        change()
        exact = exact_results(module, x)
        assert largest_error(before[0], exact[0]) > 1e-3
        for have, want in zip(run(phases, x), exact, strict=True):
            assert largest_error(have, want) < 1e-10


def test_a_write_behind_pytorchs_back_needs_invalidate() -> None:
    module = nn.Conv2d(3, 4, 3).double()
    x = torch.randn(2, 3, 8, 8).double()
    phases = compile(module, (2, 3, 8, 8), "winograd", check_weights=True)
    phases.updateOutput(x)
    module.weight.detach().numpy()[:] *= 2
    with pytest.raises(StaleWeightError, match="invalidate"):
        phases.updateOutput(x)
    phases.invalidate()
    assert largest_error(phases.updateOutput(x), exact_results(module, x)[0]) < 1e-12


class Shifted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.register_buffer("shift", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> Any:
        return self.layer(x) + self.shift


@pytest.mark.parametrize("backend", ["mm", "stock"])
@pytest.mark.parametrize("replaced", ["layer.weight", "layer.bias", "shift"])
def test_a_replaced_parameter_or_buffer_is_refused(replaced: str, backend: str) -> None:
    """A plan holds them: it would go on with the old ones."""
    module, x = Shifted(), torch.rand(2, 4)
    with compile(module, x.shape, backend) as phases:
        phases.updateOutput(x)
        state = {replaced: module.state_dict()[replaced] + 1}
        module.load_state_dict(state, strict=False, assign=True)
        with pytest.raises(RuntimeError, match="replaced: compile it again"):
            phases.updateOutput(x)


def test_two_plans_of_one_module_and_of_two_are_independent() -> None:
    torch.manual_seed(0)
    one, two = (nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 5, 3)).double() for _ in range(2))
    made = [
        compile(one, (2, 3, 9, 9), "winograd"),
        compile(one, (5, 3, 9, 9), "mm"),
        compile(two, (2, 3, 9, 9), "fft"),
    ]
    inputs = [torch.randn(size, 3, 9, 9).double() for size in (2, 5, 2)]
    outputs = [phases.updateOutput(x) for phases, x in zip(made, inputs, strict=True)]
    grads = [phases.updateGradInput(x, out) for phases, x, out in zip(made, inputs, outputs, strict=True)]
    for phases, x, out, grad in zip(made, inputs, outputs, grads, strict=True):
        exact = exact_results(phases.module, x)
        assert largest_error(out, exact[0]) < 1e-10
        assert largest_error(grad, exact[1]) < 1e-10


def test_plans_in_threads() -> None:
    torch.manual_seed(0)
    modules = [MODULES[name]().double() for name in ("convolutions", "concat", "residual", "convolutions")]
    inputs = [torch.randn(2, 3, 12, 12).double() for _ in modules]
    exact = [exact_results(module, x) for module, x in zip(modules, inputs, strict=True)]
    made = [compile(module, (2, 3, 12, 12), "mm") for module in modules]
    worst: list[float] = []

    def work(index: int) -> None:
        for _ in range(10):
            with torch.no_grad():  # statistics of a normalisation change its own buffers only
                found = run(made[index], inputs[index])
            worst.append(max(map(largest_error, found, exact[index])))

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(made))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(worst) == 40
    assert max(worst) < 1e-10


@pytest.mark.parametrize("threads", [1, 2])
def test_thread_counts_agree(threads: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        torch.manual_seed(0)
        check(MODULES["convolutions"](), (5, 3, 23, 23), "winograd")
    finally:
        torch.set_num_threads(before)


def test_the_module_is_left_as_it_was() -> None:
    module = MODULES["norms"]()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    random = torch.get_rng_state()
    phases = compile(module, (5, 3, 9, 9), "winograd")
    assert torch.equal(torch.get_rng_state(), random)
    phases.close()
    assert module.state_dict().keys() == before.keys()
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())


def test_closing_frees_the_buffers_and_keeps_the_report() -> None:
    phases = compile(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()), (2, 3, 9, 9), "winograd")
    x = torch.randn(2, 3, 9, 9)
    output = weakref.ref(phases.updateOutput(x))
    report = phases.report()
    phases.close()
    assert output() is None
    assert phases.report() == report
    with pytest.raises(ValueError, match="this plan is for inputs"):
        phases.updateOutput(x)


def test_the_report_names_what_runs_and_what_falls_back() -> None:
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 1), nn.Conv2d(4, 4, 3, groups=2))
    report = compile(module, (2, 3, 9, 9), "winograd").report()
    first, second, third = report.layers
    assert (first.name, first.kind) == ("0", "Conv2d+ReLU")
    assert {pick.partition("(")[0] for pick in first.algorithms.values()} == {"winograd"}
    assert first.fallback == ""
    assert second.fallback == "winograd does not apply"
    assert {pick.partition("(")[0] for pick in second.algorithms.values()} == {"mm"}
    assert set(third.algorithms.values()) == {"stock"}
    assert report.memory.bytes > 0
    assert report.as_dict()["layers"][0]["algorithms"] == first.algorithms
    assert len(report.rows()) == 4 and len(list(report.below())) == 1  # headings, three layers; the compiler


def test_large_buffers_are_on_huge_pages_where_offered() -> None:
    report = compile(nn.Conv2d(8, 8, 3), (4, 8, 200, 200), "mm").report()
    if report.memory.huge_pages in ("madvise", "always"):
        assert report.memory.huge_page_bytes > report.memory.bytes // 2
    else:
        assert report.memory.huge_page_bytes == 0


def made_in_inference_mode() -> nn.Module:
    with torch.inference_mode():
        return nn.Conv2d(3, 3, 1)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (
            nn.Sequential(nn.Conv2d(3, 3, 1), nn.AdaptiveMaxPool2d(2, return_indices=True)),
            "1: returns several tensors",
        ),
        (nn.Sequential(nn.Conv2d(4, 3, 1)), "0: Given groups=1"),
        (nn.Sequential(nn.Conv2d(3, 3, 1), Pair()), "its forward returns a tuple, not a tensor"),
        (DependsOnData(), "DependsOnData: its forward cannot be traced"),
        (nn.Conv2d(3, 3, 1).half(), r"weight: a parameter of torch.float16"),
        (made_in_inference_mode(), r"weight: made in torch.inference_mode\(\)"),
    ],
)
def test_what_cannot_be_compiled_is_named(module: nn.Module, message: str) -> None:
    dtype = torch.float32
    with pytest.raises(CompileError, match=message):
        compile(module, (2, 3, 5, 5), "mm", dtype=dtype)


def test_bad_arguments() -> None:
    module = nn.Conv2d(3, 4, 3)
    with pytest.raises(ValueError, match="unknown backend 'fast'; accepted: auto, mm"):
        compile(module, (2, 3, 5, 5), "fast")
    with pytest.raises(ValueError, match="input shape"):
        compile(module, (3, 0, 5), "mm")
    with pytest.raises(ValueError, match="float16 is not supported"):
        compile(module, (2, 3, 5, 5), "mm", dtype=torch.float16)


def test_phases_out_of_order_or_on_other_inputs() -> None:
    module = nn.Conv2d(3, 4, 3)
    phases = compile(module, (2, 3, 5, 5), "mm")
    x = torch.randn(2, 3, 5, 5)
    with pytest.raises(RuntimeError, match="updateOutput of the same input first"):
        phases.updateGradInput(x, torch.randn(2, 4, 3, 3))
    out = phases.updateOutput(x)
    with pytest.raises(RuntimeError, match="updateGradInput of the same input first"):
        phases.accGradParameters(x, out)
    with pytest.raises(ValueError, match="gradOutput is"):
        phases.updateGradInput(x, out[:1])
    with pytest.raises(ValueError, match=r"inputs of \(2, 3, 5, 5\)"):
        phases.updateOutput(torch.randn(1, 3, 5, 5))
    module.eval()
    with pytest.raises(RuntimeError, match="compile it again"):
        phases.updateOutput(x)


def test_the_tuning_file_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What is timed on a busy machine is timed once more on a quiet one.
    monkeypatch.setattr("convnet_benchmarks.nets.engine.choice.tuning._seconds_waited", lambda: 0.0)
    path = tmp_path / "tuning.json"
    module = nn.Conv2d(3, 4, 3)
    first = compile(module, (2, 3, 9, 9), "auto", tuning_file=path).report()
    text = path.read_text()
    second = compile(module, (2, 3, 9, 9), "auto", tuning_file=path).report()
    assert first.layers == second.layers
    assert path.read_text() == text


def test_a_first_quick_plan_times_nothing_and_later_ones_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(EFFORTS, "quick", replace(QUICK, later_seconds=float("inf")))  # however slow it is
    module = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 8, 3, stride=2))
    file = tmp_path / "tuning.json"

    def decided(shape: tuple[int, ...] = (1, 8, 10, 10), **options: Any) -> set[str]:
        with compile(module, shape, tuning="quick", tuning_file=file, **options) as phases:
            return {by for layer in phases.report().layers for by in layer.decided_by.values()}

    assert decided() - {"no choice"} == {"rule"}
    assert decided((1, 8, 11, 11)) - {"no choice"} == {"rule"}  # another plan's first time
    assert decided(tuning_seconds=0) - {"no choice"} == {"rule"}
    assert "timed quickly" in decided()
    with compile(module, (1, 8, 9, 9), tuning_file=file) as thorough:
        by = {by for layer in thorough.report().layers for by in layer.decided_by.values()}
    assert by - {"no choice"} == {"timed"}


def test_gradients_are_made_with_the_plan() -> None:
    module = nn.Linear(1024, 600)
    module.bias.requires_grad_(False)
    with compile(module, (2, 1024)) as phases:
        assert module.weight.grad is None
        before = phases.report().memory
        phases.zeroGradParameters()
        after = phases.report().memory
        assert before is not None and after is not None
        assert after.bytes - before.bytes >= module.weight.nbytes
        assert module.weight.grad is not None and not module.weight.grad.any()
