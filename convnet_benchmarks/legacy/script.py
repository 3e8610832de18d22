"""A legacy script from its command line to its files: what benchmark.py and benchmark_criterion.py share."""

import gc
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from convnet_benchmarks import output
from convnet_benchmarks.errors import UserError, run_command
from convnet_benchmarks.legacy.figures import as_csv, statistics_table
from convnet_benchmarks.legacy.fit import LacksGpuMemoryError, largest_batch_to_try, too_large
from convnet_benchmarks.legacy.list_nets import nets_table
from convnet_benchmarks.legacy.new_processes import run_in_new_processes
from convnet_benchmarks.legacy.options import LegacyOptions, parse
from convnet_benchmarks.legacy.request import Request, resolve
from convnet_benchmarks.legacy.run import LegacyRun
from convnet_benchmarks.legacy.torchrun import join, started_by_torchrun
from convnet_benchmarks.legacy.workload import Workload, prepare
from convnet_benchmarks.nets.net import size_of
from convnet_benchmarks.progress import Progress
from convnet_benchmarks.workload.author_errors import author_error
from convnet_benchmarks.workload.backends import UnsupportedError
from convnet_benchmarks.workload.kernels import environment_of, open_training
from convnet_benchmarks.workload.memory import is_out_of_memory
from convnet_benchmarks.workload.ran import ran_on

if TYPE_CHECKING:
    from torch import nn

Outputs = Mapping[str, output.OutputFile]


@dataclass(frozen=True)
class Script:
    """A legacy script: its options, and the function that prints and measures."""

    file: str  # the script's name
    kind: str  # what the result file calls it
    description: str
    options_class: type[LegacyOptions]
    measure: Callable[[LegacyRun], None]
    loops: int  # how many steps it has (net, kernels, warm-up, timed loops), for the progress display
    check: Callable[[Request], None] | None = None  # raises UserError before anything is built

    def command(self, arguments: Sequence[str]) -> int:
        """Runs the script itself; returns an exit code, fails with one line on stderr."""
        return run_command(self.file, lambda: self.main(arguments, self.file))

    def main(self, arguments: Sequence[str], program: str) -> int:
        """Runs the script from its command line; returns an exit code, raises UserError."""
        options = parse(self.options_class, arguments, program, self.description)
        if options.list_nets:
            nets_table().show()
            return 0
        request = resolve(options)
        _check_together(options)
        if self.check is not None:
            self.check(request)
        given = {
            option: path
            for option, path in (("json", options.json), ("csv", options.csv))
            if path is not None
        }
        output.check_distinct([(f"--{option}", path) for option, path in given.items()])
        with ExitStack() as files:
            outputs = {
                option: files.enter_context(output.OutputFile(f"--{option}", path))
                for option, path in given.items()
            }
            if options.processes > 1:
                once = f"{self.measure.__module__}:once"
                run_in_new_processes(once, options, partial(_report, outputs))
            else:
                _run(self, request, partial(_report_run, outputs))
        return 0

    def once(self, values: dict[str, Any]) -> dict[str, Any]:
        """Makes the run of one of several processes; returns an Answer as JSON values.

        ``values``: of the options. The module of ``measure`` has this function under its name.
        """
        options = self.options_class(**{**values, "input_size": size_of(values["input_size"])})
        answers = []

        def keep(run: LegacyRun, status: str) -> None:
            result = run.result(status)
            document = result.as_dict(environment_of(run.workload.device, run.workload.request.backend))
            answers.append({"printed": run.printed, "document": document, "said": result.summary_lines()})

        _run(self, resolve(options), keep)
        return answers[0]


