"""How several processes compare with one: throughput together over throughput alone."""

from collections.abc import Callable

from convnet_benchmarks.legacy.run import LegacyRun
from convnet_benchmarks.timing.loops import run_loop


def measure_scaling(run: LegacyRun, training_pass: Callable[[], object]) -> None:
    """Measures the first process alone, then all together, and keeps the result in ``run.scaling``.

    ``training_pass`` computes gradients and does not exchange them. ``--parallel train``: such passes, the
    gradients averaged over the processes after each when together. ``--parallel instances``: inference,
    every process for itself. With one process there is nothing to measure.
    """
    if run.processes.world_size == 1:
        return
    train = run.options.parallel == "train"
    passes = run.options.iter  # a number: -iter auto is refused under torchrun
    work = training_pass if train else _inference(run)

    def work_together() -> None:
        work()
        run.average_gradients()

    alone = _of_first_process(run, work, passes)
    run.processes.barrier()
    together = run.processes.largest(run_loop(work_together, passes, run.clock).seconds / passes)
    batch, size = run.ran.batch_size, run.processes.world_size
    throughput_alone, throughput = batch / alone, batch * size / together
    efficiency = throughput / (size * throughput_alone)
    unit = run.ran.unit
    what = "data-parallel training" if train else "inference of independent instances"
    run.scaling = {
        "what": what,
        "samples_per_second_alone": throughput_alone,
        "samples_per_second_together": throughput,
        "efficiency": efficiency,
        "text": f"{what}, {size} processes ({run.processes.backend}): {throughput:.4g} {unit}/s together, "
        f"{throughput_alone:.4g} alone; scaling efficiency {efficiency:.0%}",
    }


def _inference(run: LegacyRun) -> Callable[[], object]:
    import torch

    if run.opened.engine is not None:  # its forward keeps nothing that inference could do without
        return lambda: run.phases.updateOutput(run.workload.input)
    run.phases.close()  # they record a graph, which inference does without
    module, input = run.workload.module.eval(), run.workload.input

    def forward() -> None:
        with torch.inference_mode():
            module(input)

    return forward


def _of_first_process(run: LegacyRun, work: Callable[[], object], passes: int) -> float:
    """Returns seconds per pass of the first process while the others wait; every process gets that figure."""
    seconds = 0.0
    if run.processes.prints:
        work()
        seconds = run_loop(work, passes, run.clock).seconds / passes
    return run.processes.largest(seconds)
