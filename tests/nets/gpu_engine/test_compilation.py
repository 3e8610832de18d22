"""``benchmark.py --cuda --backend auto``, with the CPU in the GPU's place."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nets.gpu_engine.compilation import families_on
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
    assert "mm" in layers[2]["algorithms"].values()


@pytest.mark.slow
def test_experimental_says_what_was_captured(tmp_path: Path) -> None:
    code, said, result = run(tmp_path, "--backend", "auto", "--experimental")
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
    monkeypatch.setattr("nets.gpu_engine.compilation.has_triton", lambda: True)
    assert "halves" in families_on((9, 0), experimental=False)
    assert "halves" not in families_on((8, 0), experimental=False)
    assert "halves" in families_on((8, 0), experimental=True)
    assert "halves" not in families_on((7, 5), experimental=True)
