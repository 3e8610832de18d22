"""Fuzzes one kind of file for as long as wanted: ``python -m tests.fuzz TARGET --seconds 600``.

With the package atheris (pip install '.[fuzz]') coverage guides it: what reaches new code is changed further,
and kept in ``--corpus``. Without it, or with ``--blind``, cases are changed good files, each found again by
``--seed`` and ``--first``; ``--counts FILE`` keeps how many have been run, and continues from there. Ends at
the first defect, with its bytes in the file ``fuzz-TARGET.crash``.
"""

import argparse
import collections
import importlib
import os
import random
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fuzz.counts import Counts

if TYPE_CHECKING:
    from tests.fuzz.targets import Target

NAMES = ("t7", "hdf5", "points", "results", "logs", "tuning", "caffe", "matlab", "lmdb", "image",
         "magick", "npy", "trees", "channel")  # fmt: skip

_SMALLEST_OF = (1, 2, 4, 4, 4, 8, 8, 8)
_BETWEEN_COUNTS = 5.0  # seconds


def blind(
    target: "Target", seed: int, first: int, cases: int | None, until: float
) -> collections.Counter[str]:
    """Runs ``cases`` of them, or as many as there is time for; returns how often each outcome came.

    Raises AssertionError, which names the case and holds its bytes, for the first defect.
    """
    seeds = target.seeds()
    outcomes: collections.Counter[str] = collections.Counter()
    number = first
    while number - first < cases if cases is not None else time.monotonic() < until:
        draws = random.Random(f"{seed}/{number}")
        # of some, the smallest: more cases in a second, more of them at what says how the rest is read
        seed_file = min((draws.choice(seeds) for _ in range(draws.choice(_SMALLEST_OF))), key=len)
        data = target.mutate(seed_file, draws)
        try:
            outcomes[target.run(data)] += 1
        except Exception as error:
            raise AssertionError(f"--seed {seed} --first {number}: {error!r:.500}", data) from error
        number += 1
    return outcomes


def guided(name: str, seconds: int, corpus: Path) -> None:
    """Runs libFuzzer, by way of atheris, which prints what it finds; ends the program."""
    import atheris

    with atheris.instrument_imports(include=["lua_compat", "convnet_benchmarks"]):
        from tests.fuzz.targets import TARGETS

        target = TARGETS[name]
        for module in target.modules:
            importlib.import_module(module)
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(target.seeds()):
        (corpus / f"seed-{number}").write_bytes(data)
    outcomes: collections.Counter[str] = collections.Counter()
    started = time.monotonic()

    def once(data: bytes) -> None:
        outcomes[target.run(data)] += 1
        if time.monotonic() - started > seconds:
            _say(name, outcomes, time.monotonic() - started)
            os._exit(0)  # libFuzzer takes any other end for a crash

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        draws = random.Random(seed)
        if draws.random() < 0.5:
            return bytes(atheris.Mutate(data, most))
        return target.mutate(data, draws)[:most]

    limits = ["-rss_limit_mb=4096", "-timeout=20", "-max_len=20000", f"-artifact_prefix=fuzz-{name}."]
    atheris.Setup([sys.argv[0], *limits, str(corpus)], once, custom_mutator=mutate)
    atheris.Fuzz()


def _counted(target: "Target", name: str, given: argparse.Namespace) -> collections.Counter[str]:
    """Runs cases as ``blind`` does, and keeps their counts."""
    counts = Counts(given.counts, f"{name}, seed {given.seed}")
    until = time.monotonic() + given.seconds
    first = given.first + counts.number("cases")
    outcomes: collections.Counter[str] = collections.Counter()
    while (left := None if given.cases is None else given.cases - outcomes.total()) != 0:
        now = time.monotonic()
        if left is None and now >= until:
            break
        part = None if left is None else min(left, 10_000)
        made = blind(target, given.seed, first + outcomes.total(), part, min(until, now + _BETWEEN_COUNTS))
        outcomes += made
        counts.add({**made, "cases": made.total()})
    return outcomes


def _say(name: str, outcomes: collections.Counter[str], seconds: float) -> None:
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    print(f"{name}: {sum(outcomes.values())} cases in {seconds:.0f} s: {counts}; nothing else", flush=True)


def main() -> int:
    """Runs the command; returns 1 if a defect was found."""
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    parser.add_argument("target", choices=NAMES)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--cases", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--blind", action="store_true")
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--counts", type=Path)
    given = parser.parse_args()
    if find_spec("atheris") and not given.blind and given.cases is None:
        guided(given.target, given.seconds, given.corpus or Path(f"fuzz-{given.target}.corpus"))
        return 0
    from tests.fuzz.targets import TARGETS

    started = time.monotonic()
    try:
        outcomes = _counted(TARGETS[given.target], given.target, given)
    except AssertionError as error:
        Path(f"fuzz-{given.target}.crash").write_bytes(error.args[1])
        print(f"{given.target}: {error.args[0]}", file=sys.stderr)
        return 1
    _say(given.target, outcomes, time.monotonic() - started)
    return 0


if __name__ == "__main__":
    sys.exit(main())
