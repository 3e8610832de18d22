"""Studies on the workers of a Dask scheduler: two on this machine, one of them killed."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.points.cluster import Cluster
from convnet_benchmarks.points.file import read_points
from tests.helpers.commands import Finished, run_python, started_python
from tests.helpers.places import ROOT

NET = """
from torch import nn

def tiny():
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 6 * 6, 5))
"""
SECONDS = 300.0


@pytest.mark.parametrize("address", ["here", "tcp://host", "http://host:1", "tcp://ho st:1", ""])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(
        UserError, match=r"option --scheduler: .* is not an address; accepted: .*tcp://HOST:8786"
    ):
        Cluster(address)


def test_where_no_scheduler_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("convnet_benchmarks.points.cluster._SECONDS_TO_CONNECT", 0.5)
    with socket.socket() as nobody:  # bound, but not listening
        nobody.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{nobody.getsockname()[1]}"
        with pytest.raises(UserError, match=f"option --scheduler: no Dask scheduler answers at {address}"):
            Cluster(address)


@dataclass
class Local:
    """A scheduler and its workers, as processes of this machine."""

    folder: Path
    address: str
    processes: list["subprocess.Popen[bytes]"]

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        log = (self.folder / f"{len(self.processes)}.log").open("wb")
        dask = Path(sys.executable).with_name("dask")
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        with log:
            process = subprocess.Popen(
                [sys.executable, str(dask), *words, "--no-dashboard"],
                cwd=self.folder,
                env=environment,
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)
        return process

    def start_worker(self, *, threads: int = 1) -> "subprocess.Popen[bytes]":
        words = ("--nthreads", str(threads), "--no-nanny", "--local-directory", str(self.folder))
        return self.start("worker", self.address, *words)

    def workers(self) -> int:
        from distributed import Client

        with Client(self.address, timeout=60, set_as_default=False) as client:
            return len(client.nthreads())

    def study(self, name: str, *arguments: str) -> tuple[str, ...]:
        size = ("--input-size", "3x8x8", "--threads", "1")
        return ("-m", "convnet_benchmarks", name, *size, "--scheduler", self.address, *arguments)

    def run(self, name: str, *arguments: str) -> Finished:
        return run_python(*self.study(name, *arguments), cwd=self.folder, fresh=True, timeout=SECONDS)


def wait_for(happened: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not happened():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.1)


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Local]:
    found = Local(tmp_path, "", [])
    (tmp_path / "own.py").write_text(NET)
    file = tmp_path / "scheduler.json"
    found.start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file))

    def address() -> bool:
        with contextlib.suppress(OSError, ValueError):
            found.address = json.loads(file.read_text())["address"]
        return bool(found.address)

    try:
        wait_for(address)
        yield found
    finally:
        for process in found.processes:
            process.kill()
            process.wait()
        shutil.rmtree(tmp_path / "dask-scratch-space", ignore_errors=True)


NETS = ("--nets", "own.py:tiny")


@pytest.mark.slow
def test_a_sweep_goes_on_where_a_worker_was_killed(local: Local) -> None:
    first, _ = (local.start_worker() for _ in range(2))
    wait_for(lambda: local.workers() == 2)
    points = local.folder / "p.jsonl"
    sizes = ("--batch-sizes", "1,2,3,4,5,6", "--seconds", "1", "--points", str(points))
    words = local.study("sweep", *NETS, *sizes)
    with started_python(*words, cwd=local.folder, own_session=True) as program:
        wait_for(lambda: points.exists() and len(read_points(str(points))) > 0)
        first.kill()
        done = program.finish(SECONDS)
    assert done.returncode == 0, done.stderr
    records = read_points(str(points))
    assert sorted(record["point"]["batch_size"] for record in records) == [1, 2, 3, 4, 5, 6]
    assert all(record["status"] == "ok" and record["machine"]["device"] for record in records)
    again = local.run("sweep", *NETS, *sizes)
    assert again.stdout == done.stdout and "6 of 6 points are in" in again.stderr


@pytest.mark.slow
def test_the_other_studies_run_there_too(local: Local) -> None:
    local.start_worker()
    wait_for(lambda: local.workers() == 1)
    table = local.folder / "r.json"
    done = local.run("ops", "--net", "own.py:tiny", "--batch-sizes", "1", "--runs", "2", "--json", str(table))
    assert done.returncode == 0, done.stderr
    assert len(json.loads(table.read_text())["runs"]) == 2
    short = ("--pairs", "2", "--seconds", "1", "--points", "b.jsonl")
    done = local.run("backends", *NETS, *short)
    assert done.returncode == 0, done.stderr
    assert len(read_points(str(local.folder / "b.jsonl"))) == 2
    refused = local.run("sweep", *NETS, "--devices", "cuda:7", "--points", "c.jsonl")
    assert refused.returncode == 2 and "worker tcp://" in refused.stderr and "cuda:7" in refused.stderr


@pytest.mark.slow
def test_workers_that_would_measure_wrongly_are_refused(local: Local) -> None:
    nobody = local.run("sweep", *NETS, "--points", "p.jsonl")
    assert nobody.returncode == 2 and "the scheduler has no workers" in nobody.stderr
    local.start_worker(threads=2)
    wait_for(lambda: local.workers() == 1)
    several = local.run("sweep", *NETS, "--points", "p.jsonl")
    assert several.returncode == 2
    assert "would measure 2 points at a time; start it with --nthreads 1" in several.stderr


@pytest.mark.slow
def test_a_scheduler_that_goes_away_leaves_what_was_measured(local: Local) -> None:
    local.start_worker()
    wait_for(lambda: local.workers() == 1)
    points = local.folder / "p.jsonl"
    sizes = ("--batch-sizes", "1,2,3,4,5,6", "--seconds", "1", "--points", str(points))
    with started_python(*local.study("sweep", *NETS, *sizes), cwd=local.folder, own_session=True) as program:
        wait_for(lambda: points.exists() and len(read_points(str(points))) > 0)
        local.processes[0].kill()
        done = program.finish(SECONDS)
    assert done.returncode == 2 and len(read_points(str(points))) > 0
    assert done.stderr.splitlines()[-1].endswith("the same command continues with another one")
