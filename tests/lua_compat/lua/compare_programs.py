"""Compares random programs of tests/golden/programs in our th and in a Torch7 at hand.

    python -m tests.lua_compat.lua.compare_programs modules 7 1000 --torch7 ~/torch/install/bin/th

Prints each program that differs, then the counts; the exit code is 1 if any differs. --record FILE writes
what Torch7 printed. A program that ends the process is left out.
"""

import argparse
import collections
import re
import subprocess
import sys
from pathlib import Path

from tests.helpers.places import GOLDEN
from tests.helpers.programs import ONLY_IN_TORCH7, SMALL, same


def lines_of(command: list[str], script: Path, seed: int, count: int) -> list[str]:
    """Returns what each program printed; ``CRASH`` stands for one that ended the process."""
    lines: list[str] = []
    while len(lines) < count:
        arguments = [str(script), str(seed), str(count), str(len(lines) + 1)]
        process = subprocess.run([*command, *arguments], capture_output=True, encoding="latin-1", check=False)
        lines += [line for line in process.stdout.splitlines() if re.match(r"\d+ ", line)]
        if len(lines) < count:
            lines.append(f"{len(lines) + 1} CRASH: exit code {process.returncode} {process.stderr[-200:]}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=("tensors", "modules", "packages"))
    parser.add_argument("seed", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--torch7", required=True, metavar="COMMAND", help="the th of Torch7")
    parser.add_argument("--record", metavar="FILE", type=Path)
    options = parser.parse_args()
    script = (GOLDEN / "programs" / f"{options.name}.lua").resolve()
    theirs = lines_of([options.torch7], script, options.seed, options.count)
    if options.record:
        options.record.write_text("\n".join(theirs) + "\n", encoding="latin-1")
    ours = lines_of([sys.executable, "-m", "lua_compat"], script, options.seed, options.count)
    kinds: collections.Counter[str] = collections.Counter()
    for a, b in zip(theirs, ours, strict=True):
        if any(text in a for text in ONLY_IN_TORCH7):
            kinds["Torch7 alone fails"] += 1
        elif same(a, b, SMALL.get(options.name, 1e-3)):
            kinds["same"] += 1
        else:
            raised = [" => error: " in line for line in (a, b)]
            kind = {
                (True, True): "other error",
                (False, True): "only ours raises",
                (True, False): "only Torch7 raises",
            }
            kinds[kind.get((raised[0], raised[1]), "other value")] += 1
            print(f"Torch7: {a}\nours:   {b}\n")
    print(", ".join(f"{kind}: {count}" for kind, count in kinds.most_common()))
    return 1 if set(kinds) - {"same", "Torch7 alone fails"} else 0


if __name__ == "__main__":
    sys.exit(main())