def _check_together(options: Any) -> None:
    if options.device and not options.cuda:
        raise UserError(f"option --device {options.device}: a GPU's number needs -cuda true")
    if options.iter is None and started_by_torchrun():
        raise UserError("option -iter: auto is for one process; under torchrun give a number of passes")
    if options.iter is None and options.legacy_timing:
        raise UserError("option -iter: auto and --legacy-timing exclude each other; give a number of passes")
    if options.processes > 1 and started_by_torchrun():
        raise UserError("option --processes: torchrun starts the processes; use only one of the two")
    if options.processes > 1 and getattr(options, "pass_times", False):
        raise UserError(
            "option --processes: --pass-times prints each pass as it ends; use only one of the two"
        )
    if options.cold_cache and options.legacy_timing:
        raise UserError(
            "option --cold-cache: --legacy-timing times many passes at once; use only one of the two"
        )
    if options.iter is None and getattr(options, "pass_times", False):
        raise UserError("option -iter: auto and --pass-times exclude each other; give a number of passes")


def _run(script: Script, request: Request, report: Callable[[LegacyRun, str], None]) -> None:
    """Makes a run. ``report`` gets it with its status, even if it did not finish."""
    options = request.options
    processes = join(options.cuda)
    workload: Workload | None = None
    run: LegacyRun | None = None
    module: nn.Module | None = None  # what has been made of a net that does not fit
    status, problem = "failed", ""
    try:
        progress = Progress(script.loops, shown=processes.prints)
        try:
            # What is refused gets one line on stderr: there is none before it in a file.
            progress.start(f"making {options.net}", preparing=True, on_terminals_only=True)
            with _uncollected():
                workload = prepare(request, processes.local_rank)
            with open_training(
                request.backend,
                workload.module,
                workload.input,
                workload.device,
                autograd_instead=options.backend is None,
                tuning=options.tuning,
                tuning_seconds=options.tuning_seconds,
                told=partial(progress.detail, "timing kernels, once per machine and shape: layer"),
            ) as opened:
                ran = ran_on(
                    request.net,
                    workload.input,
                    request.backend.name,
                    options.dtype,
                    workload.device,
                    cold_cache=options.cold_cache,
                )
                run = LegacyRun(script.kind, workload, opened, ran, processes, progress)
                run.tell_notes()
                script.measure(run)
                run.time_engine()
                status = "complete"
        except KeyboardInterrupt:
            status = "interrupted"
            raise
        except UserError:
            raise
        except UnsupportedError as error:
            raise UserError(f"option --backend {request.backend.name}: {error}") from None
        except LacksGpuMemoryError as error:
            problem, module = str(error), error.module
        except Exception as error:
            if not is_out_of_memory(error):
                told = author_error(request.net, error) if workload else None
                if told is None:
                    raise
                raise told from None
            status = problem = "out of memory"
            if workload is not None:
                module = workload.module
                del workload.input
        finally:
            progress.clear()
        if problem:
            # Outside the except block: the exception's frames would keep the memory that is being counted.
            raise too_large(request, problem, largest_batch_to_try(request, module))
    finally:
        if run is not None and processes.prints:
            report(run, status)
        if status == "complete":
            processes.end_together()  # after a failure the others may never come here
        processes.close()
        # Python would look through everything once more as it ends. Where Triton is loaded it must: Triton's
        # bindings list on stderr what was not freed.
        (gc.unfreeze if "triton" in sys.modules else gc.freeze)()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Keeps the garbage collector off while this is open, and afterwards from what was made meanwhile: it
    would look through PyTorch's modules several times while they load.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was:
            gc.enable()


def _report_run(outputs: Outputs, run: LegacyRun, status: str) -> None:
    result = run.result(status)
    found = environment_of(run.workload.device, run.workload.request.backend) if "json" in outputs else {}
    _report(outputs, result.as_dict(found), result.summary_lines())


def _report(outputs: Outputs, document: Mapping[str, Any], said: Sequence[str]) -> None:
    """Shows what ran and the statistics on stderr, and writes the files."""
    for line in said:
        print(line, file=sys.stderr, flush=True)
    if document["phases"]:
        statistics_table(document).show(sys.stderr)
    if "json" in outputs:
        outputs["json"].write(output.as_json(dict(document)))
    if "csv" in outputs:
        outputs["csv"].write(as_csv(document))
