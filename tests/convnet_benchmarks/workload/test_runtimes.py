"""Other libraries than PyTorch as variants of the studies of inference."""

import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from convnet_benchmarks.commands import backends, sweep
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.nets.several_inputs import SeveralInputs
from convnet_benchmarks.points.measure import measure
from convnet_benchmarks.points.point import Point
from convnet_benchmarks.timing.loops import Settling
from convnet_benchmarks.workload.backends import BACKENDS, LEGACY_BACKENDS, UnsupportedError
from convnet_benchmarks.workload.kernels import open_inference
from lua_compat.optional_packages import pip_install

RUNTIMES = ("onnxruntime", "onnxruntime-unfused", "openvino")


def conv_net() -> nn.Module:
    torch.manual_seed(0)
    norm = nn.BatchNorm2d(8)
    assert norm.running_mean is not None
    norm.running_mean.fill_(0.5)
    return nn.Sequential(nn.Conv2d(3, 8, 3), norm, nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 5)).eval()


def thresholds() -> nn.Module:
    """Torch7's nn.Threshold, as AlexNet has it, and one between numbers that come."""
    return nn.Sequential(nn.Threshold(0, 1e-6), nn.Conv2d(3, 4, 3), nn.Threshold(0.1, -2.0))


class TwoResults(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x.sum((1, 2, 3)), x * 2


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes a package look as if it were not installed."""

    def hide(name: str) -> None:
        monkeypatch.setattr(
            "convnet_benchmarks.workload.runtimes.find_spec",
            lambda asked: None if asked == name else find_spec(asked) or object(),
        )

    return hide


@pytest.mark.parametrize("name", [*RUNTIMES, "unfused"])
@pytest.mark.parametrize("make", [conv_net, thresholds, TwoResults])
def test_the_outputs_are_pytorchs(name: str, make: Callable[[], nn.Module]) -> None:
    if BACKENDS[name].runtime:
        pytest.importorskip("onnx")
        pytest.importorskip(BACKENDS[name].runtime)
    elif make is TwoResults:
        return  # the engine's plans have one result
    module = make()
    input = torch.randn(4, 3, 8, 8)
    with open_inference(BACKENDS[name], module, input, input.device) as opened:
        for _ in range(2):
            input.normal_()  # what the input holds when it runs counts
            with torch.no_grad():
                wanted = module(input)
            wanted = [wanted] if isinstance(wanted, Tensor) else list(wanted)
            found = opened.infer()
            found = [found] if isinstance(found, Tensor) else found
            assert len(found) == len(wanted)
            for have, want in zip(found, wanted, strict=True):
                torch.testing.assert_close(have, want, rtol=1e-4, atol=1e-5)


class Several(nn.Module):
    """Takes ids and a mask, and gives a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.head = nn.Embedding(20, 6), nn.Linear(6, 3)

    def forward(self, ids: Tensor, mask: Tensor) -> dict[str, Tensor]:
        hidden = self.words(ids) * mask[..., None]
        return {"scores": self.head(hidden), "sum": hidden.sum((1, 2))}


@pytest.mark.parametrize("name", RUNTIMES)
@pytest.mark.parametrize("kind", [dict, tuple])
def test_several_inputs_and_whole_numbers(name: str, kind: type) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip(BACKENDS[name].runtime)
    module = SeveralInputs(Several()).eval()
    by_name = {"ids": torch.randint(20, (2, 4)), "mask": torch.randint(2, (2, 4))}
    input = by_name if kind is dict else tuple(by_name.values())
    with open_inference(BACKENDS[name], module, input, torch.device("cpu")) as opened:
        by_name["ids"].random_(20)
        with torch.no_grad():
            wanted = module(input)
        torch.testing.assert_close(opened.infer(), list(wanted.values()))


@pytest.mark.parametrize(
    ("name", "module", "message"),
    [
        ("onnxruntime", conv_net().double(), "runs nets in float32 only"),
        ("openvino", nn.Sequential(nn.Unfold(3), nn.LSTM(27, 2)), "cannot"),
        ("onnxruntime", nn.FractionalMaxPool2d(2, output_size=(3, 3)), "PyTorch cannot export"),
    ],
)
def test_what_a_library_cannot_run(
    name: str, module: nn.Module, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip(BACKENDS[name].runtime)
    input = torch.zeros(2, 3, 8, 8, dtype=next(module.parameters(), torch.ones(1)).dtype)
    with pytest.raises(UnsupportedError, match=message) as caught, torch.no_grad():
        open_inference(BACKENDS[name], module, input, input.device).__enter__()
    assert "\n" not in str(caught.value)
    assert capsys.readouterr().out == ""  # PyTorch prints the whole graph


@pytest.mark.parametrize("name", RUNTIMES)
def test_training_is_unsupported(name: str) -> None:
    found = measure(Point("recognize_digits", backend=name, mode="training"), Settling(most_seconds=0.1))
    assert (found["status"], found["reason"]) == ("unsupported", f"backend {name} runs inference only")


@pytest.mark.parametrize(
    ("name", "package"), [("onnxruntime", "onnxruntime"), ("openvino", "openvino"), ("openvino", "onnx")]
)
def test_a_package_that_is_not_installed_is_named_with_its_extra(
    name: str, package: str, without: Callable[[str], None], tmp_path: Path
) -> None:
    without(package)
    told = re.escape(f"backend {name} needs {package}: {pip_install('runtimes')}")
    points = ["--points", str(tmp_path / "points.jsonl")]
    with pytest.raises(UserError, match=f"option --with: {told}"):
        backends.main(["--nets", "recognize_digits", "--with", name, *points], "program")
    with pytest.raises(UserError, match=f"option --without: {told}"):
        backends.main(["--nets", "recognize_digits", "--without", name, *points], "program")
    with pytest.raises(UserError, match=f"option --backends: {told}"):
        sweep.main(["--nets", "recognize_digits", "--backends", name, *points], "program")
    found: dict[str, Any] = measure(Point("recognize_digits", backend=name), Settling(most_seconds=0.1))
    assert found["status"] == "unsupported" and found["reason"].startswith(f"backend {name} needs {package}")


def test_the_legacy_scripts_offer_none_of_them() -> None:
    assert not set(LEGACY_BACKENDS) & {*RUNTIMES, "unfused"}
