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
    originals = [step for step in lines.original_scripts(setting) if step.name in _ORIGINALS]
    return [
        check("machine", setting, seconds=20.0),
        *(replace(step, seconds=80.0) for step in correctness),
        check("lines", setting, seconds=75.0),
        check("autotuning", setting, seconds=45.0),
        packages.programs(setting),
        check("plain_loop", setting, seconds=50.0),
        *(replace(step, seconds=25.0) for step in originals),
        check("peaks", setting, seconds=45.0),
        check("out_of_memory", setting, seconds=60.0),
    ]
