"""benchmark.py: the three phases of a net, line for line as benchmark.lua printed them."""

from collections.abc import Callable

from convnet_benchmarks.legacy.options import BenchmarkOptions
from convnet_benchmarks.legacy.run import LegacyRun
from convnet_benchmarks.legacy.scaling import measure_scaling
from convnet_benchmarks.legacy.script import Script

SUMMARY = "time a net's three phases, as benchmark.lua did"


def measure(run: LegacyRun) -> None:
    """Prints and measures in the original's order; see docs/method.md for each line."""
    phases, input = run.phases, run.workload.input
    run.text(run.workload.model_text)
    phases.zeroGradParameters()
    output = input  # replaced by the first pass

    def update_output() -> None:
        nonlocal output
        output = phases.updateOutput(input)

    def update_grad_input() -> None:
        phases.updateGradInput(input, output)

    def acc_grad_parameters() -> None:
        phases.accGradParameters(input, output)
        run.average_gradients()

    def one_process_pass() -> None:
        update_output()
        update_grad_input()
        phases.accGradParameters(input, output)

    def whole_pass() -> None:
        one_process_pass()
        run.average_gradients()

    run.line(":dry-run():", run.dry_run(whole_pass))
    run.text()
    run.settle(whole_pass)

    def free(label: str, work: Callable[[], None]) -> None:
        run.line(label, run.loop(label, work, free=True))

    free("free :updateOutput():", update_output)
    forward = run.loop(":updateOutput():", update_output)
    run.line(":updateOutput():", forward)
    free("free :updateGradInput():", update_grad_input)
    free("free :accGradParameters():", acc_grad_parameters)
    grad_input = run.loop(
        ":updateGradInput():", update_grad_input, clock_before_synchronise=run.options.legacy_timing
    )
    run.line(":updateGradInput():", grad_input)
    grad_parameters = run.loop(":accGradParameters():", acc_grad_parameters)
    run.line(":accGradParameters():", grad_parameters)
    run.line(":Forward:", forward)
    run.line(":Backward:", grad_input + grad_parameters)
    run.line(":TOTAL:", forward + grad_input + grad_parameters)
    run.text()
    measure_scaling(run, one_process_pass)


SCRIPT = Script(
    file="benchmark.py",
    kind="benchmark",
    description="Times updateOutput, updateGradInput and accGradParameters of a net, as benchmark.lua did. "
    "Lines on stdout are milliseconds per sample.",
    options_class=BenchmarkOptions,
    measure=measure,
    loops=8,
)
main, command, once = SCRIPT.main, SCRIPT.command, SCRIPT.once
