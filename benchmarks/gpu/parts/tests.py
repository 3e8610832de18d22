"""Part 1: the tests that need a GPU, and those that otherwise run on the fake one."""

from benchmarks.gpu.step import Setting, Step, check, script

# Other versions of PyTorch and of pytest's plugins may warn of things that fail no test here.
_PYTEST = ("-q", "-rfE", "-n", "0", "-W", "default", "--durations", "5")


def steps(setting: Setting) -> list[Step]:
    """Returns the machine, cutorch's tests on the device, then every test marked gpu, file by file."""
    cuda = "tests/lua_compat/runtime/cuda"
    marked = ("legacy/test_scripts.py", "points", "commands/test_backends.py", "commands/test_sweep.py")
    return [
        check("machine", setting),
        script("pytest", *_PYTEST, "-m", "gpu", f"{cuda}/test_gpu.py", title="tests marked gpu: th"),
        script("pytest", *_PYTEST, cuda, seconds=240.0, title="cutorch, cunn, cudnn and ccn2 on the device"),
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
        check("agreement", setting, seconds=150.0),
    ]
