"""The part ``first``: of all parts what says most, in six minutes."""

from dataclasses import replace

from benchmarks.gpu.parts import lines, packages, tests
from benchmarks.gpu.step import Setting, Step, check

# Of the original scripts under th: both scripts, on cuDNN, with batches.
_ORIGINALS = (
    "th benchmark.lua -cuda true -4d_tensor true -batch_size 64 -cudnn true",
    "th benchmark_criterion.lua -cuda true -4d_tensor true -batch_size 60 -cudnn true -sync true -iter 1",
    "th imagenet_winners/benchmark.lua",
)


def steps(setting: Setting) -> list[Step]:
    """Returns correctness first, side by side, then what is timed."""
    correctness = [*packages.suites(setting), tests.on_the_device(), *tests.agreement(setting)]
    return [
        check("machine", setting, seconds=20.0),
        *(replace(step, seconds=80.0) for step in correctness),
        check("lines", setting, seconds=75.0),
        check("autotuning", setting, seconds=45.0),
        packages.programs(setting),
        check("plain_loop", setting, seconds=50.0),
        *originals(setting),
        check("peaks", setting, seconds=45.0),
        check("out_of_memory", setting, seconds=60.0),
    ]


def originals(setting: Setting) -> list[Step]:
    """Returns th on the original scripts, as many as a short part has time for."""
    found = lines.original_scripts(setting)
    return [replace(step, seconds=35.0) for step in found if step.name in _ORIGINALS]
