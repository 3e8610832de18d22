"""The recorded environment: plain JSON, with what this machine can say."""

import json

import pytest
import torch

from convnet_benchmarks import environment


def test_it_is_json_and_names_what_matters() -> None:
    found = environment.collect(torch.device("cpu"))
    assert json.loads(json.dumps(found)) == found
    assert found["torch"]["version"] == torch.__version__
    assert found["torch"]["threads"] == torch.get_num_threads()
    assert found["cpu"]["model"] and found["cpu"]["logical_cores"] >= 1
    assert found["software"]["packages"]["numpy"]
    assert found["gpu"] is None


def test_variables_that_change_allocation_and_threads_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("HOME_SWEET_HOME", "no")
    variables = environment.collect(torch.device("cpu"))["variables"]
    assert variables["OMP_NUM_THREADS"] == "3"
    assert "HOME_SWEET_HOME" not in variables


def test_denormals_are_seen() -> None:
    torch.set_flush_denormal(True)
    try:
        assert environment.collect(torch.device("cpu"))["torch"]["flush_denormals"]
    finally:
        torch.set_flush_denormal(False)
    assert not environment.collect(torch.device("cpu"))["torch"]["flush_denormals"]


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ({"/proc/cpuinfo": "processor\t: 0\nmodel name\t: AMD EPYC\n"}, "AMD EPYC"),
        (
            {"/proc/cpuinfo": "processor\t: 0\n", "lscpu": "CPU(s): 4\nModel name: Neoverse-N1\n"},
            "Neoverse-N1",
        ),
        ({"sysctl": "Apple M2"}, "Apple M2"),
    ],
)
def test_the_processor_has_a_name(monkeypatch: pytest.MonkeyPatch, told: dict[str, str], name: str) -> None:
    monkeypatch.setattr(environment, "_read", told.get)
    monkeypatch.setattr(environment, "_run", lambda command, *_: told.get(command))
    assert environment.machine("cpu")["device"] == name
