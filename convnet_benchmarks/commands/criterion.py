"""benchmark_criterion.py: net and criterion, forward and backward, as the Lua script printed them."""

import time
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.legacy.options import CriterionOptions
from convnet_benchmarks.legacy.request import Request
from convnet_benchmarks.legacy.run import LegacyRun, lua_number
from convnet_benchmarks.legacy.scaling import measure_scaling
from convnet_benchmarks.legacy.script import Script
from convnet_benchmarks.nets import registry
from convnet_benchmarks.workload.nets import by

if TYPE_CHECKING:
    from torch import Tensor

SUMMARY = "time a net and its criterion, as the Lua script did"


def check(request: Request) -> None:
    """Checks, on shapes alone, that the net gives rows of scores. Raises UserError for one that does not.

    The default net does; a net from outside is tried when it is built.
    """
    if request.options.net == CriterionOptions.net or request.options.net not in registry.NETS:
        return
    import torch

    net, shape = request.net, request.input_shape
    dtype = torch.int64 if net.tokens else torch.float32
    try:
        with torch.no_grad():
            output = registry.on_meta(net).eval()(torch.empty(shape, dtype=dtype, device="meta"))
    except (RuntimeError, ValueError, NotImplementedError):
        return  # a size that does not fit: said later, with the layer's name
    _check_scores(net.name, output)


def _check_scores(net: str, output: Any) -> None:
    import torch

    if isinstance(output, torch.Tensor) and output.dim() in (1, 2):
        return
    gives = "several tensors"
    if isinstance(output, torch.Tensor):
        gives = by(output.shape) or "a single number"
    raise UserError(
        f"option --net: {net} gives {gives}; ClassNLLCriterion takes one row of class scores per sample"
    )


class _Steps:
    """The four steps that are timed, each working on what the last one left."""

    def __init__(self, run: LegacyRun) -> None:
        import torch

        from convnet_benchmarks.nets.criterions import ClassNLLCriterion

        self._run = run
        self._criterion = ClassNLLCriterion()
        self._input = run.workload.input
        self._output: Tensor = self._input
        self._gradient: Tensor = self._input
        self._target: Tensor = torch.zeros((), dtype=torch.long)

    def net_forward(self) -> None:
        self._output = self._run.phases.updateOutput(self._input)

    def prepare_target(self) -> None:
        """Makes the targets: all are Torch7's class 1, index 0; one per row of the output.

        Raises UserError for a net that gives anything else than rows of scores.
        """
        import torch

        _check_scores(self._run.workload.request.net.name, self._output)
        rows = self._output.shape[:-1]
        self._target = torch.zeros(rows, dtype=torch.long, device=self._output.device)

    def criterion_forward(self) -> None:
        self._criterion.updateOutput(self._output, self._target)

    def criterion_backward(self) -> None:
        self._gradient = self._criterion.updateGradInput(self._output, self._target)

    def net_backward(self) -> None:
        phases = self._run.phases
        phases.updateGradInput(self._input, self._gradient)
        phases.accGradParameters(self._input, self._gradient)

    def net_backward_together(self) -> None:
        self.net_backward()
        self._run.average_gradients()

    def one_process_pass(self) -> None:
        self.net_forward()
        self.criterion_forward()
        self.criterion_backward()
        self.net_backward()

    def whole_pass(self) -> None:
        self.one_process_pass()
        self._run.average_gradients()


def measure(run: LegacyRun) -> None:
    """Prints and measures the form that the run's options ask for."""
    run.text(run.workload.model_text)
    run.phases.zeroGradParameters()
    steps = _Steps(run)

    def first_pass() -> None:
        steps.net_forward()
        steps.prepare_target()
        steps.criterion_forward()
        steps.criterion_backward()
        steps.net_backward_together()

    dry_run = run.dry_run(first_pass)
    if run.options.pass_times:
        _pass_times(run, steps, dry_run)
    else:
        _phases(run, steps, dry_run)
    run.text()
    measure_scaling(run, steps.one_process_pass)


def _phases(run: LegacyRun, steps: _Steps, dry_run: float) -> None:
    """Times each step in a loop of its own."""
    run.line(":dry-run():", dry_run)
    run.text()
    run.settle(steps.whole_pass)
    legacy = run.options.legacy_timing
    # The original counted its loops from 0 to -iter, one pass more than it divided by, and waited for the
    # GPU only after the last of them, so that one step's work could be charged to the next.
    passes = run.options.iter + 1 if legacy else None
    total = 0.0
    for label, work in (
        (":Net Forward:", steps.net_forward),
        (":Criterion Forward:", steps.criterion_forward),
        (":Criterion Backward:", steps.criterion_backward),
        (":Net Backward:", steps.net_backward_together),
    ):
        ms = run.loop(label, work, free=legacy, passes=passes)
        if passes is not None:
            ms *= passes / run.options.iter
        total += ms
        run.line(label, ms)
    run.line(":TOTAL:", total)


def _pass_times(run: LegacyRun, steps: _Steps, dry_run: float) -> None:
    """Prints the later version's lines: seconds of each pass and their mean; unbatched, -batch_size
    passes per turn.
    """
    run.text(f"dry_run {lua_number(dry_run * run.samples_per_pass / 1e3)} seconds")
    run.text()
    run.settle(steps.whole_pass)
    turns = run.options.iter
    passes = run.options.batch_size if run.workload.input.dim() == 3 else 1
    run.text(f"opt.iter\t{turns}")
    run.text(f"iter\t{passes}")
    start = time.perf_counter()
    for turn in range(turns):
        for each in range(passes):
            ms = run.one_pass(f"t1 {turn * passes + each + 1}", steps.whole_pass)
            run.text(f"t1 {lua_number(ms * run.samples_per_pass / 1e3)} seconds")
    seconds = run.processes.largest(time.perf_counter() - start)
    run.lines["feed moyen"] = seconds * 1e3 / turns / passes / run.samples_per_pass
    run.text(f"feed moyen {lua_number(seconds / turns)} seconds")


SCRIPT = Script(
    file="benchmark_criterion.py",
    kind="criterion",
    description="Times a net and ClassNLLCriterion, forward and backward, as benchmark_criterion.lua did. "
    "Lines on stdout are milliseconds per sample.",
    options_class=CriterionOptions,
    check=check,
    measure=measure,
    loops=6,
)
main, command, once = SCRIPT.main, SCRIPT.command, SCRIPT.once
