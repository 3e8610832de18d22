"""Part 4: the suites of cutorch, cunn and cudnn from their own files, memory, several processes, programs."""

from dataclasses import replace
from pathlib import Path

from benchmarks.gpu.step import PYTHON, Setting, Step, check
from benchmarks.gpu.training.programs import PROGRAMS

_LUA = Path(__file__).resolve().parents[1] / "checks"
# The file with a package's tests, in its checkout; checks/suite.lua knows how to start them.
SUITES = {"cutorch": "test/test.lua", "cunn": "test.lua", "cudnn": "test/test.lua"}
# Each suite's tests are shared out among so many processes, which run side by side. (cudnn's write a file.)
_SHARES = {"cutorch": 8, "cunn": 3, "cudnn": 1}


def steps(setting: Setting) -> list[Step]:
    """Returns what needs no checkout first."""
    return [
        check("machine", setting),
        *scripts(),
        check("out_of_memory", setting),
        check("nccl", setting, seconds=60.0),
        *suites(setting),
        programs(setting),
    ]


def scripts() -> list[Step]:
    """Returns th on scripts of our own."""
    return [
        Step(title, (PYTHON, "-m", "lua_compat", str(_LUA / file)), 60.0)
        for title, file in (
            ("DataParallelTable on one card", "data_parallel.lua"),
            ("memory of th on the device, and running out of it", "memory.lua"),
        )
    ]


def suites(setting: Setting) -> list[Step]:
    """Returns the suites of the packages, share by share."""
    # In a rehearsal they need more memory than the others: they fill tensors of a gigabyte.
    memory = setting.sized({}, {"FAKE_GPU_MIB": "16384"})
    return [
        replace(_suite(package, setting.checkouts / package / file, share), variables=memory)
        for package, file in SUITES.items()
        for share in range(1, _SHARES[package] + 1)
    ]


def _suite(package: str, file: Path, share: int) -> Step:
    shares = _SHARES[package]
    words = (
        "benchmarks.gpu.in_folder",
        str(file.parent),
        "lua_compat",
        str(_LUA / "suite.lua"),
        package,
        str(file),
        str(share),
        str(shares),
    )
    title = f"{package}'s own tests, share {share} of {shares}"
    return Step(title, (PYTHON, "-m", *words), 150.0, (file,), alone=False)


def programs(setting: Setting) -> Step:
    """Returns the step that trains with old programs; those whose checkouts are missing are left out."""
    step = check("programs", setting, seconds=145.0)
    needs = (setting.checkouts / PROGRAMS[0].folder,)
    variables = setting.sized({}, {"FAKE_GPU_MIB": "2048"})
    return replace(
        step, command=(*step.command, "--checkouts", str(setting.checkouts)), needs=needs, variables=variables
    )
