"""Part 1: the tests that need a GPU, and those that otherwise run on the fake one."""

from dataclasses import replace

from benchmarks.gpu.step import Setting, Step, check, script

_CUDA = "tests/lua_compat/runtime/cuda"
# Other versions of PyTorch and of pytest's plugins may warn of things that fail no test here.
_PYTEST = ("-q", "-rfE", "-n", "0", "-W", "default", "--durations", "5")


def steps(setting: Setting) -> list[Step]:
    """Returns the machine, cutorch's tests on the device, then every test marked gpu, file by file."""
    marked = ("legacy/test_scripts.py", "points", "commands/test_backends.py", "commands/test_sweep.py")
    return [
        check("machine", setting),
        script("pytest", *_PYTEST, "-m", "gpu", f"{_CUDA}/test_gpu.py", title="tests marked gpu: th"),
        on_the_device(),
        *(
            script(
                "pytest",
                *_PYTEST,
                "-m",
                "gpu",
                f"tests/convnet_benchmarks/{path}",
                title=f"tests marked gpu: {path}",
            )
            for path in marked
        ),
        *agreement(setting),
    ]


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
