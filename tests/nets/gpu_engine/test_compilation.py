"""``benchmark.py --cuda --backend auto``, with the CPU in the GPU's place."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from convnet_benchmarks.nets.gpu_engine import compilation
from convnet_benchmarks.nets.gpu_engine.choice import Chooser
from convnet_benchmarks.nets.gpu_engine.compilation import GpuPhases, families_on
from convnet_benchmarks.nets.gpu_engine.graphs import GraphPhases
from convnet_benchmarks.nets.gpu_engine.phases import ChosenPhases
from convnet_benchmarks.nets.gpu_engine.ways import PYTORCHS
from convnet_benchmarks.nets.phases import AutogradPhases, Phases
from tests.helpers.commands import run_python
from tests.helpers.fake_gpu import START
from tests.helpers.places import ROOT

NET = ("benchmark.py", "--net", "recognize_digits", "-batch_size", "2", "-iter", "1")


def run(tmp_path: Path, *options: str) -> tuple[int, str, dict[str, Any]]:
    result = tmp_path / "result.json"
    fake = {"PYTHONPATH": str(START), "XDG_CACHE_HOME": str(tmp_path), "FAKE_GPU_MIB": "400"}
    command = [sys.executable, *NET, "--cuda", *options, "--json", str(result)]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **fake}, capture_output=True, text=True)
    return done.returncode, done.stderr, json.loads(result.read_text()) if result.exists() else {}


@pytest.mark.slow
def test_auto_runs_on_a_gpu_and_says_what_was_chosen(tmp_path: Path) -> None:
    code, said, result = run(tmp_path, "--backend", "auto")
    assert code == 0, said
    layers = result["backend"]["engine"]["layers"]
    assert [layer["kind"] for layer in layers] == ["Conv2d", "Conv2d", "Linear"]
    assert all(
        set(layer["algorithms"]) == {"updateOutput", "updateGradInput", "accGradParameters"}
        for layer in layers
    )
    # which of them is faster on the fake GPU depends on what else the machine does
    assert set(layers[2]["algorithms"].values()) <= {"mm", "stock"}


@pytest.mark.slow
def test_auto_says_what_was_captured(tmp_path: Path) -> None:
    code, said, result = run(tmp_path, "--backend", "auto")
    assert code == 0, said
    assert "phase is a CUDA graph" in said
    assert any("phase is a CUDA graph" in note for note in result["notes"])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--cuda", "--backend", "mm"), "option --backend mm is for the CPU; on a GPU auto, stock, or"),
        (("--cuda", "--experimental"), "option --experimental: needs --cuda --backend auto"),
        (("--backend", "auto", "--experimental"), "option --experimental: needs --cuda --backend auto"),
    ],
)
def test_options_that_do_not_go_together(options: tuple[str, ...], told: str) -> None:
    done = run_python(*NET, *options)
    assert done.returncode == 2 and told in done.stderr and done.stderr.count("\n") == 1


def test_kernels_that_no_run_has_proven_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("convnet_benchmarks.nets.gpu_engine.compilation.has_triton", lambda: True)
    assert "halves" in families_on((9, 0), experimental=False)
    assert "halves" not in families_on((8, 0), experimental=False)
    assert "halves" in families_on((8, 0), experimental=True)
    assert "halves" not in families_on((7, 5), experimental=True)


class Replays:
    """In place of CUDA graphs, for inputs of one shape."""

    def __init__(self, phases: Phases, module: nn.Module, input: Tensor) -> None:
        self._phases, self._shape = phases, input.shape
        self.calls = 0

    def outdated(self) -> bool:
        return False

    def takes(self, input: Tensor) -> bool:
        return input.shape == self._shape

    def updateOutput(self, input: Tensor) -> Any:
        self.calls += 1
        return self._phases.updateOutput(input)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._phases, name)


def net() -> nn.Module:
    return nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(108, 4))


@pytest.mark.parametrize(
    ("ms", "fastest"),
    [
        ((3.0, 1.0, 2.0), "graphs"),
        ((1.0, 3.0, 2.0), "ways"),
        ((3.0, 2.0, 1.0), "stock"),
        ((3.0, 2.0), "ways"),
    ],
)
def test_the_whole_net_runs_by_what_takes_the_least_time(
    monkeypatch: pytest.MonkeyPatch, ms: tuple[float, ...], fastest: str
) -> None:
    def timed(run: Callable[[], object]) -> float:
        run()
        return left.pop(0)

    def no_graphs(*_: object) -> Replays:
        raise RuntimeError("not in a graph")

    left = list(ms)  # by calls, by graphs unless there are none, by PyTorch's own kernels
    if len(ms) == 2:
        left = [2.0, 3.0]
    monkeypatch.setattr(compilation, "_median_ms", timed)
    monkeypatch.setattr(compilation, "GraphPhases", Replays if len(ms) == 3 else no_graphs)
    monkeypatch.setattr(torch.cuda, "get_rng_state", torch.get_rng_state)
    monkeypatch.setattr(torch.cuda, "set_rng_state", torch.set_rng_state)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    torch.manual_seed(1)
    module, same, x = net(), net(), torch.randn(2, 2, 8, 8)
    same.load_state_dict(module.state_dict())
    chosen = ChosenPhases(module, Chooser(False, PYTORCHS))
    with GpuPhases(module, chosen, torch.contiguous_format) as phases, AutogradPhases(same) as expected:
        phases.pick(x)
        assert not left and phases.captured.startswith("each" if fastest == "graphs" else "no phase")
        assert ("not in a graph" in phases.captured) == (len(ms) == 2)
        assert [one.by_pytorch for one in chosen.layers] == [ms[-1] < ms[0] and len(ms) == 3] * 2
        stock = {name for layer in phases.report().layers for name in layer.algorithms.values()} == {"stock"}
        assert stock == (fastest == "stock")
        assert all(one.grad is None for one in module.parameters())
        for input in (x, torch.randn(5, 2, 8, 8), x):
            found = []
            for runs in (phases, expected):
                runs.zeroGradParameters()
                output = runs.updateOutput(input).clone()
                found.append([output, runs.updateGradInput(input, output).clone()])
                runs.accGradParameters(input, output)
            torch.testing.assert_close(*found)
            gradients = ([one.grad for one in of.parameters()] for of in (module, same))
            torch.testing.assert_close(*gradients)
        torch.testing.assert_close(dict(module.named_buffers()), dict(same.named_buffers()))
        if fastest == "graphs":
            assert phases._graphs is not None and phases._graphs.calls == 1 + 2  # type: ignore[attr-defined]


class TwoOutputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Any:
        return {"scores": self.layer(x), "others": [x.exp(), None]}


def test_graphs_of_a_net_of_several_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The graphs' memory holds the gradient of each. What is in a graph runs at once here, and no more."""
    for name in ("Stream", "current_stream", "CUDAGraph"):
        monkeypatch.setattr(torch.cuda, name, MagicMock())
    for name in ("stream", "graph"):
        monkeypatch.setattr(torch.cuda, name, lambda *_, **__: nullcontext())
    module, x = TwoOutputs(), torch.rand(2, 4)
    graphs = GraphPhases(AutogradPhases(module), module, x)
    output = graphs.updateOutput(x)
    expected = module(x)
    torch.testing.assert_close(output["scores"], expected["scores"])
    given = {"scores": torch.rand(2, 3), "others": [torch.rand(2, 4), None]}
    graphs.updateGradInput(x, given)
    assert graphs._grad_output["others"][1] is None
    torch.testing.assert_close(tree_leaves(graphs._grad_output)[:2], tree_leaves(given)[:2])
