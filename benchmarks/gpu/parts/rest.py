"""The part ``rest``: what ``first`` and ``tune`` leave out or have too little time for."""

from dataclasses import replace

from benchmarks.gpu.parts import first, packages, tests, tune
from benchmarks.gpu.step import Setting, Step, check

# Of the packages' suites: what normalizes, and the share in which cutorch's slowest tests are.
_SUITES = ("cunn", "cudnn", "cutorch's own tests, share 2 ", "cutorch's own tests, share 6 ")
_CORRECTNESS_SECONDS = 60.0


def steps(setting: Setting) -> list[Step]:
    """Returns what tests side by side, then what is timed."""
    suites = [step for step in packages.suites(setting) if step.name.startswith(_SUITES)]
    beside = [tests.on_the_device(), *tests.marked(), *suites]
    return [
        check("machine", setting, seconds=20.0),
        *(replace(step, seconds=_CORRECTNESS_SECONDS, alone=False) for step in beside),
        check("lines", setting, seconds=55.0),
        check("tune", setting, tune.ONE_SAMPLE, seconds=50.0),
        check("tune", setting, tune.FORMATS, seconds=110.0),
        packages.programs(setting),
        check("tune", setting, "resnet50_v1", seconds=40.0),
        check("tune", setting, "googlenet", seconds=40.0),
        *first.originals(setting),
        *packages.scripts(),
        check("out_of_memory", setting, seconds=45.0),
    ]
