"""PyTorch's .pt files are read without running what is in them, or refused in one line."""

import os
import pickle
import random
from pathlib import Path
from typing import Any

import pytest
import torch

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.workload.pt_files import load_pt
from tests.helpers.commands import run_python
from tests.helpers.pt_files import needs_safe_pt


class Hostile:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("exit 1",)


def refused(path: Path) -> str:
    with pytest.raises(UserError) as raised:
        load_pt(str(path))
    message = str(raised.value)
    assert message.startswith(f"{path}: ") and message.isprintable()
    assert "weights_only" not in message and "False" not in message  # PyTorch's advice
    return message


@needs_safe_pt
def test_what_is_not_tensors_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "net.pt"
    torch.save({"state": Hostile()}, path)
    assert "it holds a posix.system; .safetensors" in refused(path)
    torch.save(torch.nn.Linear(2, 3), path)
    assert "it holds a torch.nn.modules.linear.Linear" in refused(path)
    path.write_bytes(pickle.dumps([1]))
    refused(path)
    torch.save({"x": torch.ones(2), "y": [1, "text"]}, path)
    assert load_pt(str(path))["y"] == [1, "text"]


@needs_safe_pt
def test_mutated_files_are_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.pt"
    draws = random.Random(1)
    for zipped in (True, False):
        torch.save({"x": torch.ones(2, 3), "y": [1, "text"]}, path, _use_new_zipfile_serialization=zipped)
        whole = path.read_bytes()
        for _ in range(150):
            damaged = bytearray(whole)
            for _ in range(draws.randint(1, 4)):
                damaged[draws.randrange(len(damaged))] = draws.choice([0, 127, 255, draws.randrange(256)])
            path.write_bytes(damaged[: draws.choice([len(damaged), draws.randrange(len(damaged))])])
            try:
                load_pt(str(path))
            except UserError as error:
                assert str(error).isprintable()


def test_a_pytorch_that_cannot_be_trusted_reads_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "net.pt"
    torch.save({}, path)
    for version, trusted in (("2.4.0+cpu", False), ("2.9.1", False), ("2.10.0", True), ("3.0a0+git1", True)):
        monkeypatch.setattr(torch, "__version__", version)
        if trusted:
            assert load_pt(str(path)) == {}
        else:
            assert f"PyTorch {version} does not read .pt files safely; 2.10 does" in refused(path)


@needs_safe_pt
def test_special_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.pt")
    assert "not a file" in refused(tmp_path / "pipe.pt")
    assert "No such file" in refused(tmp_path / "missing.pt")


@needs_safe_pt
def test_on_the_command_line(tmp_path: Path) -> None:
    torch.save({"state": Hostile()}, tmp_path / "w.pt")
    for words in (
        ("convert", tmp_path / "w.pt", "--net", "alexnet", "--to", tmp_path / "net.t7"),
        ("crosscheck", tmp_path / "w.pt", tmp_path / "w.pt"),
    ):
        done = run_python("-m", "convnet_benchmarks", *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert "posix.system" in done.stderr and done.stderr.count("\n") == 1
