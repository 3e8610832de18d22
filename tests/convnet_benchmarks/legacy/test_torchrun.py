"""Two processes under torchrun on one machine, with gloo."""

import json
import socket
from pathlib import Path

import pytest

from convnet_benchmarks.legacy.torchrun import Processes
from tests.helpers.commands import run_python, started_python

SMALL = ("--net", "squeezenet1.1", "-x", "64", "-y", "64", "-iter", "2")
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["train", "instances"])
def test_two_processes_print_once_and_report_their_scaling(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "r.json"
    done = run_python(
        *TORCHRUN, "benchmark.py", "--parallel", mode, "-batch_size", "2", *SMALL, "--json", str(path)
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(":TOTAL:") == 1
    assert "scaling efficiency" in done.stderr
    result = json.loads(path.read_text())
    assert result["processes"]["world_size"] == 2 and result["processes"]["backend"] == "gloo"
    scaling = result["scaling"]
    together, alone = scaling["samples_per_second_together"], scaling["samples_per_second_alone"]
    assert scaling["efficiency"] == pytest.approx(together / (2 * alone))
    # The printed time is per sample of both processes' batches.
    loop = result["phases"][":updateOutput():"]
    own = loop["seconds"] * 1e3 / loop["passes"] / 4
    assert result["lines"][":updateOutput():"] >= own * 0.999


@pytest.mark.slow
def test_two_machines_are_one_run(tmp_path: Path) -> None:
    """Two agents of torchrun on the loopback address, each as on a machine of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    nodes = ("--nnodes", "2", "--nproc-per-node", "1", "--master-addr", "127.0.0.1", "--master-port", port)
    agent = ("-m", "torch.distributed.run", *nodes, "--node-rank")
    work = ("benchmark.py", "-batch_size", "2", *SMALL)
    with started_python(*agent, "1", *work) as second:
        first = run_python(*agent, "0", *work)
        other = second.finish()
    assert (first.returncode, other.returncode) == (0, 0), (first.stderr, other.stderr)
    assert first.stdout.count(":TOTAL:") == 1 and other.stdout == ""
    assert "2 processes (gloo)" in first.stderr


def test_a_run_of_several_processes_ends_with_exit_code_0(tmp_path: Path) -> None:
    script = tmp_path / "ending.py"
    script.write_text(
        "from convnet_benchmarks.errors import run_command\n"
        "from convnet_benchmarks.legacy.torchrun import Processes\n"
        "Processes.barrier = lambda self: None\n"
        "run_command('benchmark.py', lambda: print('printed') or Processes(0, 2).end_together())\n"
        "print('not reached')\n"
    )
    done = run_python(str(script))
    assert (done.returncode, done.stdout, done.stderr) == (0, "printed\n", "")


def test_gradients_are_the_mean_over_the_processes(tmp_path: Path) -> None:
    script = tmp_path / "averaging.py"
    script.write_text(
        "import torch\n"
        "from convnet_benchmarks.legacy.torchrun import join\n"
        "processes = join(cuda=False)\n"
        "net = torch.nn.Linear(3, 2)\n"
        "for p in net.parameters(): p.grad = torch.full_like(p, float(processes.rank + 1))\n"
        "processes.average_gradients(net)\n"
        "assert all((p.grad == 1.5).all() for p in net.parameters())\n"
        "assert processes.largest(processes.rank) == 1.0\n"
        "processes.end_together()\n"
    )

    done = run_python(*TORCHRUN, str(script))
    assert done.returncode == 0, done.stderr


def test_the_second_process_is_as_quiet_about_bad_input_as_the_first() -> None:
    done = run_python(*TORCHRUN, "benchmark.py", "-iter", "auto", "--net", "googlenet")
    assert done.returncode != 0
    assert "option -iter: auto is for one process" in done.stderr


def test_one_process_is_without_effect() -> None:
    alone = Processes()
    alone.barrier()
    assert alone.largest(3.0) == 3.0 and alone.prints
    alone.close()
