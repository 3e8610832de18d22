"""Part 1: the tests that need a GPU, and those that otherwise run on the fake one."""

from dataclasses import replace

from benchmarks.gpu.step import Setting, Step, check, script

_CUDA = "tests/lua_compat/runtime/cuda"
# Files and folders with tests that are marked gpu.
_MARKED = (
    "lua_compat/runtime/cuda/test_gpu.py",
    "convnet_benchmarks/legacy/test_scripts.py",
    "convnet_benchmarks/points",
    "convnet_benchmarks/commands/test_backends.py",
    "convnet_benchmarks/commands/test_sweep.py",
)
# The check out_of_memory does the same, alone.
_TAKES_ALL_MEMORY = "test_the_largest_batch_to_try_runs"
# Other versions of PyTorch and of pytest's plugins may warn of things that fail no test here.
_PYTEST = ("-q", "-rfE", "-n", "0", "-W", "default", "--durations", "5")


def steps(setting: Setting) -> list[Step]:
    """Returns the machine, cutorch's tests on the device, every test marked gpu, and agreement."""
    return [check("machine", setting), on_the_device(), *marked(), *agreement(setting)]


def marked() -> list[Step]:
    """Returns the tests marked gpu, file by file."""
    found = []
    for path in _MARKED:
        words = (*_PYTEST, "-m", "gpu", "-k", f"not {_TAKES_ALL_MEMORY}", f"tests/{path}")
        found.append(script("pytest", *words, title=f"tests marked gpu: {path}"))
    return found


def on_the_device() -> Step:
    """Returns th's own tests of CUDA."""
    title = "cutorch, cunn, cudnn and ccn2 on the device"
    return replace(script("pytest", *_PYTEST, _CUDA, seconds=240.0, title=title), alone=False)


def agreement(setting: Setting) -> list[Step]:
    """Returns the comparison of nets with the CPU, in both precisions."""
    return [
        replace(
            check("agreement", setting, number, seconds=150.0, alone=False),
            variables={"OMP_NUM_THREADS": "3"},
        )
        for number in ("float64", "float32")
    ]
