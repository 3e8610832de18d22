"""Runs random programs of a hostile script: ``python -m tests.fuzz.programs --programs 1000000``.

Each makes a handful of calls of tensors, storages and nn's modules with hostile numbers, views and indices.
With a C compiler, each tensor's memory lies between guard pages (guard_pages.c): an access one byte outside,
or of memory that was given back, ends the process. In every fourth process the C library checks its memory
instead (MALLOC_CHECK_), where it can. Ends at the first program that ends its process, and shows its calls;
``--first N --programs 1`` shows those of any program.
"""

import argparse
import sys
import time

from tests.fuzz.programs.processes import Defect, run


def main() -> int:
    """Runs the command; returns 1 where a program ended its process."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=1)
    given = parser.parse_args()
    started = time.monotonic()
    try:
        total = run(given.first, given.programs)
    except Defect as defect:
        print(defect, file=sys.stderr)
        return 1
    print(
        f"{given.programs} programs in {time.monotonic() - started:.0f} s: {total.calls} calls,"
        f" {total.raised} of them errors; nothing else ({total.conditions})"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
