"""python -m benchmarks.gpu OUT [PART ...]: what benchmarks/gpu/run.sh starts, in the root of a checkout."""

import argparse
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks.gpu.parts import ALL, PARTS, SECONDS
from benchmarks.gpu.runner import run_part
from benchmarks.gpu.step import Setting, Step

_SECONDS = 460.0  # a part must end in 8 minutes
# A step of a rehearsal may take so many times as long: a few cores compute what the GPU does otherwise.
_REHEARSAL_SLOWER = 5.0
_FAKE_GPU = Path(__file__).resolve().parents[2] / "tests" / "helpers" / "fake_gpu" / "start"


def main() -> int:
    """Runs the parts; returns 0, 1 if a step failed or was cut off (OUT/summary.txt says which), 2 for
    bad input.
    """
    options = _parser().parse_args()
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        sys.exit(f"benchmarks/gpu: no part {unknown[0]}; accepted: {', '.join(PARTS)}")
    if options.rehearse:
        os.environ["PYTHONPATH"] = os.pathsep.join(
            filter(None, (str(_FAKE_GPU), os.environ.get("PYTHONPATH")))
        )
        os.environ.setdefault("FAKE_GPU_MIB", "400")
    elif not _has_gpu():
        print(
            "benchmarks/gpu: no CUDA GPU was found; --rehearse lets the CPU stand in for it", file=sys.stderr
        )
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    setting = Setting(options.checkouts.resolve(), options.rehearse)
    out = options.out.resolve()
    if options.rehearse:  # apart: a run on the GPU would take its steps for done
        out /= "rehearsal"
    passed = [
        run_part(part, _steps(part, setting), out, options.seconds or SECONDS.get(part, _SECONDS))
        for part in options.parts or ALL
    ]
    print((out / "summary.txt").read_text(encoding="utf-8"), end="")
    return 0 if all(passed) else 1


def _steps(part: str, setting: Setting) -> list[Step]:
    steps = PARTS[part](setting)
    if setting.rehearsal:
        steps = [replace(step, seconds=_REHEARSAL_SLOWER * step.seconds) for step in steps]
    return steps


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="benchmarks/gpu/run.sh",
        description="Measures a machine with a CUDA GPU in four parts of under 8 minutes each (docs/gpu.md). "
        "Results are kept in OUT as they come; the same command goes on where the last one was cut off.",
    )
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder for journals, logs and the summary")
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help=f"{', '.join(PARTS)} [{' '.join(ALL)}]; first takes the most telling steps",
    )
    parser.add_argument(
        "--checkouts",
        type=Path,
        default=Path(".checkouts"),
        metavar="FOLDER",
        help="checkouts of Torch7's scripts and packages, named as docs/gpu.md says [.checkouts]",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        metavar="S",
        help=f"for each part [{_SECONDS:g}; first: {SECONDS['first']:g}]",
    )
    parser.add_argument(
        "--rehearse",
        action="store_true",
        help="the CPU stands in for the GPU, every size is the smallest; into OUT/rehearsal",
    )
    return parser


def _has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


if __name__ == "__main__":
    sys.exit(main())
