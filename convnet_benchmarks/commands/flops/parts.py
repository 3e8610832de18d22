"""The parts of ``flops``: each measures something and gives its tables."""

import argparse
import contextlib
from dataclasses import asdict
from functools import cached_property
from typing import Any

import torch
from torch import nn

from convnet_benchmarks import environment
from convnet_benchmarks.commands.flops import counters, show
from convnet_benchmarks.commands.flops.knee import find_knee
from convnet_benchmarks.commands.flops.roofline import layer_points, measure_roofs
from convnet_benchmarks.commands.flops.slope import REPEATS, Slope, measure_slope
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.options.nets import build_net, find_devices, find_net, one_line_errors
from convnet_benchmarks.options.study import without_files
from convnet_benchmarks.points.point import OK, OUT_OF_MEMORY, Point
from convnet_benchmarks.points.process import measure_apart
from convnet_benchmarks.progress import Progress
from convnet_benchmarks.tables import Table
from convnet_benchmarks.timing.loops import Settling, device_clock
from convnet_benchmarks.workload.backends import BACKENDS
from convnet_benchmarks.workload.inputs import batch_for, counted_on
from convnet_benchmarks.workload.kernels import framework_switches
from convnet_benchmarks.workload.operations.counting import count_forward, count_phases
from convnet_benchmarks.workload.ran import Ran, ran_on

_BACKEND = BACKENDS["stock"]


class Study:
    """One run of the command. ``unfinished``: what an interrupted part has so far."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._net = find_net(vars(options))
        (self._device,) = find_devices([options.device], "--device")
        self._found: dict[str, Any] = {}
        self.unfinished: list[Table] = []
        if options.threads is not None:
            torch.set_num_threads(options.threads)
        if "counters" in options.parts:
            self._events = counters.check_counters()

    def content(self, status: str) -> dict[str, Any]:
        """Returns the JSON document: what each part found."""
        return {
            "status": status,
            "net": self._net.name,
            "ran": self._ran.as_dict(),
            "options": without_files(self._options),
            **self._found,
            "environment": environment.collect(self._device),
        }

    @property
    def _ran(self) -> Ran:
        """Returns the conditions of all parts but throughput, whose points have their own."""
        _, input, _ = self._counted_on
        return ran_on(self._net, input, _BACKEND.name, self._options.dtype, self._device)

    @cached_property
    def _counted_on(self) -> tuple[nn.Module, Any, bool]:
        """Returns the net and a batch for counting, and whether they have no memory."""
        with self._one_line():
            return counted_on(self._net, self._options.batch_size, self._options.seed)

    def _one_line(self) -> contextlib.AbstractContextManager[None]:
        return one_line_errors(f"option --net: {self._net.name} cannot be counted")

    def counts(self) -> list[Table]:
        module, input, on_shapes = self._counted_on
        phases = None
        with self._one_line():
            count = count_forward(module, input)
            if self._options.mode == "training":
                phases = count_phases(module.train(), input)
                module.eval()
        self._found["counts"] = {
            "layers": [asdict(layer) for layer in count.layers],
            "counted": count.counted,
            "formula": asdict(count.formula),
            "activations": count.activations,
            "unknown": count.unknown,
            "phases": phases and {name: [counted, asdict(f)] for name, (counted, f) in phases.items()},
        }
        tables = show.count_tables(count, phases, self._net.name, self._options.batch_size)
        if not on_shapes:
            tables[0].notes.append("counted while it ran: other numbers in the input may give other counts")
        return tables

    def slope(self) -> list[Table]:
        slope = self._slope
        self._found["slope"] = asdict(slope)
        return show.slope_tables(slope, self._net.name, self._options.batch_size, self._options.mode)

    @cached_property
    def _slope(self) -> Slope:
        module, input, _ = self._counted_on
        with self._one_line():
            return measure_slope(module, input, self._options.slope_layer, self._options.mode == "training")

    def throughput(self) -> list[Table]:
        options = self._options
        progress = Progress(len(options.batch_sizes))
        found: list[dict[str, Any]] = []
        self._found["throughput"] = {"points": found}
        try:
            for batch in sorted(options.batch_sizes):
                progress.start(f"{self._net.name}, batch {batch}")
                point = Point(
                    options.net,
                    batch,
                    str(self._device),
                    options.dtype,
                    mode=options.mode,
                    threads=options.threads,
                    input_size=options.input_size,
                    seed=options.seed,
                )
                measured = measure_apart(point, Settling(most_seconds=options.seconds))
                if measured["status"] not in (OK, OUT_OF_MEMORY):
                    raise UserError(f"option --parts throughput: {point}: {measured['reason']}")
                found.append(measured)
                if measured["status"] == OUT_OF_MEMORY:
                    break
        except (KeyboardInterrupt, UserError):
            self.unfinished = [self._throughput_table(found)] if found else []
            raise
        finally:
            progress.clear()
        return [self._throughput_table(found)]

    def _throughput_table(self, found: list[dict[str, Any]]) -> Table:
        curve = [
            (point["point"]["batch_size"], point["samples_per_second"])
            for point in found
            if "samples_per_second" in point
        ]
        knee = find_knee(curve) if curve else None
        self._found["throughput"]["knee"] = knee and asdict(knee)
        return show.throughput_table(found, knee, f"{self._net.name}, {self._device}, {self._options.mode}")

    def roofline(self) -> list[Table]:
        options = self._options
        dtype = getattr(torch, options.dtype)
        clock = device_clock(self._device)
        progress = Progress(2)
        progress.start("peak and bandwidth")
        with framework_switches(_BACKEND):
            roofs = measure_roofs(self._device, dtype, clock)
        progress.start(f"layers of {self._net.name}")
        about = f"batch {options.batch_size}, {options.dtype}, {self._device}"
        where = f"option --parts roofline: {self._net.name}, {about}"
        with one_line_errors(where), framework_switches(_BACKEND):
            module = build_net(self._net, options.seed, self._device, dtype)
            input = batch_for(self._net, module, options.batch_size, options.seed, self._device, dtype)
            points = layer_points(module, input, clock, roofs, options.passes)
        progress.clear()
        self._found["roofline"] = {"roofs": asdict(roofs), "layers": [point.as_dict() for point in points]}
        what = f"{self._net.name}, batch {options.batch_size}, {self._device}"
        return [show.roofline_table(roofs, points, what)]

    def counters(self) -> list[Table]:
        options = self._options
        request = {
            "net": options.net,
            "input_size": options.input_size,
            "seed": options.seed,
            "threads": options.threads,
            "batch": options.batch_size,
            "passes": options.passes,
            "path": self._slope.path,
        }
        progress = Progress(len(REPEATS))
        measured = []
        try:
            for repeats in REPEATS:
                progress.start(f"{self._net.name} with {repeats} of {self._slope.path}")
                measured.append(counters.count_passes({**request, "repeats": repeats}, self._events))
        finally:
            progress.clear()
            self._found["counters"] = [asdict(count) for count in measured]
        module, input, _ = self._counted_on
        slope = measure_slope(module, input, self._slope.path, training=False)
        return [show.counters_table(measured, slope, self._net.name, options.batch_size)]
