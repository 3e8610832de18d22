"""Compares the CPU engine with stock PyTorch and, if given, real Torch7: time per phase, and memory.

    python -m benchmarks.cpu_engine --net overfeat_accurate --batch 1 8 64 --torch7 "th benchmark.lua"
    python -m benchmarks.cpu_engine --net alexnet vgg_a googlenet resnet50_v1 --batch 1 16 64
    python -m benchmarks.cpu_engine --net vgg_a --batch 64 --rounds 5 --minutes 4 --peers stock-best auto

Every peer runs in a process of its own that is alone in memory: it starts, runs some rounds of the three
phases and ends, then the next peer does. The peers take turns, so that all of them meet the same machine.
(Processes side by side in a virtual machine do not get equally fast memory: accGradParameters of OverFeat at
batch 1 took up to 1.5 times as long in a process started after others.) The first seconds of a process are
not timed. A sample taken while other programs held the cores (according to Linux's pressure figures) is
repeated. The output shows medians over all rounds of all turns, in ms per image. On a machine that is never
quiet, ``--threads 1 --clock cpu`` shows the CPU time of one thread, which other programs hardly change.

After ``--minutes``, no new turn of a net and batch size begins. ``--json`` is written after each turn, so an
interrupted run keeps its results. ``--torch7`` runs a legacy script (OverFeat) under your own Torch7, once a
turn.
"""

import argparse
import contextlib
import ctypes
import json
import multiprocessing
import resource
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import performance
from convnet_benchmarks.nets.registry import NETS
from convnet_benchmarks.tables import Column, Table

if TYPE_CHECKING:
    import torch

    from convnet_benchmarks.nets.phases import Phases

PHASES = ("updateOutput", "updateGradInput", "accGradParameters")
PEERS = ("stock", "stock-best", "mm", "auto")
RETRIES = 5
LONG = 2.0  # seconds: a longer sample always meets some other program and is not repeated
WARM_UP = 3.0  # seconds of untimed rounds: in a virtual machine, memory is slow when a process first gets it
PRESSURE = Path("/proc/pressure/cpu")


def main() -> int:
    options = parse_options()
    results: list[dict[str, object]] = []
    for net in options.net:
        for batch in options.batch:
            for result in compare(net, batch, options):
                write_json(options.json, [*results, result])
            results.append(result)
            print("\n".join(summary(result)), file=sys.stderr, flush=True)
    performance.report("cpu_engine", table(results), options)
    return 0


def parse_options() -> argparse.Namespace:
    parser = performance.parser("cpu_engine", __doc__)
    parser.add_argument("--net", nargs="+", choices=NETS, default=["overfeat_accurate"], metavar="NET")
    parser.add_argument("--batch", nargs="+", type=positive, default=[1, 8, 64])
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--turns", type=positive, default=3)
    parser.add_argument("--rounds", type=positive, default=5, help="of each peer and turn")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="at most, per net and batch size")
    parser.add_argument("--threads", type=positive, default=2)
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument(
        "--tuning",
        choices=("quick", "thorough"),
        default="thorough",
        help="quick times most candidates once, here without a limit of seconds",
    )
    parser.add_argument("--tuning-file", type=Path, help="instead of the one in the user's cache folder")
    parser.add_argument("--torch7", metavar="COMMAND", help="runs a legacy script (OverFeat) under Torch7")
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes every figure to FILE")
    return parser.parse_args()


def positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return value


def write_json(path: Path | None, results: list[dict[str, object]]) -> None:
    if path is not None:
        path.write_text(json.dumps(results, indent=1))


class Worker:
    """A peer's process: it answers "run" with a round's times, anything else with its peak memory."""

    def __init__(self, peer: str, net: str, batch: int, options: argparse.Namespace) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, there = context.Pipe()
        self._process = context.Process(target=work, args=(there, peer, net, batch, options), daemon=True)
        self._process.start()
        there.close()
        self.facts: dict[str, object] = self._answer()

    def run(self) -> tuple[list[float], int, int]:
        """Runs a round; returns ms per image by phase, the samples repeated, and the peak memory in MiB."""
        self._pipe.send("run")
        return self._answer()

    def stop(self) -> None:
        self._pipe.send("stop")
        self._process.join()

    def _answer(self) -> Any:
        try:
            return self._pipe.recv()
        except EOFError:
            self._process.join()
            sys.exit(f"a peer ended with code {self._process.exitcode}: is there enough memory for all?")


