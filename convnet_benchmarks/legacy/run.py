"""What a run of either legacy script has in common: lines, measured loops, result files, how it ends."""

import dataclasses
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from convnet_benchmarks import output
from convnet_benchmarks.errors import OutOfDeviceMemoryError, UserError
from convnet_benchmarks.legacy.options import LegacyOptions, parse
from convnet_benchmarks.legacy.torchrun import Processes, join, started_by_torchrun
from convnet_benchmarks.progress import Progress
from convnet_benchmarks.timing.loops import (
    Clock,
    CudaClock,
    HostClock,
    Loop,
    run_loop,
    run_until_settled,
    warm_up,
)

if TYPE_CHECKING:
    from convnet_benchmarks.legacy.backends import OpenPhases
    from convnet_benchmarks.legacy.workload import Workload
    from nets.phases import Phases

CSV_HEADER = ("label", "ms_per_sample", "median_ms", "low_ms", "high_ms", "minimum_ms", "passes", "verdict")


@dataclass(frozen=True)
class Script:
    """A legacy script: its options, and the function that prints and measures."""

    kind: str  # what the result file calls it
    description: str
    options_class: type[LegacyOptions]
    measure: Callable[["LegacyRun"], None]
    loops: int  # how many steps it has (timed loops, warm-up, choice of kernels), for the progress display


