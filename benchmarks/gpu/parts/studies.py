"""Part 3: ops, the roofline, sweep, the largest batch and backends, on the GPU."""

from dataclasses import replace

from benchmarks.gpu.step import RESULT, Setting, Step, check, script

_PROGRAM = "convnet_benchmarks"


def steps(setting: Setting) -> list[Step]:
    """Returns the peaks first: the other figures are told against them. What compiles comes last."""
    nets = setting.sized("alexnet_owt,googlenet,resnet50_v1", "recognize_digits")
    small = setting.sized((), ("--seconds", "1"))
    digits = ("--net", "recognize_digits", "--devices", "cuda")
    return [
        check("machine", setting),
        check("peaks", setting, seconds=60.0),
        _study(
            *("ops", *digits, "--batch-sizes", setting.sized("1,2,8,32,64,128,256", "1,2")),
            *("--runs", setting.sized(3, 1), "--passes", setting.sized(20, 2), "--json", RESULT),
            seconds=50.0,
        ),
        _study(
            *("ops", *digits, "--backend", "cuda-graph", "--batch-sizes", setting.sized("1,32", "1")),
            *("--runs", setting.sized(3, 1), "--passes", setting.sized(20, 2), "--json", RESULT),
            seconds=30.0,
        ),
        *(
            _study(
                *("flops", "--net", setting.sized("alexnet_owt", "recognize_digits"), "--device", "cuda"),
                *("--parts", "roofline", "--batch-size", setting.sized(128, 2), "--dtype", dtype),
                *("--passes", setting.sized(10, 2), "--json", RESULT),
                seconds=30.0,
            )
            for dtype in ("float32", "bfloat16")
        ),
        _study(
            *("sweep", "--nets", nets, "--devices", "cuda", "--modes", "inference,training"),
            *("--batch-sizes", setting.sized("1,16,64,128", "1"), "--points", RESULT),
            *(small or ("--seconds", "2")),
            seconds=90.0,
        ),
        _study(
            *("sweep", "--nets", setting.sized("googlenet", "recognize_digits"), "--devices", "cuda"),
            *("--batch-sizes", "none", "--largest-batch", "--points", RESULT),
            seconds=60.0,
        ),
        _study(
            *("backends", "--nets", nets, "--device", "cuda", "--without", "no-cudnn"),
            *("--with", "stock,tf32,channels-last,bf16,cuda-graph,compile"),
            *("--batch-size", setting.sized(64, 2), "--pairs", setting.sized(7, 2)),
            *("--seconds", setting.sized(6, 1), "--points", RESULT),
            seconds=150.0,
        ),
    ]


def _study(*words: object, seconds: float) -> Step:
    step = script(_PROGRAM, *words, seconds=seconds)
    return replace(step, name=step.name.removeprefix(f"{_PROGRAM} "))