def compare(net: str, batch: int, options: argparse.Namespace) -> Iterator[dict[str, object]]:
    """Yields what is known after each turn."""
    started = time.monotonic()
    with_torch7 = options.torch7 is not None and net == "overfeat_accurate"
    names = [*options.peers, "torch7"] if with_torch7 else options.peers
    samples: dict[str, list[list[float]]] = {name: [[], [], []] for name in names}
    facts: dict[str, dict[str, object]] = {}
    disturbed = 0
    for turn in range(options.turns):
        if turn and time.monotonic() - started > 60 * options.minutes:
            break
        for peer in options.peers:
            worker = Worker(peer, net, batch, options)
            facts[peer] = worker.facts
            for _ in range(options.rounds):
                times, retries, worker.facts["peak_mib"] = worker.run()
                disturbed += retries
                add_sample(samples[peer], times)
            worker.stop()
            print(f"{net}, batch {batch}, turn {turn + 1}: {peer}", file=sys.stderr, flush=True)
        if with_torch7:
            add_sample(samples["torch7"], run_torch7(options.torch7, batch))
        yield {
            "net": net,
            "batch": batch,
            "threads": options.threads,
            "clock": options.clock,
            "dtype": options.dtype,
            "turns": turn + 1,
            "rounds": options.rounds,
            "ms_per_image": {p: [statistics.median(part) for part in parts] for p, parts in samples.items()},
            "samples": samples,
            "facts": facts,
            "samples_taken_again": disturbed,
        }


def add_sample(by_phase: list[list[float]], times: list[float]) -> None:
    for known, value in zip(by_phase, times, strict=True):
        known.append(value)


def table(results: Sequence[dict[str, Any]]) -> Table:
    """Returns a row for each net, batch and peer."""
    columns = [Column("net"), Column("batch"), Column("peer")]
    columns += [Column(name, "ms per image", digits=3) for name in (*PHASES, "total")]
    made = Table("", [*columns, Column("peak", "MiB")])
    for result in results:
        for peer, parts in result["ms_per_image"].items():
            peak = result["facts"].get(peer, {}).get("peak_mib")
            made.rows.append([result["net"], result["batch"], peer, *parts, sum(parts), peak])
    return made


def summary(result: dict[str, object]) -> list[str]:
    medians: dict[str, list[float]] = result["ms_per_image"]  # type: ignore[assignment]
    facts: dict[str, dict[str, object]] = result["facts"]  # type: ignore[assignment]
    totals = {peer: sum(parts) for peer, parts in medians.items()}
    lines = [
        f"{result['net']}, batch {result['batch']}, {result['threads']} threads, {result['dtype']}, "
        f"{result['clock']} time, {result['turns']} turns of {result['rounds']} rounds:"
    ]
    for peer, parts in medians.items():
        phases = " / ".join(f"{part:.4g}" for part in parts)
        peak = facts.get(peer, {}).get("peak_mib")
        ratios = ", ".join(
            f"{totals[other] / totals[peer]:.2f}x {other}" for other in totals if other != peer
        )
        memory = f"  peak {peak} MiB" if peak else ""
        lines.append(f"  {peer:<10} {phases} = {totals[peer]:.4g} ms/image{memory}  ({ratios})")
    lines.append(f"  samples taken again because of other load: {result['samples_taken_again']}")
    return lines


def run_torch7(command: str, batch: int) -> list[float]:
    """Runs a legacy script once; returns its ms per image by phase."""
    # On a CPU the original fails on the lines that synchronise a GPU.
    iterations = 3 if batch < 16 else 1
    arguments = [*shlex.split(command), "-sync", "false", "-iter", str(iterations), "-batch_size", str(batch)]
    if batch > 1:
        arguments += ["-4d_tensor", "true"]
    output = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
    found = {}
    for line in output.splitlines():
        label, _, value = line.partition("\t")
        found[label.strip()] = value
    return [float(found[f":{phase}():"]) for phase in PHASES]