@dataclass
class LegacyRun:
    """A run under way. ``lines`` are the legacy figures in ms per sample, ``loops`` what they came from."""

    kind: str
    options: Any
    workload: "Workload"
    opened: "OpenPhases"
    clock: Clock
    processes: Processes
    progress: Progress
    lines: dict[str, float] = field(default_factory=dict)
    loops: dict[str, Loop] = field(default_factory=dict)
    kernels: dict[str, int] = field(default_factory=dict)
    scaling: dict[str, Any] | None = None

    @property
    def phases(self) -> "Phases":
        return self.opened.phases

    @property
    def samples_per_pass(self) -> int:
        return self.workload.batch_size * self.processes.world_size

    def average_gradients(self) -> None:
        """In data-parallel training, what follows accGradParameters; nothing otherwise."""
        if self.options.parallel == "train":
            self.processes.average_gradients(self.workload.module)

    def text(self, line: str = "") -> None:
        """One line on stdout, from the first process only."""
        if self.processes.prints:
            self.progress.clear()
            print(line, flush=True)

    def line(self, label: str, ms_per_sample: float) -> None:
        """A legacy line: label, tab, the number as Lua prints it."""
        self.lines[label] = ms_per_sample
        self.text(f"{label}\t{lua_number(ms_per_sample)}")

    def note(self, text: str) -> None:
        """One line on stderr, from the first process only."""
        if self.processes.prints:
            self.progress.clear()
            print(text, file=sys.stderr, flush=True)

    def loop(
        self,
        label: str,
        work: Callable[[], object],
        *,
        free: bool = False,
        clock_before_synchronise: bool = False,
        passes: int | None = None,
    ) -> float:
        """Times ``work`` for ``passes`` passes (by default -iter's); returns ms per sample."""
        passes = passes or self.options.iter
        self.progress.start(label)
        self.processes.barrier()
        if passes is None:
            loop = run_until_settled(work, self.clock, free=free)
        else:
            loop = run_loop(
                work, passes, self.clock, free=free, clock_before_synchronise=clock_before_synchronise
            )
        self.loops[label] = loop
        return self.processes.largest(loop.seconds) * 1e3 / loop.passes / self.samples_per_pass

    def dry_run(self, work: Callable[[], object]) -> float:
        """The first pass, timed once; returns ms per sample."""
        start = time.perf_counter()
        work()
        self.clock.synchronise()
        seconds = self.processes.largest(time.perf_counter() - start)
        return seconds * 1e3 / self.samples_per_pass

    def settle(self, work: Callable[[], object]) -> None:
        """Warms up before the timed loops, not with --legacy-timing; notes autograd's choice of kernels."""
        from convnet_benchmarks.legacy.backends import recorded_kernels

        if self.options.legacy_timing:
            return
        self.progress.start("warm-up")
        with recorded_kernels(self.workload.module) as kernels:
            work()
        self.kernels = dict(kernels)
        if self.processes.world_size > 1:  # every process must do the same number of passes
            work()
        else:
            warm_up(work, self.clock)

    def as_dict(self, status: str) -> dict[str, Any]:
        """The content of the result file."""
        from convnet_benchmarks import environment
        from nets.registry import parameter_count

        workload = self.workload
        return {
            "kind": self.kind,
            "status": status,
            "model": workload.model_text,
            "net": {
                "name": workload.net.name,
                "source": workload.net.source,
                "parameters": parameter_count(workload.module),
                "input_shape": list(workload.input.shape),
            },
            "options": dataclasses.asdict(self.options),
            "backend": {
                "name": workload.backend.name,
                "description": workload.backend.description,
                "engine": self.opened.engine.as_dict() if self.opened.engine else None,
                "convolutions": self.kernels,
            },
            "processes": dataclasses.asdict(self.processes),
            "scaling": self.scaling,
            "notes": [*workload.notes, *([self.opened.note] if self.opened.note else [])],
            "lines": self.lines,
            "phases": {
                label: {
                    "passes": loop.passes,
                    "seconds": loop.seconds,
                    "samples_ms": list(loop.samples_ms),
                    "summary": loop.summary().as_dict(),
                }
                for label, loop in self.loops.items()
            },
            "environment": environment.collect(workload.device),
        }

    def as_csv(self) -> str:
        rows: list[tuple[object, ...]] = []
        for label, ms in self.lines.items():
            if label in self.loops:
                loop, s = self.loops[label], self.loops[label].summary()
                rows.append((label, ms, s.median, s.low, s.high, s.minimum, loop.passes, s.verdict))
            else:
                rows.append((label, ms, "", "", "", "", "", ""))
        return output.as_csv(CSV_HEADER, rows)

    def statistics_text(self) -> str:
        """The statistics of every loop, in ms per sample, with what to do about the noisy ones."""
        batch = self.workload.batch_size
        rows = [("ms per sample", "median", "95 % interval", "minimum", "passes", "verdict")]
        advice: dict[str, None] = {}
        for label, loop in self.loops.items():
            s = loop.summary()
            rows.append(
                (
                    label,
                    f"{s.median / batch:.4g}",
                    f"{s.low / batch:.4g} .. {s.high / batch:.4g}",
                    f"{s.minimum / batch:.4g}",
                    str(s.samples),
                    s.verdict,
                )
            )
            if s.advice:
                advice[f"{s.verdict}: {s.advice}"] = None
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        table = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        return "\n".join([*table, *advice])


def lua_number(value: float) -> str:
    """A number as Lua's print shows it (LUAI_NUMFFORMAT, "%.14g")."""
    return f"{value:.14g}"


def run_script(script: Script, arguments: Sequence[str], program: str) -> int:
    """Runs a legacy script from its command line; returns the exit code. See ``errors.run_command``."""
    options = parse(script.options_class, arguments, program, script.description)
    if options.list_nets:
        from convnet_benchmarks.legacy.list_nets import nets_table

        print(nets_table())
        return 0
    _check_together(options)
    given = {
        option: path for option, path in (("json", options.json), ("csv", options.csv)) if path is not None
    }
    output.check_distinct([(f"--{option}", path) for option, path in given.items()])
    with ExitStack() as files:
        outputs = {
            option: files.enter_context(output.OutputFile(f"--{option}", path))
            for option, path in given.items()
        }
        _run(script, options, outputs)
    return 0


