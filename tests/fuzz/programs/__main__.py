"""Runs random programs of a hostile script: ``python -m tests.fuzz.programs --programs 1000000``.

Each makes a handful of calls of tensors, storages and nn's modules with hostile numbers, views and indices.
With a C compiler, each tensor's memory lies between guard pages (guard_pages.c): an access one byte outside,
or of memory that was given back, ends the process. In every fourth process the C library checks its memory
instead (MALLOC_CHECK_), where it can. Ends at the first program that ends its process, and shows its calls;
``--first N --programs 1`` shows those of any program. ``--counts FILE`` keeps how many have been run, and
continues from there.
"""

import argparse
import sys
import time
from pathlib import Path

from tests.fuzz.counts import Counts
from tests.fuzz.programs.processes import Defect, conditions, run, show


def main() -> int:
    """Runs the command; returns 1 if a program ended its process."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--counts", type=Path)
    given = parser.parse_args()
    if given.programs == 1:
        print(show(given.first))
        return 0
    started = time.monotonic()
    counts = Counts(given.counts, f"programs from {given.first}")
    try:
        run(given.first + counts.number("programs"), given.programs, counts)
    except Defect as defect:
        print(defect, file=sys.stderr)
        return 1
    seconds = time.monotonic() - started
    print(
        f"{counts.number('programs')} programs, the last {given.programs} in {seconds:.0f} s:"
        f" {counts.number('calls')} calls, {counts.number('raised')} of them errors;"
        f" {len(counts.values['slow'])} programs took too long; nothing else ({conditions()})"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