def work(pipe: Connection, peer: str, net: str, batch: int, options: argparse.Namespace) -> None:
    """Runs a peer in its process; see :class:`Worker`."""
    if peer == "stock-best":
        tune_malloc()
    import torch

    from convnet_benchmarks.nets import registry

    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    dtype = getattr(torch, options.dtype)
    found = registry.find(net)
    module = registry.build(found, seed=1).to(dtype)
    x = found.sample((batch, *found.input_size), torch.Generator().manual_seed(0)).to(dtype)
    started = time.perf_counter()
    if peer in ("stock", "stock-best"):
        from convnet_benchmarks.nets.phases import AutogradPhases

        if peer == "stock-best":
            with_linear_for_covering(module, x[:1])
            module = module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
            x = x.to(memory_format=torch.channels_last)
        phases: Phases = AutogradPhases(module)
        report = None
    else:
        from convnet_benchmarks.nets.engine import compile

        plan = compile(
            module,
            tuple(x.shape),
            peer,
            tuning_file=options.tuning_file,
            tuning=options.tuning,
            tuning_seconds=float("inf"),
        )
        phases, report = plan, plan.report().as_dict()
    prepared = time.perf_counter() - started
    phases.zeroGradParameters()

    on_cpu = options.clock == "cpu"
    clock = time.process_time if on_cpu else time.perf_counter

    def round() -> tuple[list[float], int]:
        times, again = [], 0
        grad = None
        for phase in PHASES:
            for attempt in range(RETRIES):
                waited, begun = pressure(), clock()
                if phase == "updateOutput":
                    grad = phases.updateOutput(x)
                elif phase == "updateGradInput":
                    phases.updateGradInput(x, grad)
                else:
                    phases.accGradParameters(x, grad)
                taken = clock() - begun
                quiet = on_cpu or pressure() - waited < 0.04 * taken + 150e-6
                if quiet or taken > LONG or attempt == RETRIES - 1:
                    break
                again += 1
            times.append(taken * 1e3 / batch)
        return times, again

    begun = time.perf_counter()
    round()
    while time.perf_counter() - begun < WARM_UP:
        round()
    pipe.send({"prepared_s": round_to(prepared), "report": report})
    with contextlib.suppress(EOFError):  # the parent was stopped: nobody is left to tell
        while pipe.recv() == "run":
            pipe.send((*round(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024))


def round_to(value: float) -> float:
    return float(f"{value:.3g}")


def pressure() -> float:
    """Returns for how many seconds some ready thread has waited for a core; 0 if that is not counted."""
    try:
        return int(PRESSURE.read_text().splitlines()[0].rpartition("=")[2]) / 1e6
    except (OSError, ValueError):
        return 0.0


def tune_malloc() -> None:
    """Makes glibc keep freed memory: after the first round nothing is mapped, so no page faults occur."""
    m_mmap_max, m_trim_threshold, m_top_pad = -4, -1, -2
    libc = ctypes.CDLL(None)
    libc.mallopt(m_mmap_max, 0)
    libc.mallopt(m_trim_threshold, -1)
    libc.mallopt(m_top_pad, 64 << 20)


def with_linear_for_covering(module: "torch.nn.Module", example: "torch.Tensor") -> None:
    """Replaces convolutions that cover their whole input by Linear layers, as a careful user would."""
    import torch
    from torch import nn

    covering: set[nn.Module] = set()

    def note(layer: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        assert isinstance(layer, nn.Conv2d)
        if tuple(inputs[0].shape[-2:]) == layer.kernel_size and layer.padding == (0, 0):
            covering.add(layer)

    hooks = [m.register_forward_pre_hook(note) for m in module.modules() if isinstance(m, nn.Conv2d)]
    with torch.no_grad():
        module(example)
    for hook in hooks:
        hook.remove()
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if child in covering:
                assert isinstance(child, nn.Conv2d)
                linear = nn.Linear(child.weight[0].numel(), child.out_channels).to(child.weight.dtype)
                with torch.no_grad():
                    linear.weight.copy_(child.weight.flatten(1))
                    if child.bias is not None:
                        linear.bias.copy_(child.bias)
                setattr(parent, name, nn.Sequential(nn.Flatten(), linear, nn.Unflatten(1, (-1, 1, 1))))


if __name__ == "__main__":
    sys.exit(main())