def _check_together(options: Any) -> None:
    from convnet_benchmarks.legacy import backends
    from convnet_benchmarks.legacy.workload import find_net, input_shape

    input_shape(options, find_net(options))
    backends.choose(options)
    if options.iter is None and started_by_torchrun():
        raise UserError("option -iter: auto is for one process; under torchrun give a number of passes")
    if options.iter is None and options.legacy_timing:
        raise UserError("option -iter: auto and --legacy-timing exclude each other; give a number of passes")
    if options.iter is None and getattr(options, "pass_times", False):
        raise UserError("option -iter: auto and --pass-times exclude each other; give a number of passes")


def _run(script: Script, options: Any, outputs: dict[str, output.OutputFile]) -> None:
    from convnet_benchmarks.legacy import backends
    from convnet_benchmarks.legacy.workload import prepare
    from convnet_benchmarks.workload.author_errors import author_error
    from convnet_benchmarks.workload.memory import is_out_of_memory, largest_batch_to_try

    processes = join(options.cuda)
    workload: Workload | None = None
    run: LegacyRun | None = None
    status = "failed"
    try:
        try:
            workload = prepare(options)
            clock = CudaClock(workload.device, options.sync) if options.cuda else HostClock()
            shape, dtype = tuple(workload.input.shape), workload.input.dtype
            progress = Progress(script.loops, shown=processes.prints)
            progress.start("choosing kernels")  # the engine times them, once per machine and shape
            with backends.open_phases(
                workload.backend, workload.module, shape, dtype, options.tf32
            ) as opened:
                run = LegacyRun(script.kind, options, workload, opened, clock, processes, progress)
                for note in filter(None, (*workload.notes, opened.note)):
                    run.note(f"note: {note}")
                script.measure(run)
                status = "complete"
        except KeyboardInterrupt:
            status = "interrupted"
            raise
        except Exception as error:
            if not is_out_of_memory(error):
                told = author_error(workload.net, error) if workload else None
                if told is None:
                    raise
                raise told from None
            status = "out of memory"
        if status == "out of memory":
            # Outside the except block: the exception's frames would keep the memory that is being counted.
            largest = largest_batch_to_try(run.workload) if run else options.batch_size // 2
            raise OutOfDeviceMemoryError(
                f"option -batch_size {options.batch_size}: out of memory; "
                f"the largest batch to try is {largest}"
            )
    finally:
        if run is not None and processes.prints:
            _report(run, status, outputs)
        if status == "complete":
            processes.end_together()  # after a failure the others may never come here
        processes.close()


def _what_ran(run: LegacyRun) -> str:
    """The kernels by how many convolutions they ran: autograd's selection, or the engine's per phase."""
    if run.opened.engine is None:
        counts = Counter(run.kernels)
        return f" (selected: {_counted(counts)})" if counts else ""
    by_phase: dict[str, Counter[str]] = {}
    for layer in run.opened.engine.layers:
        if layer.kind.startswith("Conv"):
            for phase, algorithm in layer.algorithms.items():
                family = algorithm.partition("(")[0]  # --json has the variants, too
                by_phase.setdefault(phase, Counter())[family] += 1
    return "".join(f"; {phase}: {_counted(counts)}" for phase, counts in by_phase.items())


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{name} x{count}" for name, count in counts.most_common())


def _report(run: LegacyRun, status: str, outputs: dict[str, output.OutputFile]) -> None:
    import torch

    backend = run.workload.backend
    run.note(
        f"{run.workload.net.name}, seed {run.options.seed}, {run.options.dtype} on {run.workload.device}, "
        f"torch {torch.__version__}, {torch.get_num_threads()} threads"
    )
    run.note(f"backend {backend.name}: {backend.description}{_what_ran(run)}")
    engine = run.opened.engine
    if engine is not None and backend.forced:
        run.note("\n".join(engine.lines()))
    elif engine is not None and engine.compiled.startswith("no "):
        run.note(f"{engine.compiled}; with it the engine is faster (docs/engine.md)")
    if run.scaling is not None:
        run.note(run.scaling["text"])
    if run.loops:
        run.note(run.statistics_text())
    if "json" in outputs:
        outputs["json"].write(output.as_json(run.as_dict(status)))
    if "csv" in outputs:
        outputs["csv"].write(run.as_csv())
