"""Floating-point operations counted by the processor, through ``perf stat``, and what that costs in time."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convnet_benchmarks import child_process
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.options.nets import build_net, find_net
from convnet_benchmarks.timing.loops import HostClock, run_loop
from convnet_benchmarks.workload.inputs import batch_for

# Event -> operations it stands for. Codes, because perf's names for them differ between its versions.
# Intel SDM volume 3, FP_ARITH_INST_RETIRED: one count for an instruction, two for a fused multiply-add.
_INTEL = {
    "cpu/event=0xc7,umask=0x01/u": 1,  # scalar double
    "cpu/event=0xc7,umask=0x02/u": 1,  # scalar single
    "cpu/event=0xc7,umask=0x04/u": 2,  # 128-bit double
    "cpu/event=0xc7,umask=0x08/u": 4,  # 128-bit single
    "cpu/event=0xc7,umask=0x10/u": 4,  # 256-bit double
    "cpu/event=0xc7,umask=0x20/u": 8,  # 256-bit single
    "cpu/event=0xc7,umask=0x40/u": 8,  # 512-bit double
    "cpu/event=0xc7,umask=0x80/u": 16,  # 512-bit single
}
# AMD PPR for family 17h and later, PMCx003 Retired SSE/AVX FLOPs: a count is an operation.
_AMD = {"cpu/event=0x03,umask=0x0f/u": 1}
_EVENTS: dict[str, Mapping[str, int]] = {"GenuineIntel": _INTEL, "AuthenticAMD": _AMD}


@dataclass(frozen=True)
class HardwareCount:
    """Operations and seconds of one pass, and the seconds of the same pass without counters."""

    operations: float
    seconds: float
    plain_seconds: float

    @property
    def slow_down(self) -> float:
        return self.seconds / self.plain_seconds


def processor_events(cpuinfo: str) -> Mapping[str, int]:
    """Returns the events of the processor that /proc/cpuinfo describes; raises UserError for an unknown
    one.
    """
    vendor = re.search(r"^vendor_id\s*:\s*(\S+)", cpuinfo, re.MULTILINE)
    name = vendor.group(1) if vendor else "an unknown vendor"
    if name not in _EVENTS:
        raise UserError(
            f"option --parts: counters: no floating-point events are known for processors of {name}; "
            f"accepted: {', '.join(_EVENTS)}"
        )
    return _EVENTS[name]


def check_counters() -> Mapping[str, int]:
    """Returns the events that can be counted here; raises UserError if perf, the permission or the
    counters are missing.
    """
    try:
        events = processor_events(Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace"))
    except OSError:
        raise UserError("option --parts counters: needs Linux") from None
    if shutil.which("perf") is None:
        raise UserError("option --parts counters: the command perf was not found; it comes with linux-tools")
    with tempfile.NamedTemporaryFile("r") as report:
        done = subprocess.run(
            [*_perf(events, report.name), "true"], capture_output=True, text=True, check=False
        )
        text = report.read()
    if done.returncode:
        raise UserError(f"option --parts counters: perf stat is refused: {_reason(done.stderr)}")
    parse_report(text, events)
    return events


def _perf(events: Mapping[str, int], report: str) -> list[str]:
    return ["perf", "stat", "-x", ";", "-o", report, "-e", ",".join(events), "--"]


def _reason(message: str) -> str:
    """Returns perf's explanation in a line; a machine that restricts counters says so in many."""
    try:
        level = Path("/proc/sys/kernel/perf_event_paranoid").read_text(encoding="ascii").strip()
    except OSError:
        level = "unknown"
    if not Path("/sys/bus/event_source/devices/cpu").exists():
        return "this machine has no hardware counters (most virtual machines have none)"
    first = next((line.strip() for line in message.splitlines() if line.strip()), "no reason given")
    return f"{first} (kernel.perf_event_paranoid is {level}; 2 or less is needed)"


def parse_report(text: str, events: Mapping[str, int]) -> float:
    """Returns the operations in what ``perf stat -x ;`` wrote. Raises UserError if the counters do not
    count.
    """
    operations, seen = 0.0, 0
    for line in text.splitlines():
        fields = line.split(";")
        if line.startswith("#") or len(fields) < 3 or fields[2] not in events:
            continue
        if not fields[0].replace(".", "", 1).isdigit():
            why = fields[0].strip("<>")
            advice = "most virtual machines have no counters"
            raise UserError(f"option --parts counters: floating-point operations are {why} here ({advice})")
        operations += float(fields[0]) * events[fields[2]]
        seen += 1
    if seen != len(events):
        raise UserError(f"option --parts counters: perf reported {seen} of {len(events)} events")
    return operations


def count_passes(request: dict[str, Any], events: Mapping[str, int]) -> HardwareCount:
    """Returns the counts of one pass of ``run_passes``: the difference between processes of 2 N and of N
    passes, over N.
    """
    function = f"{__name__}:run_passes"
    passes = request["passes"]
    totals, seconds = [], []
    for times in (1, 2):
        with tempfile.NamedTemporaryFile("r") as report:
            more = {**request, "passes": passes * times}
            seconds.append(child_process.call(function, more, wrapper=_perf(events, report.name)))
            totals.append(parse_report(report.read(), events))
    plain = child_process.call(function, {**request, "passes": passes * 2})
    return HardwareCount((totals[1] - totals[0]) / passes, seconds[1], plain)


def run_passes(request: dict[str, Any]) -> float:
    """Returns seconds per forward pass on the CPU; ``repeats`` of the layer ``path``, see slope.repeated."""
    import torch

    from convnet_benchmarks.commands.flops.slope import repeated

    if request["threads"] is not None:
        torch.set_num_threads(request["threads"])
    net = find_net(request)
    module = build_net(net, request["seed"], torch.device("cpu"), torch.float32)
    if request["path"] is not None:
        module = repeated(module, request["path"], request["repeats"])
    on_cpu = (torch.device("cpu"), torch.float32)
    input = batch_for(net, module, request["batch"], request["seed"], *on_cpu)
    with torch.inference_mode():
        module(input)
        return run_loop(lambda: module(input), request["passes"], HostClock()).seconds / request["passes"]
