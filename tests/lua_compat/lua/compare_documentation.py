"""Counts the code blocks of Torch7's documentation that differ in our th and in a Torch7 at hand.

    python -m tests.lua_compat.lua.compare_documentation FOLDER... --torch7 COMMAND [--show GROUP]

FOLDER: a checkout (torch7, nn, optim, image, nngraph, graph, xlua, sys, paths). The blocks of a page run one
after the other (documentation.lua), Torch7's twice, with other memory: what it does not repeat itself is
arbitrary. --show prints the blocks of a group ("other": those that no rule explains).
"""

import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.helpers.places import ROOT
from tests.helpers.programs import same

SCRIPT = Path(__file__).with_name("documentation.lua")
SECONDS = 300  # a page

# Why a block differs, by what Torch7 or ours says; the first rule that holds
GROUPS = (
    ("needs a window", r"qt|gnuplot|display|window|iTorch|itorch"),
    ("needs Torch7's pictures", r"lena|fabio|\.jpg|\.png|assets"),
    ("needs a package that is not there", r"module '[^']*' not found|no file '"),
    ("needs a file or address that is not there", r"No such file|cannot open|curl|wget|http"),
)


def blocks_of(page: Path) -> list[str]:
    """Returns the fenced blocks of a page that are Lua, or that do not say what they are."""
    text = page.read_text(encoding="utf-8", errors="replace")
    fenced = re.findall(r"^[ \t]*```[ \t]*(\w*)[^\n]*\n(.*?)^[ \t]*```", text, re.S | re.M)
    return [code for language, code in fenced if language.lower() in ("", "lua")]


def results(command: list[str], page: list[str], environment: dict[str, str]) -> list[str]:
    """Returns what each block printed; the rest of a page that ends the process gets the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        for number, code in enumerate(page, 1):
            (Path(folder) / f"{number}.lua").write_text(code, encoding="utf-8")
        work = Path(folder) / "work"
        work.mkdir()
        try:
            process = subprocess.run(
                [*command, str(SCRIPT), folder, str(len(page))],
                capture_output=True,
                cwd=work,
                encoding="latin-1",
                env={**os.environ, **environment},
                timeout=SECONDS,
                stdin=subprocess.DEVNULL,
                check=False,
            )
            printed, ended = process.stdout, f"exit code {process.returncode}"
        except subprocess.TimeoutExpired as late:
            printed, ended = (late.stdout or b"").decode("latin-1"), "time is up"
    parts = re.split(r"^BLOCK \d+\n", printed, flags=re.M)[1:]
    return [_plain(part) for part in parts] + [ended] * (len(page) - len(parts))


def _plain(text: str) -> str:
    """Returns what was printed without addresses, places in files, and the calls that led to an error."""
    text = re.sub(r"0x[0-9a-f]+", "ADDRESS", text)
    text = re.sub(r"(?:\S*/)?[\w.]+\.(?:lua|c|cpp|h)(?::\d+|\b)", "PLACE", text)
    text = re.sub(r"^error: (?:PLACE|block:\d+): ", "error: ", text, flags=re.M)
    text = re.sub(r"^\t.*: in .*\n", "", text, flags=re.M)
    return re.sub(r"[ \t]+\n", "\n", text).strip()


def group(code: str, torch7: str, again: str, ours: str) -> str:
    """Returns the group of a block: "same", or what makes it differ."""
    if _equal(torch7, ours):
        return "same"
    if not _equal(torch7, again):
        return "Torch7 does not repeat it: memory that nobody wrote, times, the order of pairs"
    for name, pattern in GROUPS:
        if re.search(pattern, torch7 + ours) or re.search(pattern, code):
            return name
    errors = [re.findall(r"^error: (.*)$", text, re.M) for text in (torch7, ours)]
    if all(errors) and len(errors[0]) == len(errors[1]):
        shorter = [
            re.sub(r"^error: .*(?:\n(?!error:).*)*", "error", text, flags=re.M) for text in (torch7, ours)
        ]
        if _equal(*shorter):
            return "the text of an error"
    return "other"


def _equal(a: str, b: str) -> bool:
    return same(a.replace("\n", "|"), b.replace("\n", "|"))


def main() -> int:
    """Prints the groups; exit code 1 if a block is in the last one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--torch7", required=True, metavar="COMMAND", help="the th of Torch7")
    parser.add_argument(
        "--show", metavar="GROUP", help="print the blocks of the groups whose names hold this"
    )
    options = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    ours_command = [sys.executable, "-m", "lua_compat"]
    for page in sorted(page for folder in options.folders for page in folder.rglob("*.md")):
        blocks = blocks_of(page)
        if not blocks:
            continue
        torch7 = results([options.torch7], blocks, {"MALLOC_PERTURB_": "85"})
        again = results([options.torch7], blocks, {"MALLOC_PERTURB_": "170"})
        ours = results(ours_command, blocks, {"PYTHONPATH": str(ROOT)})
        for number, (code, *told) in enumerate(zip(blocks, torch7, again, ours, strict=True), 1):
            name = group(code, *told)
            counts[name] += 1
            if options.show and options.show in name:
                print(f"==== {page}, block {number}: {name}\n{code}")
                print(f"---- Torch7\n{told[0]}\n---- ours\n{told[2]}\n")
    for name, count in counts.most_common():
        print(f"{count:5d}  {name}")
    print(f"{counts.total():5d}  blocks")
    return 1 if counts["other"] else 0


if __name__ == "__main__":
    sys.exit(main())
