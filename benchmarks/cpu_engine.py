"""The CPU engine against stock PyTorch and, where there is one, a real Torch7: time per phase and memory.

    python benchmarks/cpu_engine.py --net overfeat_accurate --batch 1 8 64
    python benchmarks/cpu_engine.py --net alexnet_owt vgg_a googlenet resnet50 --batch 1 16 64
    python benchmarks/cpu_engine.py --torch7 "th benchmark.lua"    a legacy script under a Torch7 of your own

Every peer lives in a process of its own; the three phases are run in turns, one round of each peer after the
other, so that all meet the same machine. A sample during which other programs held the cores (Linux's
pressure figures) is taken again. Shown: medians, in ms per image. On a machine that is never quiet,
``--threads 1 --clock cpu`` shows the CPU time of one thread, which other programs hardly change.
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
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from nets.registry import NETS

PHASES = ("updateOutput", "updateGradInput", "accGradParameters")
PEERS = ("stock", "stock-best", "mm", "auto")
RETRIES = 5
PRESSURE = Path("/proc/pressure/cpu")


def main() -> int:
    options = parse_options()
    results = []
    for net in options.net:
        for batch in options.batch:
            result = compare(net, batch, options)
            results.append(result)
            print("\n".join(table(result)), flush=True)
            if options.json:
                Path(options.json).write_text(json.dumps(results, indent=1))
    return 0


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    nets = (*NETS, "resnet50")
    parser.add_argument("--net", nargs="+", choices=nets, default=["overfeat_accurate"], metavar="NET")
    parser.add_argument("--batch", nargs="+", type=int, default=[1, 8, 64])
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--torch7", metavar="COMMAND", help="runs a legacy script (OverFeat) under Torch7")
    parser.add_argument("--json", metavar="FILE", help="writes every figure to FILE")
    return parser.parse_args()


def compare(net: str, batch: int, options: argparse.Namespace) -> dict[str, object]:
    context = multiprocessing.get_context("spawn")
    workers: dict[str, tuple[multiprocessing.process.BaseProcess, Connection]] = {}
    facts: dict[str, dict[str, object]] = {}
    for peer in options.peers:
        here, there = context.Pipe()
        process = context.Process(target=work, args=(there, peer, net, batch, options), daemon=True)
        process.start()
        workers[peer] = (process, here)
        facts[peer] = here.recv()
    samples: dict[str, list[list[float]]] = {peer: [[], [], []] for peer in options.peers}
    torch7: list[list[float]] = [[], [], []]
    disturbed = 0
    for round in range(options.rounds):
        if options.torch7 and net == "overfeat_accurate" and round % max(1, options.rounds // 3) == 0:
            for phase, value in enumerate(run_torch7(options.torch7, batch)):
                torch7[phase].append(value)
        for peer, (_, pipe) in workers.items():
            pipe.send("run")
            times, retries = pipe.recv()
            disturbed += retries
            for phase, value in enumerate(times):
                samples[peer][phase].append(value)
    for peer, (process, pipe) in workers.items():
        pipe.send("stop")
        facts[peer]["peak_mib"] = pipe.recv()
        process.join()
    if torch7[0]:
        samples["torch7"] = torch7
    medians = {peer: [statistics.median(part) for part in parts] for peer, parts in samples.items()}
    return {
        "net": net,
        "batch": batch,
        "threads": options.threads,
        "clock": options.clock,
        "dtype": options.dtype,
        "ms_per_image": medians,
        "samples": samples,
        "facts": facts,
        "samples_taken_again": disturbed,
    }


def table(result: dict[str, object]) -> list[str]:
    medians: dict[str, list[float]] = result["ms_per_image"]  # type: ignore[assignment]
    facts: dict[str, dict[str, object]] = result["facts"]  # type: ignore[assignment]
    totals = {peer: sum(parts) for peer, parts in medians.items()}
    lines = [
        f"{result['net']}, batch {result['batch']}, {result['threads']} threads, {result['dtype']}, "
        f"{result['clock']} time:"
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
    """One run of a legacy script; its ms per image by phase."""
    # On a CPU the original fails on the lines that synchronise a GPU.
    arguments = [*shlex.split(command), "-sync", "false", "-iter", "3", "-batch_size", str(batch)]
    if batch > 1:
        arguments += ["-4d_tensor", "true"]
    output = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
    found = {}
    for line in output.splitlines():
        label, _, value = line.partition("\t")
        found[label.strip()] = value
    return [float(found[f":{phase}():"]) for phase in PHASES]


def work(pipe: Connection, peer: str, net: str, batch: int, options: argparse.Namespace) -> None:
    """A peer's process: answers "run" with the times of one round, "stop" with its peak memory in MiB."""
    if peer == "stock-best":
        tune_malloc()
    import torch

    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    dtype = getattr(torch, options.dtype)
    module, size = build(net)
    module = module.to(dtype)
    x = torch.randn(batch, *size).to(dtype)
    started = time.perf_counter()
    if peer in ("stock", "stock-best"):
        from nets.phases import AutogradPhases

        if peer == "stock-best":
            with_linear_for_covering(module, x[:1])
            module = module.to(memory_format=torch.channels_last)
            x = x.to(memory_format=torch.channels_last)
        phases = AutogradPhases(module)
        report = None
    else:
        from nets.engine import compile

        phases = compile(module, tuple(x.shape), peer)
        report = phases.report().as_dict()
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
                if on_cpu or pressure() - waited < 0.04 * taken + 150e-6 or attempt == RETRIES - 1:
                    break
                again += 1
            times.append(taken * 1e3 / batch)
        return times, again

    for _ in range(2):
        round()
    pipe.send({"prepared_s": round_to(prepared), "report": report})
    with contextlib.suppress(EOFError):  # the parent was stopped: nobody is left to tell
        while pipe.recv() == "run":
            pipe.send(round())
        pipe.send(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)


