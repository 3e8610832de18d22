"""What ran is read from the file's own field; files that are older than the field are read without it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.legacy.setup import of_result
from convnet_benchmarks.nets import registry
from convnet_benchmarks.results.load import load
from convnet_benchmarks.results.runs import load_runs
from convnet_benchmarks.workload.ran import Ran, ran_on
from tests.helpers import made_results

# Unlike anything that the rest of the made files says.
RAN = Ran("vgg_a", 5, (5, 3, 32, 32), "fft", "bfloat16", "cuda:3", "Testor 10000", 7)


def with_ran(kind: str) -> dict[str, Any]:
    """A made file of ``kind`` that says what ran where the commands write it."""
    ran = {"ran": RAN.as_dict()}
    if kind == "benchmark":
        return made_results.benchmark() | ran
    if kind == "points":
        return made_results.point("googlenet", 2, 10.0) | ran
    if kind == "ops":
        document = made_results.ops()
        document["runs"] = [[entry | ran for entry in entries] for entries in document["runs"]]
        return document
    if kind == "flops":
        return made_results.flops() | ran
    backend = {"name": "stock", "top1": 0.5, "top5": None}
    environment = made_results.ENVIRONMENT
    about = {"schema": made_results.SCHEMA, "kind": "accuracy", "net": "x", "environment": environment}
    return about | {"backends": [backend | ran], "tables": []}


@pytest.mark.parametrize("kind", ["benchmark", "points", "ops", "flops", "accuracy"])
def test_nothing_is_guessed_of_what_ran(kind: str, tmp_path: Path) -> None:
    found = load(made_results.write(tmp_path / "r.json", with_ran(kind))).measurements
    assert found
    for one in found:
        assert (one.net, one.device) == (RAN.net, RAN.device_name)
        if kind != "accuracy":  # of every example, and named by its variant
            assert (one.batch, one.software) == (5, "fft, bfloat16")


def test_a_run_knows_its_batch_size(tmp_path: Path) -> None:
    (new,) = load_runs(made_results.write(tmp_path / "new.json", with_ran("benchmark")))
    (old,) = load_runs(made_results.write(tmp_path / "old.json", made_results.benchmark()))
    assert (new.batch_size, old.batch_size) == (5, None)


@pytest.mark.parametrize(
    ("size", "shape", "inputs", "said"),
    [
        (1, (3, 32, 32), "", "one sample"),
        (1, (1, 3, 32, 32), "", "batch 1"),
        (5, (5, 20), "", "batch 5"),
        (1, (1, 16), "ids 1x16, mask 1x16", "batch 1"),
    ],
)
def test_one_sample_is_an_input_without_a_batch(
    size: int, shape: tuple[int, ...], inputs: str, said: str
) -> None:
    ran = replace(RAN, batch_size=size, input_shape=shape, inputs=inputs)
    assert said in str(of_result("benchmark", {}, ran))


@pytest.mark.parametrize("kind", ["benchmark", "points", "ops", "flops"])
@pytest.mark.parametrize(("field", "value"), [("batch_size", 0), ("input_shape", []), ("backend", 3)])
def test_a_broken_field_is_named(kind: str, field: str, value: Any, tmp_path: Path) -> None:
    document = with_ran(kind)
    (document["runs"][0][0] if kind == "ops" else document)["ran"][field] = value
    with pytest.raises(UserError, match=rf"field '.*ran\.{field}' is .*; accepted: "):
        load(made_results.write(tmp_path / "r.json", document))


def test_a_cold_cache_is_another_software_and_older_files_had_none(tmp_path: Path) -> None:
    document = with_ran("points")
    del document["ran"]["cold_cache"], document["point"]["cold_cache"]
    cold = with_ran("points")
    cold["ran"]["cold_cache"] = cold["point"]["cold_cache"] = True
    warm, old, emptied = (
        load(made_results.write(tmp_path / "r.json", one)).measurements[0].software
        for one in (with_ran("points"), document, cold)
    )
    assert warm == old == "fft, bfloat16" and emptied == "fft, bfloat16, cold cache"
    cold["ran"]["cold_cache"] = 1
    with pytest.raises(UserError, match=r"field 'ran\.cold_cache' is 1; accepted: true or false"):
        load(made_results.write(tmp_path / "r.json", cold))


def test_one_sample_without_a_batch_dimension() -> None:
    net, device = registry.NETS["alexnet_owt"], torch.device("cpu")
    one = ran_on(net, torch.empty(3, 224, 224), "mm", "float32", device)
    four = ran_on(net, torch.empty(4, 3, 224, 224), "mm", "float32", device)
    ids = torch.zeros(4, 2, 20, dtype=torch.int64)
    words = ran_on(registry.NETS["gnmt"], ids, "stock", "float32", device)
    assert (one.batch_size, four.batch_size, words.batch_size) == (1, 4, 4)
    assert (one.unit, four.unit, words.unit) == ("images", "images", "sequences")
    assert (four.shape, words.shape) == ("4x3x224x224", "4x2x20")
    assert (one.device, one.threads) == ("cpu", torch.get_num_threads())


@pytest.mark.parametrize("fault", [{"options": "x"}, {"options": []}, {"backend": []}])
def test_a_run_with_faulty_options_is_refused(fault: dict[str, Any], tmp_path: Path) -> None:
    path = made_results.write(tmp_path / "faulty.json", with_ran("benchmark") | fault)
    with pytest.raises(UserError, match="'options' and 'backend' must be objects"):
        load_runs(path)
    with pytest.raises(UserError, match=path):
        load(path)
