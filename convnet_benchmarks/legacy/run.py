"""A run of a legacy script under way: prints its lines, measures its loops, and gives its result."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.legacy.result import Result
from convnet_benchmarks.legacy.torchrun import Processes
from convnet_benchmarks.legacy.workload import Workload
from convnet_benchmarks.nets.registry import parameter_count
from convnet_benchmarks.progress import Progress
from convnet_benchmarks.timing.conditions import watched
from convnet_benchmarks.timing.loops import Clock, Loop, run_loop, run_until_settled, warm_up, watched_loop
from convnet_benchmarks.workload.kernels import Opened, recorded_kernels
from convnet_benchmarks.workload.ran import Ran

if TYPE_CHECKING:
    from convnet_benchmarks.nets.engine import Report
    from convnet_benchmarks.nets.phases import Phases


@dataclass
class LegacyRun:
    """A run under way. ``lines`` are the legacy figures in ms per sample, ``loops`` what they came from.

    ``printed``: what stdout got, a label with its figure, or a text with None.
    """

    kind: str
    workload: Workload
    opened: Opened
    ran: Ran
    processes: Processes
    progress: Progress
    lines: dict[str, float] = field(default_factory=dict)
    loops: dict[str, Loop] = field(default_factory=dict)
    kernels: dict[str, int] = field(default_factory=dict)
    first_pass: dict[str, float] = field(default_factory=dict)
    scaling: dict[str, Any] | None = None
    printed: list[tuple[str, float | None]] = field(default_factory=list)
    engine: "Report | None" = None  # with the layers' parts of the machine's roof
    _notes_told: int = 0

    @property
    def options(self) -> Any:
        """Returns the options, of the script's own class."""
        return self.workload.request.options

    @property
    def clock(self) -> Clock:
        return self.workload.clock

    @property
    def phases(self) -> "Phases":
        assert self.opened.phases is not None, "opened for training"
        return self.opened.phases

    @property
    def notes(self) -> list[str]:
        """Returns what a user may not expect: of the options, and of the kernels that run."""
        return [*self.workload.request.notes, *filter(None, [self.workload.note]), *self.opened.notes]

    @property
    def samples_per_pass(self) -> int:
        return self.ran.batch_size * self.processes.world_size

    def average_gradients(self) -> None:
        """Does what follows accGradParameters in data-parallel training; nothing otherwise."""
        if self.options.parallel == "train":
            self.processes.average_gradients(self.workload.module)

    def text(self, line: str = "") -> None:
        """Prints a line on stdout, in the first process only."""
        self._print(line, line)

    def _print(self, shown: str, text: str, number: float | None = None) -> None:
        self.printed.append((text, number))
        if self.processes.prints:
            self.progress.clear()
            print(shown, flush=True)

    def line(self, label: str, ms_per_sample: float) -> None:
        """Prints and keeps a legacy line: label, tab, the number as Lua prints it."""
        self.lines[label] = ms_per_sample
        self._print(f"{label}\t{lua_number(ms_per_sample)}", label, ms_per_sample)

    def note(self, text: str) -> None:
        """Prints a line on stderr, in the first process only."""
        if self.processes.prints:
            self.progress.clear()
            print(text, file=sys.stderr, flush=True)

    def tell_notes(self) -> None:
        """Prints the notes that stderr has not had yet."""
        for note in self.notes[self._notes_told :]:
            self.note(f"note: {note}")
        self._notes_told = len(self.notes)

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
        self.progress.start(label)
        with watched(self.workload.device, self.clock) as conditions:
            self.processes.barrier()
            passes = passes or self.options.iter
            if passes is None:
                loop = run_until_settled(work, self.clock, free=free, watch=conditions)
            else:
                loop = watched_loop(
                    work,
                    passes,
                    self.clock,
                    conditions,
                    free=free,
                    clock_before_synchronise=clock_before_synchronise,
                )
            return self._kept(label, replace(loop, conditions=conditions.as_dict()))

    def one_pass(self, label: str, work: Callable[[], object]) -> float:
        """Times one pass of a loop that is itself timed, and so does nothing else; returns ms per sample."""
        self.progress.start(label)
        self.processes.barrier()
        return self._kept(label, run_loop(work, 1, self.clock))

    def _kept(self, label: str, loop: Loop) -> float:
        self.loops[label] = loop
        return self.processes.largest(loop.seconds) * 1e3 / loop.passes / self.samples_per_pass

    def dry_run(self, work: Callable[[], object]) -> float:
        """Times the first pass, once; returns ms per sample."""
        start = time.perf_counter()
        work()
        self.clock.synchronise()
        seconds = self.processes.largest(time.perf_counter() - start)
        self.first_pass = {"seconds": seconds, "choosing_seconds": self.opened.choosing_seconds}
        self.tell_notes()
        return seconds * 1e3 / self.samples_per_pass

    def settle(self, work: Callable[[], object]) -> None:
        """Warms up before the timed loops, not with --legacy-timing; notes autograd's choice of kernels."""
        if self.options.legacy_timing:
            return
        self.progress.start("warm-up", preparing=True)
        with recorded_kernels(self.workload.module) as kernels:
            first = run_loop(work, 1, self.clock)
        self.first_pass["longer_than_the_next"] = self.first_pass["seconds"] - first.seconds
        self.kernels = dict(kernels)
        if self.processes.world_size > 1:  # every process must do the same number of passes
            work()
        else:
            warm_up(work, self.clock, before=[first.ms_per_pass])

    def time_engine(self) -> None:
        """Times the engine's layers, after all figures, where --backend asks for its report."""
        if self.options.backend is not None and self.opened.timed_engine is not None:
            self.progress.clear()
            self.engine = self.opened.timed_engine()

    def result(self, status: str) -> Result:
        """Returns what has been measured so far."""
        workload, request = self.workload, self.workload.request
        return Result(
            kind=self.kind,
            status=status,
            net=request.net,
            ran=self.ran,
            model=workload.model_text,
            parameters=parameter_count(workload.module),
            options=request.options,
            backend=request.backend,
            engine=self.engine or self.opened.engine,
            convolutions=self.kernels,
            first_pass=self.first_pass,
            processes=self.processes,
            scaling=self.scaling,
            notes=tuple(self.notes),
            lines=self.lines,
            loops=self.loops,
        )


def lua_number(value: float) -> str:
    """Returns a number as Lua's print shows it (LUAI_NUMFFORMAT, "%.14g")."""
    return f"{value:.14g}"