def round_to(value: float) -> float:
    return float(f"{value:.3g}")


def pressure() -> float:
    """Seconds in which some thread that was ready waited for a core; 0 where that is not counted."""
    try:
        return int(PRESSURE.read_text().splitlines()[0].rpartition("=")[2]) / 1e6
    except (OSError, ValueError):
        return 0.0


def tune_malloc() -> None:
    """glibc keeps what is freed: no mapping and unmapping, hence no page faults, after the first round."""
    m_mmap_max, m_trim_threshold, m_top_pad = -4, -1, -2
    libc = ctypes.CDLL(None)
    libc.mallopt(m_mmap_max, 0)
    libc.mallopt(m_trim_threshold, -1)
    libc.mallopt(m_top_pad, 64 << 20)


def with_linear_for_covering(module: "torch.nn.Module", example: "torch.Tensor") -> None:  # noqa: F821
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


def build(net: str) -> tuple["torch.nn.Module", tuple[int, int, int]]:  # noqa: F821
    """The module, with Torch7's initial parameters, and the size of one input."""
    from nets import registry
    from nets.torch7_init import initialise
    from nets.torch7_random import Generator

    if net in registry.NETS:
        found = registry.find(net)
        return registry.build(found, seed=1), found.input_size
    module = resnet50()
    initialise(module, Generator(1))
    return module, (3, 224, 224)


def resnet50() -> "torch.nn.Module":  # noqa: F821
    """He et al., 2015 (arXiv:1512.03385), with the stride in the 3x3 convolutions."""
    from torch import Tensor, nn

    class Bottleneck(nn.Module):
        def __init__(self, planes: int, width: int, stride: int) -> None:
            super().__init__()
            self.path = nn.Sequential(
                nn.Conv2d(planes, width, 1, bias=False),
                nn.BatchNorm2d(width),
                nn.ReLU(inplace=True),
                nn.Conv2d(width, width, 3, stride, 1, bias=False),
                nn.BatchNorm2d(width),
                nn.ReLU(inplace=True),
                nn.Conv2d(width, 4 * width, 1, bias=False),
                nn.BatchNorm2d(4 * width),
            )
            self.shortcut: nn.Module = nn.Identity()
            if stride != 1 or planes != 4 * width:
                convolution = nn.Conv2d(planes, 4 * width, 1, stride, bias=False)
                self.shortcut = nn.Sequential(convolution, nn.BatchNorm2d(4 * width))
            self.relu = nn.ReLU(inplace=True)

        def forward(self, x: Tensor) -> Tensor:
            return self.relu(self.path(x) + self.shortcut(x))

    layers: list[nn.Module] = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
    ]
    planes = 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for index in range(count):
            layers.append(Bottleneck(planes, width, stride if index == 0 else 1))
            planes = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


if __name__ == "__main__":
    sys.exit(main())
